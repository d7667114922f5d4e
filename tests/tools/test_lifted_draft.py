"""`spec --infer` with what the lift says: less is open, and an output is told as one."""

from __future__ import annotations

import pytest

from kernelwright.runners.loading.completing import draft_of_source
from kernelwright.runners.loading.files import parse_spec
from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.tools.parts.lifted_draft import with_lift

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

ATAX = """\
typedef double real;
void atax(const real* A, const real* x, real* y, int m, int n) {
    for (int j = 0; j < n; ++j) y[j] = 0;
    for (int i = 0; i < m; ++i) {
        real s = 0;
        for (int j = 0; j < n; ++j) s += A[i * n + j] * x[j];
        for (int j = 0; j < n; ++j) y[j] += A[i * n + j] * s;
    }
}
"""
EMBED = """\
__global__ void embed(const int* token, const float* table, float* out, int tokens, int words,
                      int width) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tokens) return;
    for (int w = 0; w < width; ++w) out[t * width + w] = table[token[t] * width + w];
}
"""


def test_an_array_that_is_zeroed_and_added_to_is_an_output_with_bytes_and_flops_told() -> None:
    before = draft_of_source("atax.cpp", ATAX)
    roles = {a["name"]: a["role"] for a in before.data["io"]["arguments"]}
    assert roles["y"] == "inout"
    io = with_lift(before, ATAX).data["io"]
    assert {a["name"]: a["role"] for a in io["arguments"]}["y"] == "output"
    assert io["flops"] == "4 * m * n" and io["bytes"] == "8 * m * n + 16 * n"


def test_a_gather_has_its_range_its_sizes_and_a_launch() -> None:
    found = with_lift(draft_of_source("embed.cu", EMBED), EMBED)
    arguments = {a["name"]: a for a in found.data["io"]["arguments"]}
    assert arguments["token"]["init"] == {"kind": "randint", "low": 0, "high": "?"}
    assert arguments["table"]["shape"] == ["words", "width"]
    assert found.data["kernel"]["launch"] == {"grid": ["cdiv(tokens, 256)"], "block": [256]}
    beside = [line for line in found.undecided if not line.startswith("workloads.")]
    assert len(beside) == 1
    assert beside[0].startswith("io.arguments.token.init.high: ") and "`words`" in beside[0]


def test_a_grid_of_one_axis_has_one_block_along_the_others() -> None:
    source = (
        "__constant__ float w[4];\n__global__ void far(const float2* p, float* d, int n) {"
        " int i = blockDim.x * (gridDim.x * blockIdx.y + blockIdx.x) + threadIdx.x;"
        " if (i < n) d[i] = w[0] * p[i].x - p[i].y; }\n"
        "void go(const float2* p, float* d, int n) { far<<<(n + 63) / 64, 64>>>(p, d, n); }\n"
    )
    found = with_lift(draft_of_source("far.cu", source), source)
    shapes = {a["name"]: a.get("shape") for a in found.data["io"]["arguments"]}
    assert shapes["p"] == ["2 * n"] and shapes["d"] == ["n"]


def test_a_grid_that_nobody_tells_covers_the_places_by_the_block_that_is_told() -> None:
    source = (
        "__global__ void pool(const float* x, float* y, int rows, int cols, int k) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= rows * (cols / k)) return;"
        " float s = 0; for (int j = 0; j < k; ++j) s += x[i / (cols / k) * cols + i % (cols / k)"
        " * k + j]; y[i] = s; }\n"
        "void go(Tensor x, Tensor y, int k) {"
        " pool<<<blocks_of(y), 64>>>(x.p, y.p, x.size(0), x.size(1), k); }\n"
    )
    found = with_lift(draft_of_source("pool.cu", source), source)
    shapes = {a["name"]: a.get("shape") for a in found.data["io"]["arguments"]}
    assert shapes["x"] == ["rows", "cols"] and shapes["y"] == ["rows * (cols // k)"]
    assert found.data["kernel"]["launch"]["grid"] == ["cdiv(rows * (cols // k), 64)"]


def test_a_spec_whose_open_places_are_filled_in_is_taken() -> None:
    source = (
        "void f(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = 1 / x[i]; }"
    )
    data = with_lift(draft_of_source("f.cpp", source), source).data
    data["workloads"][0]["symbols"]["n"] = 1000
    kernel = {**data["kernel"], "source_code": source}
    del kernel["source_path"]
    spec = parse_spec({**data, "kernel": kernel})
    assert spec.io.arguments[0].filled.low == 0.5
    assert spec.io.bytes == "8 * n" and spec.io.flops == "n"


