"""What plans can say, on a GPU: a kernel here is right only if the runner did as its plan says.

Opening a kernel builds, checks and times it; one that is wrong is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelwright.runners.device.presence.probing import probe_devices
from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.search.session.workbench import Workbench

pytestmark = pytest.mark.gpu
COOPERATIVE = """\
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void total(const float* x, float* partial, float* y, int n) {
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    __shared__ float block;
    if (threadIdx.x == 0) block = 0;
    __syncthreads();
    atomicAdd(&block, sum);
    __syncthreads();
    if (threadIdx.x == 0) partial[blockIdx.x] = block;
    cg::this_grid().sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        float all = 0;
        for (int b = 0; b < gridDim.x; ++b) all += partial[b];
        y[0] = all;
    }
}
"""
CLUSTER = """\
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void swap(const float* x, float* y, int n) {
    __shared__ float mine[128];
    cg::cluster_group cluster = cg::this_cluster();
    int i = blockIdx.x * 128 + threadIdx.x;
    mine[threadIdx.x] = i < n ? x[i] : 0;
    cluster.sync();
    const float* other = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1);
    int j = (blockIdx.x ^ 1) * 128 + threadIdx.x;
    if (j < n) y[j] = other[threadIdx.x];
    cluster.sync();
}
"""
SYMBOL = """\
__constant__ float weights[8];
__device__ float shift;
template <typename T, int N>
__global__ void filter(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T sum = shift;
    for (int k = 0; k < N; ++k) sum += weights[k] * x[(i + k) % n];
    y[i] = sum;
}
"""
SHARED = """\
extern "C" __global__ void reverse(const float* x, float* y, int n) {
    extern __shared__ float tile[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = tile[n - 1 - i];
}
"""
DESCRIPTORS = """\
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def host_copy(source, target, BLOCK: tl.constexpr):
    row, col = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    target.store([row, col], source.load([row, col]) * 2)


@triton.jit
def device_copy(x, y, rows, cols, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, cols], [cols, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(y, [rows, cols], [cols, 1], [BLOCK, BLOCK])
    row, col = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    target.store([row, col], source.load([row, col]) * 2)


def by_host(x):
    y = torch.empty_like(x)
    block = [64, 64]
    source = TensorDescriptor.from_tensor(x, block)
    target = TensorDescriptor.from_tensor(y, block)
    grid = (triton.cdiv(x.shape[0], 64), triton.cdiv(x.shape[1], 64))
    host_copy[grid](source, target, BLOCK=64)
    return y


def by_device(x):
    y = torch.empty_like(x)
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8,
                                                                 device="cuda"))
    grid = (triton.cdiv(x.shape[0], 64), triton.cdiv(x.shape[1], 64))
    device_copy[grid](x, y, x.shape[0], x.shape[1], BLOCK=64)
    return y
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    folder = tmp_path_factory.mktemp("bench")
    probed = probe_devices(folder)
    if not probed.devices:
        pytest.skip(f"no GPU: {probed.why_none}")
    with Workbench(folder / "out", [folder]) as opened:
        yield opened


def array(name: str, role: str, *shape: str | int, dtype: str = "float32") -> dict[str, Any]:
    return {"name": name, "role": role, "dtype": dtype, "shape": list(shape)}


def opened(
    bench: Workbench,
    name: str,
    kernel: dict[str, Any],
    arguments: list[dict[str, Any]],
    symbols: dict[str, int],
    reference: str,
    **changes: Any,
) -> None:
    """Open the kernel: refused unless it builds, is right and can be timed."""
    folder = bench.outdir.parent
    spec = {
        "name": name,
        "kernel": {"metadata": {"kernel_name": name}, **kernel},
        "io": {"arguments": arguments, "deterministic": False},
        "symbols": dict.fromkeys(symbols),
        "workloads": [{"name": "only", "symbols": symbols}],
        "reference": {"source_code": f"import numpy as np\n{reference}"},
        **changes,
    }
    record = bench.evaluator.open(load_data(spec, folder, Roots([folder])))
    assert record.timed


