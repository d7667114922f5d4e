"""Grid and block of a CUDA kernel, read from the launch in its own file."""

from __future__ import annotations

import pytest

from kernelwright.runners.inferring.cpp_inference import Surroundings
from kernelwright.runners.inferring.cuda_launches import FoundLaunch, launch_of
from kernelwright.runners.inferring.readers import source_kernel

KERNEL = "__global__ void k(float* d, int n, int m) {}\n"
SIZES = {1: "n", 2: "m"}


def launch(host: str, above: str = "") -> FoundLaunch | None:
    source = f"{above}\n{KERNEL}void go(float* d, int N, int M) {{ {host} }}\n"
    return launch_of(source, "k", SIZES)


@pytest.mark.parametrize(
    ("host", "grid", "block"),
    [
        ("k<<<(N + 255) / 256, 256>>>(d, N, M);", ("cdiv(n, 256)",), (256,)),
        ("int t = 128; k<<<(N + t - 1) / t, t>>>(d, N, M);", ("cdiv(n, 128)",), (128,)),
        ("k<<<(N - 1) / 64 + 1, 64>>>(d, N, M);", ("cdiv(n, 64)",), (64,)),
        ("k<<<ceil((float)N / 64), 64>>>(d, N, M);", ("cdiv(n, 64)",), (64,)),
        ("k<<<ceil_div(N, 64), 64>>>(d, N, M);", ("cdiv(n, 64)",), (64,)),
        ("k<<<N / 4, 1 << 5>>>(d, N, M);", ("n // 4",), (32,)),
        ("k<<<M, 256, 0, 0>>>(d, N, M);", ("m",), (256,)),
        (
            "dim3 b(16, 8), g((N + b.x - 1) / b.x, (M + 7) / 8); k<<<g, b>>>(d, N, M);",
            ("cdiv(n, 16)", "cdiv(m, 8)"),
            (16, 8),
        ),
        (
            "dim3 g; const dim3 b = dim3(32, 1, 1); k<<<dim3(N, M), b>>>(d, N, M);",
            ("n", "m"),
            (32,),
        ),
        (
            "int rows = N * M; k<<<(rows + 255) / 256, 256>>>(d, N, M);",
            ("cdiv(n * m, 256)",),
            (256,),
        ),
    ],
)
def test_what_computes_a_launch_is_followed(
    host: str, grid: tuple[str, ...], block: tuple[int, ...]
) -> None:
    assert launch(host) == FoundLaunch(grid, block)


def test_macros_and_constants_of_the_file_are_known() -> None:
    above = "#define THREADS 256\nconstexpr int EACH = 4;"
    found = launch("k<<<(N + THREADS * EACH - 1) / (THREADS * EACH), THREADS>>>(d, N, M);", above)
    assert found == FoundLaunch(("cdiv(n, 1024)",), (256,))


def test_small_helpers_macros_and_choices_of_the_file_are_followed() -> None:
    above = (
        "#define imin(a, b) (a < b ? a : b)\n"
        "inline int GET_BLOCKS(const int count) { return (count + 511) / 512; }\n"
    )
    found = launch("k<<<imin(32, GET_BLOCKS(N)), 512>>>(d, N, M);", above)
    assert found == FoundLaunch(("min(32, cdiv(n, 512))",), (512,))
    found = launch("int most = N > M ? N : M; k<<<(most + 31) / 32, 32>>>(d, N, M);")
    assert found == FoundLaunch(("cdiv(max(n, m), 32)",), (32,))
    assert launch("k<<<N > 4 ? M : 1, 32>>>(d, N, M);") == FoundLaunch(("?",), (32,))


def test_templates_and_other_names_for_a_size_are_the_same() -> None:
    found = launch("int count = M; k<float><<<(count + 31) / 32, 32>>>(d, N, count);")
    assert found == FoundLaunch(("cdiv(m, 32)",), (32,))


def test_what_the_file_does_not_say_stays_open_alone() -> None:
    assert launch("k<<<blocks_for(N), 256>>>(d, N, M);") == FoundLaunch(("?",), (256,))


def test_a_kernel_that_the_file_does_not_launch_has_none() -> None:
    assert launch("other<<<1, 1>>>(d);") is None


def test_a_size_that_only_the_host_has_is_a_symbol() -> None:
    source = """
__global__ void rows(float* x, int d) {
    for (int i = threadIdx.x; i < d; i += blockDim.x) x[blockIdx.x * d + i] *= 2;
}
void go(float* x, int d, int tokens) {
    dim3 grid(tokens);
    dim3 block(min(d, 1024));
    rows<<<grid, block>>>(x, d);
}
"""
    found = source_kernel(Surroundings(source), "rows", "cuda")
    assert found is not None and found.launch is not None
    assert found.launch == {"grid": ["tokens"], "block": ["min(d, 1024)"]}
    assert found.symbols == {"d": None, "tokens": None}


def test_a_size_of_the_host_that_the_kernel_gets_a_product_of_is_left_open() -> None:
    """Both would say the same size."""
    source = """
__global__ void scale(float* x, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) x[i] *= 2;
}
void go(float* x, int rows, int cols) { scale<<<rows, 64>>>(x, rows * cols); }
"""
    found = source_kernel(Surroundings(source), "scale", "cuda")
    assert found is not None
    assert found.symbols == {"n": None}
