"""Machine code read from cubins and listings: instructions, line tables, inlined calls."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.analysis.ptx import Frame
from kernelwright.analysis.sass import SassInstruction, class_of, read_sass
from kernelwright.analysis.sass.difference import sass_difference
from kernelwright.analysis.sass.line_header import Cursor
from kernelwright.analysis.sass.line_program import read_line_programs
from kernelwright.analysis.sass.line_tables import read_lines
from kernelwright.analysis.sass.listing import read_listing
from kernelwright.analysis.spans.places import describe, same_file
from kernelwright.runners.errors import SpecError
from kernelwright.runners.machine_code.elf import read_sections
from kernelwright.runners.toolchains.compilers.listings import disassembler

NVCC, GXX, OBJDUMP = (shutil.which(name) for name in ("nvcc", "g++", "objdump"))
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="no nvcc on PATH")
needs_binutils = pytest.mark.skipif(not (GXX and OBJDUMP), reason="no g++ and objdump on PATH")

HEADER = """
__device__ inline float third(float v) {
  return v * v + 1.0f;
}
__device__ inline float second(float v) {
  float w = third(v);
  return third(w) - v;
}
"""
SOURCE = """#include "h.cuh"
__device__ __noinline__ float apart(float v, int n) {
  for (int i = 0; i < n; ++i) v = second(v) + i;
  return v;
}
extern "C" __global__ void one(float* x, int n) {
  int i = threadIdx.x;
  x[i] = second(x[i]);
  x[i + n] = apart(x[i], n);
}
extern "C" __global__ void two(float* x, int n) {
  int i = threadIdx.x;
  x[i] = apart(third(x[i]), 3);
}
"""


@dataclass(frozen=True)
class Built:
    """A cubin, the PTX that it was assembled from, and its listing; None: no disassembler."""

    cubin: bytes
    ptx: str
    listing: str | None


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("sass")
    (folder / "h.cuh").write_text(HEADER, encoding="utf-8")
    (folder / "k.cu").write_text(SOURCE, encoding="utf-8")
    for step in (["-ptx", "k.cu", "-o", "k.ptx"], ["-cubin", "k.ptx", "-o", "k.cubin"]):
        command = [str(NVCC), "-arch=sm_90a", "-lineinfo", *step]
        subprocess.run(command, cwd=folder, check=True, timeout=120)
    image = (folder / "k.cubin").read_bytes()
    tool = disassembler(image)
    listing = None
    if tool is not None:
        told = [str(tool), "-c", "-g", "-gi", "-gp", "-ndf", str(folder / "k.cubin")]
        listing = subprocess.run(told, capture_output=True, text=True, check=True).stdout
    return Built(image, (folder / "k.ptx").read_text(encoding="utf-8"), listing)


def listing_of(built: Built) -> str:
    if built.listing is None:
        pytest.skip("no nvdisasm: neither Triton nor a toolkit brings one")
    return built.listing


def innermost_of_listing(text: str) -> dict[tuple[str, int], tuple[tuple[str, int], int]]:
    """What nvdisasm says of each instruction: innermost place, and line of PTX."""
    found = dict[tuple[str, int], tuple[tuple[str, int], int]]()
    kernel, place, ptx, fresh = "", ("", 0), 0, True
    for line in text.splitlines():
        if begins := re.match(r"\.text\.(\S+):$", line):
            kernel = begins[1]
        elif told := re.search(r'//## File "([^"]*)", line (\d+)', line):
            if told[1] == ".nv_debug_ptx_txt":
                ptx = int(told[2])
            elif fresh:
                place, fresh = (told[1], int(told[2])), False
        elif at := re.match(r"\s*/\*([0-9a-f]+)\*/", line):
            found[kernel, int(at[1], 16)] = place, ptx
            fresh = True
    return found


@needs_nvcc
def test_both_line_tables_agree_with_the_disassembler(built: Built) -> None:
    listed, lines = innermost_of_listing(listing_of(built)), read_lines(built.cubin)
    assert listed
    for (kernel, offset), (place, ptx) in listed.items():
        (below,) = lines.ptx[kernel].at(offset)
        inner = lines.source[kernel].at(offset)[0]
        assert ((inner.file, inner.line), below.line) == (place, ptx)


@needs_nvcc
def test_calls_inlined_in_each_other_are_told_from_the_inside_out(built: Built) -> None:
    chains = {describe(i.place) for i in read_sass(built.cubin).kernels["one"]}
    assert {"h.cuh:3 in h.cuh:6 in k.cu:8", "h.cuh:3 in h.cuh:7 in k.cu:8"} <= chains


@needs_nvcc
def test_behind_a_function_that_was_not_inlined_callers_are_still_right(built: Built) -> None:
    chains = {describe(i.place) for i in read_sass(built.cubin).kernels["one"]}
    assert "h.cuh:3 in h.cuh:6 in k.cu:3" in chains
    assert not [c for c in chains if c.startswith("h.cuh:3 in h.cuh:3")]


@needs_nvcc
def test_lines_are_known_without_a_disassembler_and_what_is_missing_is_said(built: Built) -> None:
    bare, full = read_sass(built.cubin), read_sass(built.cubin, listing_of(built))
    assert full.missing == () and "no disassembler" in bare.missing[0]
    for kernel, instructions in full.kernels.items():
        without = bare.kernels[kernel]
        assert [(i.offset, i.place, i.ptx_line) for i in without] == [
            (i.offset, i.place, i.ptx_line) for i in instructions
        ]
        assert {i.kind for i in without} == {"unknown"}


@needs_nvcc
def test_instructions_have_names_operands_guards_and_classes(built: Built) -> None:
    found = read_sass(built.cubin, listing_of(built)).kernels["one"]
    assert [i.offset for i in found] == list(range(0, 16 * len(found), 16))
    loads = [i for i in found if i.kind == "global_load"]
    assert loads and all(i.text.startswith("LDG") and "[" in i.operands for i in loads)
    assert any(i.guard.startswith("@") and i.kind == "control" for i in found)
    assert not {i.kind for i in found} & {"other", "unknown"}


@needs_nvcc
def test_padding_behind_the_code_is_no_instruction(built: Built) -> None:
    listed = read_listing(listing_of(built))["one"]
    assert list(listed.values())[-1].opcode == "NOP"
    assert read_sass(built.cubin, built.listing).kernels["one"][-1].opcode != "NOP"


@needs_nvcc
def test_a_line_of_ptx_is_one_of_the_text_that_was_assembled(built: Built) -> None:
    lines = built.ptx.splitlines()
    found = read_sass(built.cubin, listing_of(built)).kernels["one"]
    (load,) = {
        i.ptx_line for i in found if i.kind == "global_load" and describe(i.place)[-1] == "8"
    }
    assert load is not None and "ld.global" in lines[load - 1]


@needs_nvcc
def test_code_without_line_information_says_that(tmp_path: Path) -> None:
    (tmp_path / "h.cuh").write_text(HEADER, encoding="utf-8")
    (tmp_path / "k.cu").write_text(SOURCE, encoding="utf-8")
    command = [str(NVCC), "-arch=sm_90a", "-cubin", "k.cu", "-o", "k.cubin"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    found = read_sass((tmp_path / "k.cubin").read_bytes())
    assert any("without line information" in each for each in found.missing)
    assert found.kernels["one"] and not any(i.place for i in found.kernels["one"])


def test_what_is_no_cubin_is_refused_with_a_reason() -> None:
    with pytest.raises(SpecError, match="no cubin"):
        read_sass(b"\x7fELF" + bytes(100))


@needs_nvcc
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_damaged_line_table_is_read_or_refused_in_words(
    built: Built, data: st.DataObject
) -> None:
    content = {s.name: s.content for s in read_sections(built.cubin)}[".debug_line"]
    start = built.cubin.index(content)
    at = data.draw(st.integers(0, len(content) - 1))
    value = data.draw(st.integers(0, 255))
    damaged = bytearray(built.cubin)
    damaged[start + at] = value
    with suppress(SpecError):
        read_lines(bytes(damaged))


CPP = "int twice(int x) {\n  int y = x + x;\n\n  return y;\n}\nint once(int x) { return x; }\n"


@needs_binutils
@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_line_programs_of_every_version_of_dwarf_are_read(tmp_path: Path, version: int) -> None:
    (tmp_path / "host.cpp").write_text(CPP, encoding="utf-8")
    flags = ["-shared", "-nostdlib", f"-gdwarf-{version}", "-gno-as-locview-support"]
    command = [str(GXX), *flags, "-fPIC", "host.cpp", "-o", "host.so"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    parts = {s.name: s.content for s in read_sections((tmp_path / "host.so").read_bytes())}
    found = {
        (row.address, frame.line)
        for sequence in read_line_programs(*strings_of(parts))
        for row in sequence.rows
        for frame in row.place
        if frame.file.endswith("host.cpp")
    }
    told = [str(OBJDUMP), "--dwarf=decodedline", "host.so"]
    text = subprocess.run(told, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"host\.cpp\s+(\d+)\s+(0x[0-9a-f]+|0)\b", text)
    assert rows and found == {(int(address, 16), int(line)) for line, address in rows}


def strings_of(parts: Mapping[str, bytes]) -> tuple[bytes, bytes, bytes]:
    names = (".debug_line", ".debug_str", ".debug_line_str")
    line, text, line_text = (parts.get(name, b"") for name in names)
    return line, text, line_text


@given(st.integers(-(1 << 62), 1 << 62))
def test_numbers_in_leb128_are_read_as_they_were_written(value: int) -> None:
    packed, rest = bytearray(), value
    while True:
        byte, rest = rest & 0x7F, rest >> 7
        done = rest == (-1 if byte & 0x40 else 0)
        packed.append(byte if done else byte | 0x80)
        if done:
            break
    cursor = Cursor(bytes(packed), 0)
    assert (cursor.signed(), cursor.at) == (value, len(packed))


def test_a_line_program_of_an_unknown_version_is_refused() -> None:
    with pytest.raises(ValueError, match="DWARF 9"):
        list(read_line_programs(struct.pack("<IH", 20, 9) + bytes(18)))


def test_names_of_one_file_are_equal_from_their_ends() -> None:
    assert same_file("/tmp/build/k.cu", "k.cu") and same_file("sub/k.cu", "/a/sub/k.cu")
    assert not same_file("/tmp/other_k.cu", "k.cu") and not same_file("", "k.cu")


def test_a_place_is_told_without_folders() -> None:
    assert describe((Frame("/a/h.cuh", 3, 0), Frame("k.cu", 8, 5))) == "h.cuh:3 in k.cu:8"


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        ("LDG.E.128", "global_load"),
        ("HGMMA.64x128x16.F32", "tensor"),
        ("UIADD3", "integer"),
        ("ULDC.64", "constant"),
        ("BAR.SYNC.DEFER_BLOCKING", "sync"),
        ("FROB", "other"),
        ("", "unknown"),
    ],
)
def test_an_opcode_has_a_class(opcode: str, kind: str) -> None:
    assert class_of(opcode) == kind


def code(*opcodes: str) -> list[SassInstruction]:
    return [SassInstruction(16 * n, name, "R0", "", (), None) for n, name in enumerate(opcodes)]


def test_two_kernels_differ_by_class_and_by_name_and_what_is_the_same_is_left_out() -> None:
    before = code("LDG.E", "LDG.E", "LDG.E", "LDG.E", "FADD", "EXIT")
    told = sass_difference(before, code("LDG.E.128", "FADD", "EXIT"))
    assert told is not None
    assert told.instructions == "6 -> 3"
    assert told.classes == {"global_load": "4 -> 1"}
    assert list(told.opcodes.items()) == [("LDG.E", "4 -> 0"), ("LDG.E.128", "0 -> 1")]
    assert not told.same_order and told.left_out == 0


def test_the_same_opcodes_in_another_order_are_told_from_the_same_code() -> None:
    moved = sass_difference(code("FADD", "FMUL"), code("FMUL", "FADD"))
    same = sass_difference(code("FADD", "FMUL"), code("FADD", "FMUL"))
    assert moved is not None and same is not None
    assert (moved.opcodes, moved.same_order, same.same_order) == ({}, False, True)


def test_of_many_opcodes_those_that_differ_most_are_told() -> None:
    many = [f"FADD.M{n}" for n in range(20) for _ in range(n + 1)]
    told = sass_difference(code(*many), code("EXIT"))
    assert told is not None
    assert len(told.opcodes) == 12 and told.left_out == 9
    assert next(iter(told.opcodes)) == "FADD.M19"


def test_without_a_listing_nothing_is_compared() -> None:
    assert sass_difference(code("FADD"), code("")) is None
