"""What a host compiler says: the kernel's own faults, and nothing of a file of the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import lift
import pytest

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.runners.toolchains import BuildOutcome, BuildRequest, Shape
from kernelwright.runners.toolchains.compilers.diagnostics import UNTOLD, told_of

FUNCTION = "void lift(const float* x, float* y, int n) {}\n"
FOREIGN = Path(os.__file__)
"""a text that a compiler may read where Python is the system's"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    place = tmp_path_factory.mktemp("builds")
    builder = Builder(place / "modules", place / "scratch")
    yield builder
    builder.close()


def build(builder: Builder, source: str, home: Path, **kernel: object) -> BuildOutcome:
    spec = lift.spec()
    spec["kernel"] |= {"source_code": source, **kernel}
    loaded = load_data(spec, home, Roots([home]))
    shape = Shape(label="usual", symbols={"n": 64})
    return builder.build(BuildRequest(kernel=loaded, variant=loaded.baseline(), shapes=(shape,)))


def test_an_included_file_of_garbage_is_told_and_not_a_function_that_is_missing(
    built: Builder, tmp_path: Path
) -> None:
    (tmp_path / "table.h").write_text("these are no } declarations {{{\n", encoding="utf-8")
    source = f'#include "table.h"\n{FUNCTION}'
    message = build(built, source, tmp_path, files=["table.h"]).message
    assert "table.h:1" in message and "has no function" not in message


def test_a_function_of_another_name_is_told_with_what_is_wanted(
    built: Builder, tmp_path: Path
) -> None:
    message = build(built, f"namespace own {{ {FUNCTION} }}", tmp_path).message
    assert "has no function `lift`; wanted: void lift(const float* x, float* y, " in message


def test_other_arguments_are_told_with_what_the_source_has(built: Builder, tmp_path: Path) -> None:
    message = build(built, FUNCTION.replace("float* y", "double* y"), tmp_path).message
    assert "does not take the contract's arguments" in message and "double*" in message


@pytest.mark.parametrize(
    "line",
    [
        '#include "{place}"',
        '#line 1 "{place}"\nint i = nothing;',
        '#define F "{place}"\n#include F',
        'asm(".include \\"{place}\\"");',
    ],
)
def test_no_message_quotes_a_file_that_is_not_the_kernels(
    line: str, built: Builder, tmp_path: Path
) -> None:
    outcome = build(built, f"{line.format(place=FOREIGN)}\n{FUNCTION}", tmp_path)
    assert outcome.artifact is None and outcome.message
    longest = max(FOREIGN.read_text(encoding="utf-8").splitlines()[0].split(), key=len)
    assert longest not in outcome.message


@pytest.mark.parametrize(
    "quoted", ["/etc/passwd:1:5: error: ", "../x.h:1: Error: ", "/a b/c:1:2: note: "]
)
def test_words_and_excerpts_of_foreign_files_are_left_out_of_what_a_tool_says(quoted: str) -> None:
    output = f"{quoted}'root' is no type\n    1 | root:x:0:0\n      | ^~~~\nk.cpp:2:1: error: b"
    told = told_of(output, lambda name: name == "k.cpp")
    assert "root" not in told and UNTOLD in told
    assert told.endswith("k.cpp:2:1: error: b"), "what is said of the kernel stays"


def test_what_the_front_end_of_cuda_says_of_foreign_files_is_left_out_as_well() -> None:
    output = (
        "/etc/passwd(1): error: `root` is no type\n  root:x:0:0\n  ^\n\nk.cu(2): error: b\n  b\n"
    )
    told = told_of(output, lambda name: name == "k.cu")
    assert told.splitlines()[0] == f"/etc/passwd(1): error: {UNTOLD}"
    assert "root" not in told and told.endswith("k.cu(2): error: b\n  b")


def test_a_message_is_no_longer_than_a_person_reads(built: Builder, tmp_path: Path) -> None:
    said = 'static_assert(sizeof(int) == 3, A(A(A(A(A(A(A(A(A(A(A(A("much")))))))))))));\n'
    message = build(built, f"#define A(x) x x\n{said}{FUNCTION}", tmp_path).message
    assert "static assertion failed: much" in message
    assert len(message) < 4000 and "characters)" in message


def test_a_flag_that_waits_for_a_make_is_refused_in_a_spec(built: Builder, tmp_path: Path) -> None:
    outcome = build(built, FUNCTION, tmp_path, flags=["-O2", "-flto=jobserver"])
    assert outcome.rejected and "-flto=jobserver" in outcome.message


def test_a_message_does_not_tell_which_files_there_are() -> None:
    said = "kernel.cu:1:11: fatal error: {}: {}"
    there = said.format("/home/someone/notes", "Permission denied")
    nowhere = said.format("/home/someone/notes", "No such file or directory")
    assert told_of(there, lambda file: True) == told_of(nowhere, lambda file: True)
    by_name = said.format("no_such_header.h", "No such file or directory")
    assert told_of(by_name, lambda file: True) == by_name
