"""Kernels whose logic is checked under Triton's interpreter, in tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.runners.interpreter.logic import logic_check
from kernelwright.runners.interpreter.runner import InterpreterRunner
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import GateResult
from kernelwright.runners.oracle.oracle import Oracle
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.runners.specs.normalise import source_key

DEVICE = PROFILES[0][0]
HEAD = """\
import torch
import triton
import triton.language as tl


"""
KERNEL = """\
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)
    tl.store(out + at, total, mask=inside)
"""
ADD = HEAD + KERNEL
LAUNCH = {"grid": ["cdiv(n, BLOCK)"]}
REFERENCE = "def reference(x, y, n):\n    return x + y\n"
ARRAYS = [
    {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
    {"name": "y", "role": "input", "dtype": "float32", "shape": ["n"]},
    {"name": "out", "role": "output", "dtype": "float32", "shape": ["n"]},
    {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
]


@dataclass
class InterpreterBench:
    """Runner and oracle, started once for all tests: candidates run in forks of their own."""

    runner: InterpreterRunner
    oracle: Oracle
    folder: Path

    def check(self, source: str, *, timeout_s: float = 20.0, **spec: Any) -> GateResult:
        """The logic check of a source as the baseline of a kernel."""
        loaded = self.load(source, **spec)
        return self.check_variant(loaded, source, timeout_s)

    def load(self, source: str, **spec: Any) -> LoadedKernel:
        """A kernel: `entry`, `launch`, `arguments`, `reference` and fields of a spec."""
        kernel = {
            "kernel_type": "triton",
            "source_code": source,
            "metadata": {"kernel_name": spec.pop("entry", "add")},
            "launch": spec.pop("launch", LAUNCH),
        }
        data = {
            "name": "tried",
            "kernel": kernel,
            "io": {"arguments": spec.pop("arguments", ARRAYS)},
            "symbols": {"n": {"min": 1, "max": 1 << 24}},
            "workloads": [{"name": "main", "symbols": {"n": 1 << 20}}],
            "parameters": {"BLOCK": {"values": [512, 1024]}},
            "reference": {"source_code": REFERENCE},
        } | spec
        loaded = load_data(data, self.folder, Roots([self.folder]))
        self.oracle.open(loaded)
        return loaded

    def check_variant(
        self, loaded: LoadedKernel, source: str, timeout_s: float = 20.0, **changes: Any
    ) -> GateResult:
        """The logic check of another source of the same kernel."""
        changed = {"source": source, "source_key": source_key(source, "triton")} | changes
        variant = loaded.baseline().model_copy(update=changed)
        return logic_check(
            loaded, variant, DEVICE, runner=self.runner, oracle=self.oracle, timeout_s=timeout_s
        )