N = {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"}


def test_a_cooperative_grid_waits_for_all_its_blocks(bench: Workbench) -> None:
    launch = {
        "launch": "total", "grid": [128], "block": [256], "cooperative": True,
        "args": ["x", "partial", "y", "n"],
    }  # fmt: skip
    plan = {"buffers": {"partial": {"dtype": "float32", "shape": [128]}}, "steps": [launch]}
    opened(
        bench,
        "total",
        {"kernel_type": "cuda", "source_code": COOPERATIVE, "plan": plan},
        [array("x", "input", "n"), array("y", "output", 1), N],
        {"n": 1000003},
        "def reference(x, n):\n    return x.sum().reshape(1)\n",
    )


def test_blocks_of_a_cluster_read_each_other_s_shared_memory(bench: Workbench) -> None:
    launch = {"grid": ["2 * cdiv(n, 256)"], "block": [128], "cluster": [2]}
    opened(
        bench,
        "swap",
        {"kernel_type": "cuda", "source_code": CLUSTER, "launch": launch},
        [array("x", "input", "n"), array("y", "output", "n"), N],
        {"n": 100000},
        "def reference(x, n):\n    return x + 0\n",
    )


def test_symbols_are_set_from_a_buffer_and_from_a_value_and_templates_are_instantiated(
    bench: Workbench,
) -> None:
    entry = "filter<float, 8>"
    steps = [
        {"set": "weights", "in": entry, "buffer": "w", "nbytes": 32},
        {"launch": entry, "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", "n"]},
    ]
    setup = [{"set": "shift", "in": entry, "value": 0.5, "dtype": "float32"}]
    opened(
        bench,
        "filter",
        {"kernel_type": "cuda", "source_code": SYMBOL, "plan": {"setup": setup, "steps": steps}},
        [array("x", "input", "n"), array("w", "input", 8), array("y", "output", "n"), N],
        {"n": 5000},
        "def reference(x, w, n):\n    return 0.5 + sum(w[k] * np.roll(x, -k) for k in range(8))\n",
    )


def test_dynamic_shared_memory_beyond_48_kib_is_granted(bench: Workbench) -> None:
    launch = {"grid": [1], "block": [1024], "shared": "4 * n"}
    opened(
        bench,
        "reverse",
        {"kernel_type": "cuda", "source_code": SHARED, "launch": launch},
        [array("x", "input", "n"), array("y", "output", "n"), N],
        {"n": 50000},
        "def reference(x, n):\n    return x[::-1]\n",
    )


@pytest.mark.parametrize("entry", ["by_host", "by_device"])
def test_tensor_descriptors_of_host_and_device_work(bench: Workbench, entry: str) -> None:
    opened(
        bench,
        entry,
        {"kernel_type": "triton", "source_code": DESCRIPTORS},
        [
            array("x", "input", "rows", "cols", dtype="float16"),
            array("y", "output", "rows", "cols", dtype="float16"),
        ],
        {"rows": 1000, "cols": 512},
        "def reference(x):\n    return x * 2\n",
    )


def test_an_array_without_a_promise_of_alignment_and_a_bf16_one_are_right(
    bench: Workbench, tmp_path: Path
) -> None:
    source = """\
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 3, mask=at < n)
"""
    x, y = (
        {**array("x", "input", "n", dtype="bfloat16"), "align": 2},
        {**array("y", "output", "n", dtype="bfloat16"), "align": 2},
    )
    opened(
        bench,
        "scale",
        {
            "kernel_type": "triton",
            "source_code": source,
            "launch": {"grid": ["cdiv(n, 512)"], "constexprs": {"BLOCK": 512}},
        },
        [x, y, N],
        {"n": 70001},
        "def reference(x, n):\n    return x * 3\n",
    )
