"""Flags that a C++ source sets by itself, and files that it names by their places."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernelwright.runners.model import GateResult
from kernelwright.runners.screens.cpp_flags import made_flags, may_make_flags
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
    ('__attribute__((optimize(R"(fast-math)"))) void f() {}', "-ffast-math"),
    ('[[using gnu: optimize(u8R"x(Ofast)x")]] void f() {}', "-Ofast"),
    ('__attribute__((optimize(3, "fast-math"))) void f() {}', "-ffast-math"),
    ('__attribute__((optimize((0, L"Ofast")))) void f() {}', "-Ofast"),
    ('%:pragma GCC optimize 3, "Ofast"', "-Ofast"),
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
    '__attribute__((optimize(2, R"(unroll-loops)"))) void f() {}',
    '#pragma GCC target(R"(avx2)")',
    'const char* told = R"(optimize by hand, not by "Ofast")";',
    'void optimize(int, const char*); void f() { optimize(3, ""); }',
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


HIDDEN = [
    "#define S(x) #x\n__attribute__((optimize(S(fast-math))))",
    '__attribute__((opti\\\nmize("fast-math")))',
    '__attribute__((opti\\ \nmize("fast\\\n-math")))',
    '#define P(x) _Pragma(#x)\n#define W(k) P(GCC k ("fast-math"))\nW(optimize)',
    '#define W(a, b) a##b\n__attribute__((W(opti, mize)("fast-math")))',
    '#include <sys/cdefs.h>\n__attribute__((__CONCAT(opti, mize)("fast-math")))',
    '#define KIND optimize\n#define WHAT "fast-math"\n__attribute__((KIND(WHAT)))',
    '#line 1 "fast-math"\n__attribute__((optimize(__FILE__)))',
    """char c = '"'; const char* d = "/*"; __attribute__((optimize("fast-math"))) //*/""",
]
OPEN = [
    "#define DO(x) _Pragma(#x)\n#define UNROLL(n) DO(GCC unroll n)\nUNROLL(4)",
    "#define QUICK(level) __attribute__((optimize(#level)))\nQUICK(O3)",
    "#define FOR(isa) __attribute__((target(#isa)))\nFOR(avx2)",
    "#define JOIN(a, b) a##b\nint JOIN(opti, mize)(const char*);",
    "#define target 4\nint a[target];",
    "#include <immintrin.h>\nint optimize(int);",
]


def expanded(line: str, folder: Path) -> str:
    """What the compiler's own preprocessor makes of it."""
    (folder / "k.cpp").write_text(KERNEL.format(line))
    command = ["g++", "-std=c++17", "-fopenmp", "-E", "-P", str(folder / "k.cpp")]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("line", HIDDEN)
def test_flags_that_the_preprocessor_makes_are_seen_in_what_it_made(
    line: str, tmp_path: Path
) -> None:
    assert may_make_flags(KERNEL.format(line))
    (found,) = made_flags(expanded(line, tmp_path), contract())
    assert (found.tier, found.name) == ("block", "-ffast-math")
    assert not list(made_flags(expanded(line, tmp_path), contract("fast")))


@pytest.mark.parametrize("line", OPEN)
def test_macros_that_set_what_may_be_set_are_no_finding(line: str, tmp_path: Path) -> None:
    assert may_make_flags(KERNEL.format(line)), "so that it is looked at"
    assert not list(made_flags(expanded(line, tmp_path), contract()))


def test_of_a_source_that_could_make_nothing_no_preprocessor_is_asked() -> None:
    assert not may_make_flags("#include <cmath>\nvoid k(float* y, int n) { y[n] = sqrtf(y[0]); }")


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