def test_a_source_that_does_not_compile_for_reading_keeps_its_draft() -> None:
    source = (
        "#include <vector>\nvoid f(const float* x, float* y, int n) { std::vector<float> v(n); "
    )
    source += "for (int i = 0; i < n; ++i) v[i] = x[i]; for (int i = 0; i < n; ++i) y[i] = v[i]; }"
    draft = draft_of_source("f.cpp", source)
    assert with_lift(draft, source) is draft


LAUNCHED = """\
#include <cuda_fp16.h>
#include <vector>
__global__ void gate(__half* out, const __half* in, const int d) {
    for (int i = threadIdx.x; i < d; i += blockDim.x) {
        float v = __half2float(in[blockIdx.x * 2 * d + i]);
        out[blockIdx.x * d + i] = __hmul(__float2half(v), in[blockIdx.x * 2 * d + d + i]);
    }
}
void go(__half* out, const __half* in, int d, int tokens) {
    std::vector<int> unused;
    dim3 grid(tokens), block(min(d, 1024));
    gate<<<grid, block>>>(out, in, d);
}
"""
ROW = """\
__global__ void relax(const int* wall, const int* before, int* after, int cols, int row) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < cols) after[x] = before[x] + wall[row * cols + x];
}
"""
TOKENS = """\
__global__ void center(float* x, const float* mean, int B, int T, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= B * T) return;
    for (int c = 0; c < C; ++c) x[i * C + c] -= mean[(i / T) * T + i % T];
}
"""


def shapes(name: str, source: str) -> dict[str, list[object]]:
    data = with_lift(draft_of_source(name, source), source).data
    return {a["name"]: a["shape"] for a in data["io"]["arguments"] if "shape" in a}


def test_a_file_with_its_host_code_is_read_and_its_grid_is_a_size() -> None:
    assert shapes("gate.cu", LAUNCHED) == {"out": ["tokens", "d"], "in": ["2 * tokens * d"]}


def test_of_a_matrix_of_which_one_row_is_read_there_are_so_many_rows() -> None:
    found = shapes("relax.cu", ROW)
    assert found == {"wall": ["row + 1", "cols"], "before": ["cols"], "after": ["cols"]}


def test_threads_along_x_that_share_two_sizes_have_a_launch() -> None:
    data = with_lift(draft_of_source("center.cu", TOKENS), TOKENS).data
    assert data["kernel"]["launch"] == {"grid": ["cdiv(B * T, 256)"], "block": [256]}


POOLED = """\
__global__ void pool(const float* in, float* out, int H, int W, int OH, int OW) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, plane = blockIdx.z;
    if (x >= OW || y >= OH) return;
    float best = -INFINITY;
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            if (2 * y + i < H && 2 * x + j < W)
                best = fmaxf(best, in[(plane * H + 2 * y + i) * W + 2 * x + j]);
    out[(plane * OH + y) * OW + x] = best;
}
void go(const float* in, float* out, int N, int C, int H, int W, int OH, int OW) {
    dim3 grid((OW + 15) / 16, (OH + 15) / 16, N * C), block(16, 16);
    pool<<<grid, block>>>(in, out, H, W, OH, OW);
}
"""


def test_a_grid_that_is_a_product_of_sizes_of_the_host_is_part_of_a_shape() -> None:
    data = with_lift(draft_of_source("pool.cu", POOLED), POOLED).data
    assert data["kernel"]["launch"]["grid"] == ["cdiv(OW, 16)", "cdiv(OH, 16)", "N * C"]
    assert {"N", "C"} <= data["symbols"].keys()
    shapes = {a["name"]: a["shape"] for a in data["io"]["arguments"] if "shape" in a}
    assert sorted(shapes["out"]) == ["C", "N", "OH", "OW"]


def test_what_is_indexed_by_a_remainder_has_as_many_elements() -> None:
    source = (
        "__global__ void f(const float* x, const float* bias, float* y, int n, int channels) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < n) y[i] = x[i] + bias[i % channels]; }"
    )
    assert shapes("f.cu", source) == {"x": ["n"], "bias": ["channels"], "y": ["n"]}


