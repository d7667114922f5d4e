"""Kernels whose work can be turned up in fine steps while their output stays the same.

`spin` repeats a dependent multiply-add that changes nothing, `copy` reads part of a second input
for nothing. Both give y = x, bit by bit, whatever their knob says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SPIN = """\
#define KNOB 1
extern "C" __global__ void work(const float* x, float* y, float one, float zero, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
#pragma unroll 8
    for (int k = 0; k < KNOB; ++k) v = fmaf(v, one, zero);
    y[i] = v;
}
"""
COPY = """\
#define KNOB 1
extern "C" __global__ void work(const float* x, const float* more, float* y, float one, float zero,
                                int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = one * x[i];
    if (blockIdx.x % 1000 < KNOB) v = fmaf(more[i], zero, v);
    y[i] = v;
}
"""
HOST_SPIN = """\
#define KNOB 64
void work(const float* x, float* y, float one, float zero, int n) {
    for (int i = 0; i < n; ++i) {
        float v = x[i];
        const int rounds = KNOB / 64 + (i % 64 < KNOB % 64);
        for (int k = 0; k < rounds; ++k) v = v * one + zero;
        y[i] = v;
    }
}
"""
HOST_COPY = """\
#define KNOB 1
void work(const float* x, const float* more, float* y, float one, float zero, int n) {
    for (int i = 0; i < n; ++i) {
        float v = one * x[i];
        if (i / 256 % 1000 < KNOB) v += zero * more[i];
        y[i] = v;
    }
}
"""
REFERENCES = {
    "spin": "def reference(x, one, zero, n):\n    return one * x + zero\n",
    "copy": "def reference(x, more, one, zero, n):\n    return one * x + zero * more\n",
}
THREADS = 256
SOURCES = {
    ("device", "spin"): SPIN,
    ("device", "copy"): COPY,
    ("native", "spin"): HOST_SPIN,
    ("native", "copy"): HOST_COPY,
}


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel: what bounds it, how many elements, and the time that its knob is set for."""

    name: str
    tier: str
    kind: str
    n: int
    target_us: float | None
    """None: the knob starts at its least, and the size alone decides"""

    @property
    def least(self) -> int:
        """The knob with the least work; on a host 64 of it are one round more."""
        return 64 if (self.tier, self.kind) == ("native", "spin") else 1

    def source(self, knob: int) -> str:
        """The kernel with its knob set."""
        text = SOURCES[self.tier, self.kind]
        return text.replace(text.splitlines()[0], f"#define KNOB {knob}", 1)

    def spec(self) -> dict[str, Any]:
        """The spec, with the knob at its least."""
        device = self.tier == "device"
        kernel: dict[str, Any] = {
            "kernel_type": "cuda" if device else "cpp",
            "source_code": self.source(self.least),
            "metadata": {"kernel_name": "work"},
        }
        if device:
            kernel["launch"] = {"grid": [f"cdiv(n, {THREADS})"], "block": [THREADS]}
        inputs = ("x", "more") if self.kind == "copy" else ("x",)
        arguments = [
            *({"name": i, "role": "input", "dtype": "float32", "shape": ["n"]} for i in inputs),
            {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
            {"name": "one", "role": "scalar", "dtype": "float32", "value": 1.0},
            {"name": "zero", "role": "scalar", "dtype": "float32", "value": 0.0},
            {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
        ]
        return {
            "name": f"fidelity_{self.name}",
            "kernel": kernel,
            "io": {"arguments": arguments, "bytes": "8 * n"},
            "symbols": {"n": {"min": 1, "max": self.n}},
            "workloads": [{"name": "w", "symbols": {"n": self.n}}],
            "reference": {"source_code": REFERENCES[self.kind]},
        }


FULL = 132 * THREADS
"""elements that keep every multiprocessor of an H100 at work, and hardly any memory"""
DEVICE_CASES = (
    Case("2us", "device", "spin", FULL, 2.0),
    Case("10us", "device", "spin", FULL, 10.0),
    Case("10us_memory", "device", "copy", 3 << 20, None),
    Case("250us", "device", "copy", 1 << 26, None),
    Case("250us_compute", "device", "spin", 8 * FULL, 250.0),
    Case("5ms", "device", "spin", 8 * FULL, 5000.0),
)
HOST_CASES = (
    Case("10us", "native", "spin", 256, 10.0),
    Case("250us", "native", "spin", 1024, 250.0),
    Case("500us_memory", "native", "copy", 1 << 20, None),
    Case("5ms", "native", "spin", 4096, 5000.0),
)
