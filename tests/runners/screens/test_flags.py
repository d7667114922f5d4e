"""Flags that a C++ source sets by itself, and files that it names by their places."""

from __future__ import annotations

import pytest

from kernelwright.runners.model import GateResult
from kernelwright.runners.screens.source import static_screen
from kernelwright.runners.specs.io_contract import Contract

KERNEL = "\n{}\nvoid k(float* y, int n) {{}}\n"
CHANGES = [
    ('#pragma GCC optimize("Ofast")', "-Ofast"),
    ('#pragma GCC optimize("O3", "fast-math")', "-ffast-math"),
    ('#pragma GCC optimize "unroll-loops,unsafe-math-optimizations"', "-funsafe-math"),
    ('_Pragma("GCC optimize(\\"-ffast-math\\")")', "-ffast-math"),
    ('#define FAST _Pragma("GCC optimize(\\"Ofast\\")")', "-Ofast"),
    ('#define DO(x) _Pragma(#x)\nDO(GCC optimize("O" "fast"))', "-Ofast"),
    ('__attribute__((optimize("associative-math"))) void f() {}', "-fassociative-math"),
    ('[[gnu::optimize("O3,finite-math-only")]] void f() {}', "-ffinite-math-only"),
    ('__attribute__((__optimize__("no-signed-zeros"))) void f() {}', "-fno-signed-zeros"),
    ('#pragma GCC target("recip")', "-mrecip"),
    ("#pragma clang fp reassociate(on)", "clang fp reassociate(on"),
    ("#pragma float_control(precise, off)", "float_control(precise, off"),
]
HARMLESS = [
    '#pragma GCC optimize("O3", "unroll-loops", "no-math-errno")',
    "#pragma GCC optimize(3)",
    '#pragma GCC target("avx2,fma,bmi2")',
    '__attribute__((target("arch=haswell"))) void f() {}',
    "#pragma GCC push_options",
    "#pragma GCC ivdep",
    "#pragma omp parallel for",
    "#pragma STDC FP_CONTRACT ON",
    '// #pragma GCC optimize("Ofast")',
    '/* optimize("Ofast") */',
    "void optimize(const char*); // a name of its own",
]


def contract(math: str = "ieee") -> Contract:
    output = {"name": "y", "role": "output", "dtype": "float32", "shape": [4]}
    return Contract.model_validate({"arguments": [output], "math": math})


def screened(line: str, math: str = "ieee") -> GateResult:
    return static_screen(KERNEL.format(line), "cpp", "k", contract(math))


@pytest.mark.parametrize(("line", "flag"), CHANGES)
def test_a_source_may_not_set_what_a_candidates_flags_may_not(line: str, flag: str) -> None:
    found = screened(line)
    assert found.outcome == "failed" and f"`{flag}" in found.message
    assert "the contract's math is `ieee`" in found.message
    assert screened(line, "fast").outcome != "failed", "nor is it refused where math is fast"


@pytest.mark.parametrize("line", HARMLESS)
def test_flags_that_change_no_result_may_be_set(line: str) -> None:
    assert screened(line).outcome != "failed", screened(line).message


def test_a_flag_that_no_candidate_may_set_is_refused_in_a_pragma_as_well() -> None:
    found = screened('#pragma GCC optimize("rounding-math")', "fast")
    assert "line 2: `-frounding-math` is a flag that no kernel may set" in found.message


@pytest.mark.parametrize(
    "line",
    [
        '#include "/etc/passwd"',
        "#include <../../etc/passwd>",
        '#include "lib/../../x.h"',
        '#embed "/etc/hostname"',
        'asm(".incbin \\"/etc/group\\"");',
    ],
)
def test_a_file_outside_of_the_kernels_folders_is_refused_by_name_and_line(line: str) -> None:
    found = screened(line)
    assert found.outcome == "failed" and found.message.startswith("line 2: `")
    assert "is a file outside of the kernel's folders" in found.message


@pytest.mark.parametrize("line", ["#include <immintrin.h>", '#include "detail/tile.h"'])
def test_files_found_by_their_names_are_included(line: str) -> None:
    assert screened(line).outcome == "passed"
