"""Bytes are counted in shared memory by inline PTX: where, and that counts are right."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tiers import cases
from triton_moves import ROOT, SPECS, applied, changes, proposals, reason, state

from kernelwright.runners.interpreter.runner import interpreter_missing
from kernelwright.runners.screens.python import python_findings
from kernelwright.search.session.workbench import Workbench
from kernelwright.tools.compile_variant import CompileVariantArguments, compile_variant
from kernelwright.tools.open_kernel import OpenKernelArguments, open_kernel

MOVE, NAME = "shared_histogram", "histogram_triton"
SOURCE: str = SPECS[NAME]["kernel"]["source_code"]
ADDITION = "tl.atomic_add(bins + value, 1, mask=inside)"
MEMBERS = range(3)
needs_triton = pytest.mark.skipif(
    interpreter_missing() is not None, reason=f"no Triton: {interpreter_missing()}"
)


def source_of(member: int) -> str:
    return proposals(MOVE, state(NAME))[member].source or ""


def of_values(dtype: str, **changed: Any) -> dict[str, Any]:
    values, bins = SPECS[NAME]["io"]["arguments"]
    return SPECS[NAME]["io"] | {"arguments": [values | {"dtype": dtype}, bins | changed]}


def test_what_is_no_whole_block_of_words_is_counted_as_before() -> None:
    source = source_of(1)
    last = source.index("    for program in tl.range(")
    assert source[last : source.index("def histogram(")].rstrip() == (
        "    for program in tl.range(\n"
        "        whole * (4 * WORDS // BLOCK) + tl.program_id(0), tl.cdiv(n, BLOCK), "
        "tl.num_programs(0)\n"
        "    ):\n"
        "        at = program * BLOCK + tl.arange(0, BLOCK)\n"
        "        inside = at < n\n"
        "        value = tl.load(values + at, mask=inside, other=0).to(tl.int32)\n"
        f"        {ADDITION}"
    )


def test_as_many_programs_are_launched_as_the_device_of_the_launch_holds() -> None:
    assert changes(NAME, MOVE, 2)[-4:] == [
        "-    histogram_kernel[(triton.cdiv(n, BLOCK),)](values, bins, n, BLOCK=BLOCK)",
        "+    BLOCKS_A_PROCESSOR = 4",
        "+    processors = torch.cuda.get_device_properties(0).multi_processor_count",
        "+    histogram_kernel[(min(triton.cdiv(n, BLOCK), processors * BLOCKS_A_PROCESSOR),)]"
        "(values, bins, n, BLOCK=BLOCK, num_warps=16)",
    ]


def test_warps_that_the_spec_declares_stay_among_its_values() -> None:
    declared = SPECS[NAME]["parameters"] | {"num_warps": {"values": [4, 16], "default": 4}}
    found = proposals(MOVE, state(NAME, parameters=declared))
    assert [c.parameters for c in found] == [{"num_warps": 16}]
    assert "num_warps=" not in (found[0].source or "")
    few = SPECS[NAME]["parameters"] | {"num_warps": {"values": [4, 8], "default": 4}}
    assert "sets its warps" in reason(MOVE, state(NAME, parameters=few))


def test_fewer_bins_than_a_byte_has_values_are_merged_alone() -> None:
    few = proposals(MOVE, state(NAME, io=of_values("uint8", shape=[64])))[0].source or ""
    assert "place = tl.arange(0, 64)" in few and "counters[32768]" in few
    many = proposals(MOVE, state(NAME, io=of_values("uint8", shape=[512])))[0].source or ""
    assert "place = tl.arange(0, 256)" in many


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_values_that_may_lie_outside_the_bins_are_refused(dtype: str) -> None:
    said = reason(MOVE, state(NAME, io=of_values(dtype)))
    assert said.startswith(f"its values are {dtype}: only of uint8 it is known")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (ADDITION, "tl.atomic_add(bins + value, 2, mask=inside)", "does not add 1"),
        (ADDITION, "tl.atomic_add(bins + value, 1)", "the values of one block below a size"),
        (ADDITION, ADDITION.replace("inside", "inside & (value > 3)"), "of one block below a size"),
        (ADDITION, f"{ADDITION}\n    tl.store(bins, 0)", "more (or else) happens"),
        (ADDITION, ADDITION.replace("value,", "(value + 1),"), "is no loaded value"),
        (ADDITION, ADDITION.replace("value,", "value + 1,"), "does not add 1"),
        (ADDITION, "tl.store(bins + value, 1, mask=inside)", "has no tl.atomic_add"),
        (".to(tl.int32)", "", "is no loaded value"),
        (".to(tl.int32)", ".to(tl.int8)", "is no loaded value"),
        ("inside = at < n", "inside = at < n - 1", "of one block below a size"),
        ("values + at,", "values + 2 * at,", "of one block below a size"),
        ("triton.cdiv(n, BLOCK)", "triton.cdiv(n, 2 * BLOCK)", "its grid is not written as"),
        ("import torch\n", "", "does not import torch"),
    ],
)
def test_what_counts_in_another_way_is_refused_in_words(old: str, new: str, words: str) -> None:
    assert old in SOURCE
    assert words in reason(MOVE, state(NAME, SOURCE.replace(old, new)))


def test_a_kernel_that_counts_in_shared_memory_is_not_rewritten_again() -> None:
    for candidate in proposals(MOVE, state(NAME)):
        after = applied(state(NAME), candidate)
        assert "more than one block" in reason(MOVE, after)
        assert "combine values already" in reason("block_atomics", after)


def test_its_ptx_is_in_the_source_for_the_screen_to_read() -> None:
    for member in MEMBERS:
        source = source_of(member)
        assert not python_findings(source, "histogram")
        clock = source.replace("%laneid", "%clock")
        assert [f.tier for f in python_findings(clock, "histogram")] == ["probe"]


PLACES = ("1:0", "1023:2", "32768:4", "65537:0", "200003:0", "200003:1")
NAMED = SOURCE.replace(
    "at = tl.program_id(0) * BLOCK +",
    "pid = tl.program_id(axis=0)\n    start = pid * BLOCK\n    at = start +",
)
"""the number of a program has a name"""


def named() -> str:
    return proposals(MOVE, state(NAME, NAMED))[1].source or ""


def played(folder: Path, sources: Sequence[str], places: Sequence[str]) -> list[list[str]]:
    """What is said of each source at each of the places `N:OFFSET`: N bytes so far behind an
    aligned address. All in one process, which has torch to import."""
    words = list[str]()
    for at, source in enumerate(sources):
        path = folder / f"candidate{at}.py"
        path.write_text(source, encoding="utf-8")
        words += [str(path), *places]
    script = Path(__file__).parents[3] / "support" / "played_ptx.py"
    found = subprocess.run(
        [sys.executable, script, *words], capture_output=True, text=True, check=False, timeout=300
    )
    assert found.returncode == 0, found.stderr[-2000:]
    return [line.split() for line in found.stdout.splitlines()]


@needs_triton
@cases("members", [MEMBERS[:1], MEMBERS[1:]], why="further sizes of the same source")
def test_counts_are_right_for_odd_sizes_and_addresses(members: range, tmp_path: Path) -> None:
    """Also where the number of a program has a name."""
    assert "        pid = program\n        start = pid * BLOCK\n" in named()
    sources = [*map(source_of, members), named()]
    assert played(tmp_path, sources, PLACES) == [["right"] * len(PLACES)] * len(sources)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    folder = ROOT / "benchmarks" / "kernels" / "histogram"
    with Workbench(tmp_path_factory.mktemp("bench") / "out", [folder]) as opened:
        if opened.gpus.present():
            pytest.skip("a GPU is here: counts are compared there")
        yield opened


@needs_triton
@cases(
    "member",
    MEMBERS,
    why="further sizes of the same source",
)
def test_without_a_gpu_it_is_built_and_its_logic_is_said_to_be_unknown(
    bench: Workbench, member: int
) -> None:
    opened = open_kernel(bench, OpenKernelArguments(spec_path="triton.json"))
    source = source_of(member)
    built = compile_variant(
        bench, CompileVariantArguments(kernel_id=opened.kernel_id, base="baseline", source=source)
    )
    assert built.ok and built.ending is None, built.diagnostics
    assert {k.static_shared for k in built.kernels} == {32768}
    assert {k.spill_bytes for k in built.kernels} == {0}
    assert (built.logic or "").startswith("skipped: ")
    assert "inline_asm not supported in interpreter mode" in (built.logic or "")
