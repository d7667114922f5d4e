"""compute-sanitizer's XML is read, and what is not understood is never taken for clean.

Reports in `golden/sanitizer` were saved by version 2025.3.1 on an H100 (the first records, with
folders renamed); the others are made by hand after the elements that `sanitizer/report.py` names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.runners.model import GateResult
from kernelwright.runners.sanitizer.judging import Tool, judged
from kernelwright.runners.sanitizer.messages import Allocation, SanitizerAnswer
from kernelwright.runners.sanitizer.report import MAX_BYTES, read_report
from kernelwright.runners.watched.ended import Ended

SAVED = Path(__file__).parents[2] / "golden" / "sanitizer"
OVERRUN = """
  <record>
    <kind>Precise</kind><level>Error</level>
    <who><threadIdx><x>7</x><y>0</y><z>0</z></threadIdx>
         <blockIdx><x>19</x><y>0</y><z>0</z></blockIdx></who>
    <what><text>Invalid __global__ write of size 4 bytes</text><space>__global__</space>
          <size>4</size><direction>Write</direction><address>0x7000000064</address></what>
    <where><func>twice(float*, float*, int)</func><path>twice.cu</path><line>12</line>
           <pc>0x120</pc></where>
    <hostStack><saveLocation>kernel launch time</saveLocation><frame><func>main</func>
       <module>python</module><pc>0x1</pc></frame></hostStack>
  </record>"""
RACE = """
  <record><kind>Analysis</kind><level>{level}</level>
    <what><text>Race reported between Write access and Read access</text></what>
    <where><func>sum</func><path>sum.cu</path><line>9</line><pc>0x90</pc></where>
  </record>"""
UNINITIALISED = """
  <record><kind>Initcheck</kind><level>Error</level>
    <what><text>Uninitialized __global__ memory read of size 4 bytes</text><size>4</size>
      <address>0x7000000210</address></what>
    <where><func>sum</func><path>sum.cu</path><line>5</line><pc>0x50</pc></where>
  </record>"""
API = """
  <record><kind>Api</kind><level>Error</level>
    <what><text>Program hit CUDA_ERROR_INVALID_VALUE on cuCtxSetLimit</text></what></record>"""
CLEAN_END, FOUND_END = Ended(0, False, "exit status 0"), Ended(7, False, "exit status 7")
ANSWER = SanitizerAnswer(
    allocations=(
        Allocation(shape="w", buffer="y", address=0x7000000000, nbytes=100),
        Allocation(shape="w", buffer="part", address=0x7000000200, nbytes=64),
    ),
    runs=2,
)


def xml(*records: str) -> bytes:
    text = f"<ComputeSanitizerOutput>{''.join(records)}</ComputeSanitizerOutput>"
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def gate(
    content: bytes | None,
    ended: Ended = FOUND_END,
    tool: Tool = "memcheck",
    answer: SanitizerAnswer | None = ANSWER,
) -> GateResult:
    return judged(tool, ended, content, answer, 1)


def saved(name: str) -> bytes:
    return (SAVED / f"{name}.xml").read_bytes()


def at(buffer: str, address: int) -> SanitizerAnswer:
    allocation = Allocation(shape="w", buffer=buffer, address=address, nbytes=1 << 16)
    return SanitizerAnswer(allocations=(allocation,), runs=2)


@pytest.mark.parametrize(
    ("name", "tool", "answer", "message"),
    [
        (
            "initcheck_of_scratch",
            "initcheck",
            at("part", 0x7F85F6A0A000),
            "Uninitialized __global__ memory read of size 4 bytes in `twice` at "
            "/kernels/test.cu:3, byte 12 of `part` (w) (and 1 more like it)",
        ),
        (
            "initcheck_of_an_output",
            "initcheck",
            at("y", 0x7F4C5CA05000),
            "Uninitialized __global__ memory read of size 4 bytes in `twice` at "
            "/kernels/test.cu:3, byte 8192 of `y` (w); "
            "Uninitialized __global__ memory read of size 4 bytes in `twice` at "
            "/kernels/test.cu:3, byte 8196 of `y` (w)",
        ),
        (
            "initcheck_with_a_host_stack",
            "initcheck",
            at("x", 0x7FF138801000),
            "Uninitialized __global__ memory read of size 4 bytes in `k` at "
            "/kernels/a.cu:3, byte 0 of `x` (w)",
        ),
        (
            "racecheck",
            "racecheck",
            ANSWER,
            "Race condition: write at test.cu:4, read at test.cu:5 (20000 hazards) in `twice` "
            "at /kernels/test.cu:5 (and 1 more like it)",
        ),
        (
            "synccheck",
            "synccheck",
            ANSWER,
            "Barrier error: Divergent thread(s) in warp in `twice` at /kernels/test.cu:3 "
            "(and 1 more like it)",
        ),
    ],
)
def test_what_a_real_run_saved_fails_its_gate_and_names_the_place(
    name: str, tool: Tool, answer: SanitizerAnswer, message: str
) -> None:
    result = gate(saved(name), tool=tool, answer=answer)
    assert (result.outcome, result.message) == ("failed", message)
    assert read_report(saved(name)).unknown == ()


def test_a_race_is_placed_at_its_destination_and_without_one_at_its_source() -> None:
    (first, _) = read_report(saved("racecheck")).records
    assert (first.where.kernel, first.where.file, first.where.line) == (
        "twice",
        "/kernels/test.cu",
        5,
    )
    only_source = saved("racecheck").replace(b"destination>", b"unused>")
    assert read_report(only_source).records[0].where.line == 4


def test_a_finding_without_a_level_is_serious_and_one_of_another_kind_is_no_finding() -> None:
    bare = "<record><kind>{}</kind><what><text>wrong</text></what></record>"
    assert gate(xml(bare.format("Synccheck")), tool="synccheck").outcome == "failed"
    assert gate(xml(bare.format("Api")), CLEAN_END).outcome == "note"


def test_an_access_out_of_bounds_is_told_with_line_thread_block_and_buffer() -> None:
    result = gate(xml(OVERRUN))
    assert (result.gate, result.outcome) == ("sanitizer_memcheck", "failed")
    assert result.message == (
        "Invalid __global__ write of size 4 bytes in `twice(float*, float*, int)` at twice.cu:12, "
        "byte 1 behind the end of `y` (w)"
    )
    (told,) = result.evidence["records"]
    assert told["where"] == {"kernel": "twice(float*, float*, int)", "file": "twice.cu", "line": 12}
    assert (told["thread"], told["block"]) == ([7, 0, 0], [19, 0, 0])
    assert (told["size"], told["address"], told["direction"]) == (4, 0x7000000064, "Write")


def test_findings_that_are_alike_are_told_once() -> None:
    result = gate(xml(OVERRUN, OVERRUN, OVERRUN))
    assert result.message.endswith("`y` (w) (and 2 more like it)")
    assert result.evidence["found"] == 3


def test_a_read_of_scratch_that_nobody_wrote_names_the_scratch() -> None:
    result = gate(xml(UNINITIALISED), tool="initcheck")
    assert result.outcome == "failed"
    assert "byte 16 of `part` (w)" in result.message


def test_a_race_fails_and_a_mere_warning_of_one_is_a_note() -> None:
    assert gate(xml(RACE.format(level="Error")), tool="racecheck").outcome == "failed"
    warned = gate(xml(RACE.format(level="Warning")), tool="racecheck")
    assert (warned.outcome, "sum.cu:9" in warned.message) == ("note", True)


def test_a_clean_run_passes_and_says_how_much_ran() -> None:
    for content in (xml(), None):
        result = gate(content, CLEAN_END)
        assert (result.outcome, result.message) == ("passed", "2 runs on 1 shape, nothing found")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (xml(API), "a record of kind `Api`"),
        (xml("<record><kind>Novelty</kind><level>Error</level></record>"), "kind `Novelty`"),
        (xml("<surprise/>"), "element `surprise`"),
        (xml("<record><kind>Precise</kind><level>Info</level><more/></record>"), "`more`"),
        (b"<Something/>", "the report is of `Something`"),
        (b"<ComputeSanitizerOutput><record>", "no XML"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><ComputeSanitizerOutput/>', "declarations"),
        (b" " * (MAX_BYTES + 1), "is not read"),
    ],
)
def test_what_is_not_understood_is_inconclusive(content: bytes, said: str) -> None:
    result = gate(content, CLEAN_END)
    assert result.outcome == "note"
    assert result.message.startswith("inconclusive") and said in result.message


def test_a_finding_beside_something_unknown_still_fails() -> None:
    assert gate(xml(OVERRUN, API)).outcome == "failed"


def test_a_tool_that_found_something_and_left_nothing_readable_fails_the_gate() -> None:
    for content in (b"\xff\xfe broken", None):
        assert gate(content).outcome == "failed"


def test_an_endless_run_and_a_fault_without_a_finding_are_inconclusive() -> None:
    late = gate(None, Ended(-9, True, "killed after 60 s"), answer=None)
    assert (late.outcome, late.message) == ("note", "inconclusive: it was killed after 60 s")
    fault = ANSWER.model_copy(update={"fault": "refused: grid too large", "runs": 0})
    assert gate(xml(), CLEAN_END, answer=fault).outcome == "note"
    assert gate(xml(), Ended(1, False, "exit status 1")).outcome == "note"


def test_a_host_on_which_the_tool_does_not_work_is_skipped_with_its_words() -> None:
    log = "========= COMPUTE-SANITIZER\n========= Error: Device not supported.\n"
    refused = gate(None, Ended(255, False, "exit status 255", log), answer=None)
    assert refused.outcome == "skipped"
    assert "exit status 255, Error: Device not supported." in refused.message
    blind = SanitizerAnswer(fault="the driver sees no GPU")
    assert gate(None, CLEAN_END, answer=blind).outcome == "skipped"


def test_an_address_far_from_every_buffer_names_none() -> None:
    far = OVERRUN.replace("0x7000000064", "0x10")
    assert gate(xml(far)).message.endswith("at twice.cu:12")
    shared = OVERRUN.replace("<space>__global__", "<space>__shared__")
    assert gate(xml(shared)).message.endswith("at twice.cu:12")


def test_names_that_a_kernel_chose_are_cut_and_printable() -> None:
    named = OVERRUN.replace("twice(float*, float*, int)", "k&#10;" + "x" * 5000)
    (found,) = read_report(xml(named)).records
    assert "\n" not in found.where.kernel and len(found.where.kernel) < 500
