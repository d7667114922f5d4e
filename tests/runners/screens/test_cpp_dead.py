"""What a C++ source names in functions to which a kernel does not come."""

from __future__ import annotations

import pytest

from kernelwright.runners.screens.source import static_screen

BENCH = """long bench(float* y) {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}
"""
KERNEL = "void k(const float* x, float* y, int n) {\n    BODY\n}\n"
REACHED = {
    "a call": ("", "y[0] = bench(y);"),
    "its address": ("", "auto f = &bench; y[0] = f(y);"),
    "a macro": ("#define RUN bench(y)\n", "y[0] = RUN;"),
    "another function": ("long twice(float* y) {\n    return 2 * bench(y);\n}\n", "twice(y);"),
    "an initialiser": ("static long begun = bench(nullptr);\n", "y[0] = begun;"),
    "a method": ("struct S {\n    long f() { return bench(nullptr); }\n};\n", "y[0] = S().f();"),
    "assembly": ("", 'asm("call bench");'),
}


def screened(above: str, body: str, bench: str = BENCH, kernel_type: str = "cpp") -> str:
    source = bench + above + KERNEL.replace("BODY", body)
    return static_screen(source, kernel_type, "k").outcome


@pytest.mark.parametrize("way", REACHED)
def test_a_clock_blocks_wherever_a_kernel_may_come_to_it(way: str) -> None:
    assert screened(*REACHED[way]) == "failed"


@pytest.mark.parametrize(
    "above",
    [
        "// bench() says how long it takes\n",
        "int main() {\n    return bench(nullptr) > 0;\n}\n",
    ],
)
def test_a_benchmark_beside_a_kernel_does_not_block(above: str) -> None:
    assert screened(above, "y[0] = x[0];") == "note"


@pytest.mark.parametrize(
    "bench",
    [
        "__attribute__((constructor)) " + BENCH,
        BENCH.replace("\n", " ").rstrip() + " ",
    ],
)
def test_what_may_run_unnamed_or_shares_its_line_blocks(bench: str) -> None:
    assert screened("", "y[0] = x[0];", bench) == "failed"


def test_without_a_known_entry_everything_counts() -> None:
    assert static_screen(BENCH, "cpp", "k").outcome == "failed"


def test_every_kernel_of_a_cuda_source_is_an_entry() -> None:
    dated = "__device__ int when() {\n    return __DATE__[0];\n}\n"
    kernel = "__global__ void k(float* y) {\n    y[0] = 1;\n}\n"
    other = "__global__ void other(float* y) {\n    y[0] = when();\n}\n"
    assert static_screen(dated + kernel, "cuda", "k").outcome == "note"
    assert static_screen(dated + kernel + other, "cuda", "k").outcome == "failed"