def test_a_source_that_counts_its_threads_by_a_number_is_for_that_block() -> None:
    source = (
        "__global__ void f(const float* x, float* y, int rows, int cols) {"
        " int i = blockIdx.x * 128 + threadIdx.x;"
        " if (i < rows) for (int j = 0; j < cols; ++j) y[i * cols + j] = 2 * x[j]; }"
    )
    data = with_lift(draft_of_source("f.cu", source), source).data
    assert data["kernel"]["launch"] == {"grid": ["cdiv(rows, 128)"], "block": [128]}
    assert shapes("f.cu", source) == {"x": ["cols"], "y": ["rows", "cols"]}


IN_HEADERS = {
    "real.h": "#if defined(WIDE)\ntypedef double real;\n#else\ntypedef float real;\n#endif\n",
    "scale.cuh": '#include "real.h"\n#include <map>\nstd::map<int, int> known;\n'
    "__global__ void scale(real* y, const real* x, real by, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = by * x[i];\n}\n",
}
LAUNCHES_IT = """\
#include <vector>
#include "scale.cuh"
lib_handle_t handle;
void run(real* y, const real* x, int n) { scale<<<(n + 127) / 128, 128>>>(y, x, 2, n); }
"""


def test_a_kernel_in_a_header_of_its_own_has_types_by_conditions_and_host_libraries_around() -> (
    None
):
    draft = draft_of_source("main.cu", LAUNCHES_IT, "scale", IN_HEADERS)
    assert draft.data["kernel"]["files"] == ["real.h", "scale.cuh"]
    found = with_lift(draft, LAUNCHES_IT)
    arguments = {a["name"]: a for a in found.data["io"]["arguments"]}
    assert [arguments[n]["dtype"] for n in ("y", "x", "by")] == ["float32"] * 3
    assert arguments["y"]["shape"] == ["n"] == arguments["x"]["shape"]
    beside = [line.split(":")[0] for line in found.undecided if not line.startswith("workloads.")]
    assert beside == ["io.arguments.by.value"]


def test_a_kernel_of_narrow_floats_is_run_for_its_sizes() -> None:
    source = (
        "#include <cuda_bf16.h>\n__global__ void turn(__nv_bfloat16* y, const __nv_bfloat16* x,"
        " int rows, int cols) {\n int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        " if (i < rows * cols) y[i % cols * rows + i / cols] = x[i];\n}\n"
    )
    found = with_lift(draft_of_source("turn.cu", source), source)
    assert {a["name"]: a.get("shape") for a in found.data["io"]["arguments"]}["y"] is not None
    assert "bytes" in found.data["io"]


def test_arrays_of_a_kernel_for_one_large_size_are_as_large_as_its_indices_reach() -> None:
    source = (
        "#define N 3000\n#define at(a, r, c) a[(r) * N + (c)]\n"
        "__global__ void pairs(float* y, const float* x) {\n"
        " int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;\n"
        " float s = 0;\n for (int k = 0; k < N; ++k) s += at(x, r, k) * at(x, k, c / 2);\n"
        " at(y, r, c) = s + at(y, r, c);\n}\n"
        "void run(float* y, float* x) { pairs<<<dim3(N / 100, N), 100>>>(y, x); }\n"
    )
    found = with_lift(draft_of_source("pairs.cu", source), source)
    y, x = found.data["io"]["arguments"]
    assert y["shape"] == [9000000] == x["shape"]
    assert (y["role"], x["role"]) == ("inout", "input")


def test_a_size_that_only_the_launcher_has_is_no_free_symbol_of_the_grid() -> None:
    source = (
        "__global__ void add(float* y, const float* x, int rows, int heads, int d) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < rows * heads * d) y[i] += x[i];\n}\n"
        "void run(float* y, const float* x, int rows, int width, int heads) {\n"
        "    int d = width / heads;\n"
        "    add<<<(rows * width + 127) / 128, 128>>>(y, x, rows, heads, d);\n}\n"
    )
    drafted = draft_of_source("add.cu", source)
    assert "width" in drafted.data["symbols"]
    found = with_lift(drafted, source)
    (grid,) = found.data["kernel"]["launch"]["grid"]
    assert "width" not in grid and all(name in grid for name in ("rows", "heads", "d"))
    assert "width" not in found.data["symbols"]
    assert not any("width" in line for line in found.undecided)
