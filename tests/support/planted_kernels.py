"""CUDA kernels with one fault of performance each, and the same kernels without it.

All are `twice(x, y, n)` on two arrays of N floats; what they compute is of no interest. The faults
are those that `ncu_summary` must name first. What ncu counted of them on an H200 lies in
`reports/`: a kernel that is changed here needs a new report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from device_kernels import HEAD, INDEX, DeviceBench, integer, launch, pointer

from kernelwright.analysis.rules.model import Facts
from kernelwright.runners.limits.limits import Work
from kernelwright.runners.profiling.model import Profile
from kernelwright.runners.specs.devices import DeviceFacts

N = 1 << 24
SIDE = 1024
"""of the square matrices that `TENSOR` multiplies, both in `x`"""


def _everything(threads: int) -> Callable[[DeviceFacts], int]:
    """A grid with a thread for every element."""
    return lambda device: N // threads


USUAL = _everything(256)


@dataclass(frozen=True)
class Kernel:
    """A source and how it is launched."""

    source: str
    block: int = 256
    shared: int = 0
    """dynamic, bytes"""
    grid: Callable[[DeviceFacts], int] = USUAL

    def changes(self, device: DeviceFacts) -> dict[str, Any]:
        """For `DeviceBench.load`."""
        params = [pointer("x"), pointer("y"), integer("n", N)]
        return {
            "kernels": {"twice": {"block": [self.block, 1, 1], "shared": self.shared}},
            "steps": [launch("twice", self.grid(device), *params)],
        }


@dataclass(frozen=True)
class Pair:
    """A kernel with the fault and one without."""

    faulty: Kernel
    repaired: Kernel
    facts: Facts = field(default=Facts(work=Work(bytes=8.0 * N)))


def _with(define: str, source: str) -> str:
    return f"#define {define}\n{source}"


BANKS = (
    HEAD
    + """    __shared__ float tile[32][WIDTH];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, base = blockIdx.x * 1024;
    for (int r = 0; r < 4; r++) tile[4 * warp + r][lane] = x[base + 32 * (4 * warp + r) + lane];
    __syncthreads();
    float sum = 0;
    for (int round = 0; round < 64; round++)
        for (int r = 0; r < 4; r++) sum += tile[lane][(4 * warp + r + round) & 31];
    for (int r = 0; r < 4; r++) y[base + 32 * (4 * warp + r) + lane] = sum;
}
"""
)
STRIDE = (
    HEAD
    + INDEX
    + """    int rows = n / 32;
    y[i] = 2 * x[FROM];
}
"""
)
SPILLS = (
    'extern "C" __global__ void BOUNDS twice(float* x, float* y, int n) {\n'
    + INDEX
    + """    float a[48];
#pragma unroll
    for (int k = 0; k < 48; k++) a[k] = x[(i + k * 4096) & (n - 1)];
#pragma unroll 1
    for (int round = 0; round < 8; round++)
#pragma unroll
        for (int k = 0; k < 48; k++) a[k] = a[k] * a[(k + 7) % 48] + a[(k + 13) % 48];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 48; k++) sum += a[k];
    y[i] = sum;
}
"""
)
COPY = HEAD + INDEX + "    y[i] = 2 * x[i];\n}\n"
WORK = (
    HEAD
    + """    float a = x[threadIdx.x], b = x[threadIdx.x + 1], c = a + b, d = a - b;
#pragma unroll 8
    for (int k = 0; k < 20000; k++) {
        a = a * 0.5f + b;
        b = b * 0.5f + c;
        c = c * 0.5f + d;
        d = d * 0.5f + a;
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}
"""
)
BRANCHES = (
    HEAD
    + INDEX
    + """    float a = x[i];
    int lane = threadIdx.x & 31;
