"""A small kernel that builds in 0.1 s and is evaluated in under a second, and ways to spoil it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.runners.limits.limits import Peaks
from kernelwright.store.peaks import put_host_peaks
from kernelwright.store.store import STATE_FILE, Store

SOURCE = """\
#include <cstdint>

#ifndef UNROLL
#define UNROLL 1
#endif

void bump(const float* x, float* y, float a, std::int32_t n) {
    for (int i = 0; i < n; ++i) y[i] = a * x[i] / (1.0f + x[i] * x[i]);
}
"""
REFERENCE = """\
def reference(x, a, n):
    return a * x / (1 + x * x)
"""
SPEC: dict[str, Any] = {
    "name": "bump",
    "kernel": {
        "kernel_type": "cpp",
        "source_path": "bump.cpp",
        "metadata": {"kernel_name": "bump"},
        "flags": ["-O1", "-std=c++17"],
    },
    "io": {
        "arguments": [
            {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
            {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
            {"name": "a", "role": "scalar", "dtype": "float32", "value": 2.5},
            {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
        ],
        "bytes": "8 * n",
        "flops": "4 * n",
    },
    "symbols": {"n": {"min": 1, "max": 65536}},
    "workloads": [
        {"name": "main", "symbols": {"n": 8192}},
        {"name": "unseen", "symbols": {"n": 5001}, "held_out": True},
    ],
    "parameters": {"UNROLL": {"values": [1, 4]}},
    "reference": "reference.py",
}
FASTER = {"flags": ["-O3", "-march=native", "-std=c++17"]}
"""options that make it several times as fast"""
PEAKS = Peaks(
    copy_bytes_per_s=2e10, flops_per_s=1e11, source="measured", device="a test", method="given"
)
"""of any machine that runs tests"""
DOES_NOT_BUILD = SOURCE.replace("++i)", "++j)")
WRONG = SOURCE.replace("a * x[i] /", "(i == 4567 ? 2 : 1) * a * x[i] /")
"""wrong in one element of the visible workload: y[4567]"""
OUT_OF_BOUNDS = SOURCE.replace("i < n", "i < n + 1")
ENDLESS = SOURCE.replace("void bump", 'extern "C" int usleep(unsigned us);\n\nvoid bump').replace(
    "for (", "for (volatile int q = 0; q == 0;) usleep(1000);\n    for ("
)
"""runs into its time limit, and leaves the core to others meanwhile"""
WRONG_WHEN_BAKED = SOURCE.replace(
    "#ifndef UNROLL", "#ifdef UNROLL\n#define GIVEN\n#endif\n#ifndef UNROLL"
).replace("    for", "#ifndef GIVEN\n    a += 1;\n#endif\n    for")
"""right while UNROLL comes from the command line, wrong with its default"""


@dataclass(frozen=True)
class TinyKernel:
    """The kernel's folder, with spec.json, bump.cpp and reference.py in it."""

    folder: Path

    @property
    def source(self) -> Path:
        """The file that an export replaces."""
        return self.folder / "bump.cpp"


def tiny_kernel(folder: Path) -> TinyKernel:
    """Write the kernel into a folder."""
    (folder / "spec.json").write_text(json.dumps(SPEC), encoding="utf-8")
    (folder / "bump.cpp").write_text(SOURCE, encoding="utf-8")
    (folder / "reference.py").write_text(REFERENCE, encoding="utf-8")
    return TinyKernel(folder)


def with_known_peaks(outdir: Path) -> Path:
    """A state folder that knows its machine's peaks, so that no process measures them (2 s)."""
    with Store.open(outdir / STATE_FILE) as store, store.transaction() as writer:
        put_host_peaks(writer, PEAKS)
    return outdir