#pragma unroll 1
    for (int turn = 0; turn < 32; turn++)
        if (TAKEN) {
#pragma unroll 1
            for (int k = 0; k < 32; k++) a = a * 0.5f + x[(k + turn) & 255];
        }
    y[i] = a;
}
"""
)
PLAIN_MATMUL = (
    HEAD
    + """    const int side = 1024;
    __shared__ float left[16][16], right[16][16];
    int column = threadIdx.x & 15, row = threadIdx.x >> 4;
    int to_row = 16 * (blockIdx.x / 64) + row, to_column = 16 * (blockIdx.x % 64) + column;
    float sum = 0;
    for (int k = 0; k < side; k += 16) {
        left[row][column] = x[to_row * side + k + column];
        right[row][column] = x[side * side + (k + row) * side + to_column];
        __syncthreads();
        for (int j = 0; j < 16; j++) sum += left[row][j] * right[j][column];
        __syncthreads();
    }
    y[to_row * side + to_column] = sum;
}
"""
)
TENSOR_MATMUL = (
    HEAD
    + """    const int side = 1024;
    int lane = threadIdx.x & 31, tile = blockIdx.x * 8 + (threadIdx.x >> 5);
    int group = lane >> 2, part = lane & 3;
    const float* left = x + 16 * (tile / 128) * side;
    const float* right = x + side * side + 8 * (tile % 128);
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < side; k += 8) {
        unsigned a[4], b[2];
        for (int r = 0; r < 4; r++)
            a[r] = __float_as_uint(left[(group + 8 * (r & 1)) * side + k + part + 4 * (r >> 1)]);
        for (int r = 0; r < 2; r++)
            b[r] = __float_as_uint(right[(k + part + 4 * r) * side + group]);
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    float* out = y + 16 * (tile / 128) * side + 8 * (tile % 128) + 2 * part;
    for (int r = 0; r < 4; r++) out[(group + 8 * (r >> 1)) * side + (r & 1)] = d[r];
}
"""
)
BARRIERS = (
    HEAD
    + """    float a = x[threadIdx.x];
#pragma unroll 1
    for (int round = 0; round < 64; round++) {
        if (WORKS) {
#pragma unroll 1
            for (int k = 0; k < 64; k++) a = a * 0.5f + 1;
        }
        MEET;
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = a;
}
"""
)


def _waves(whole: int, more: int) -> Callable[[DeviceFacts], int]:
    """A grid of whole waves of blocks of 1024 threads, and some blocks more."""
    return lambda device: whole * device.sm_count * (device.threads_per_sm // 1024) + more


_matrices = Facts(
    work=Work(bytes=12.0 * SIDE * SIDE, flops=2.0 * SIDE * SIDE * SIDE), matrix_work=True
)
PAIRS: Mapping[str, Pair] = {
    "smem_bank_conflicts": Pair(
        Kernel(_with("WIDTH 32", BANKS), grid=_everything(1024)),
        Kernel(_with("WIDTH 33", BANKS), grid=_everything(1024)),
    ),
    "poor_coalescing": Pair(
        Kernel(_with("FROM (i % rows) * 32 + i / rows", STRIDE)), Kernel(_with("FROM i", STRIDE))
    ),
    "register_spill": Pair(
        Kernel(_with("BOUNDS __launch_bounds__(1024, 2)", SPILLS), grid=_everything(4096)),
        Kernel(_with("BOUNDS __launch_bounds__(256)", SPILLS), grid=_everything(4096)),
    ),
    "low_occupancy": Pair(
        Kernel(COPY, block=64, shared=200 << 10, grid=_everything(64)), Kernel(COPY)
    ),
    "tail_effect": Pair(
        Kernel(WORK, block=1024, grid=_waves(1, 16)), Kernel(WORK, block=1024, grid=_waves(2, 0))
    ),
    "divergence": Pair(
        Kernel(_with("TAKEN lane == turn", BRANCHES), grid=_everything(4096)),
        Kernel(_with("TAKEN turn == 0", BRANCHES), grid=_everything(4096)),
    ),
    "tensor_unused": Pair(
        Kernel(PLAIN_MATMUL, grid=lambda device: 64 * 64),
        Kernel(TENSOR_MATMUL, grid=lambda device: 64 * 128 // 8),
        _matrices,
    ),
    "stall_barrier": Pair(
        Kernel(
            _with("WORKS threadIdx.x < 32\n#define MEET __syncthreads()", BARRIERS),
            block=1024,
            grid=_waves(4, 0),
        ),
        Kernel(_with("WORKS true\n#define MEET", BARRIERS), block=1024, grid=_waves(4, 0)),
    ),
}
"""by the rule that must come first"""


def profiled(
    bench: DeviceBench, device: DeviceFacts, kernel: Kernel, report: Path, *, full: bool = False
) -> Profile:
    """What ncu counts in one run of a kernel on a real GPU."""
    bench.load("planted", kernel.source, **kernel.changes(device))
    try:
        return bench.runner.profile("planted", "k/w", report, full=full)
    finally:
        bench.runner.unload("planted")
