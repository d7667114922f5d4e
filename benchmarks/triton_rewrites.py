"""How many plain Triton kernels of `triton_plain_kernels.py` and `triton_more_kernels.py` a
schedule writes anew, and whether its first candidate computes the same under Triton's interpreter
at a small shape. Nothing is timed.

    python benchmarks/triton_rewrites.py

No GPU; needs Triton and torch. Result: results/triton_rewrites.json."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from environment import write
from triton_more_kernels import OPEN, THIRD
from triton_plain_kernels import DEVELOPED, HELD_OUT, PlainKernel

from kernelwright.runners.interpreter.logic import logic_check
from kernelwright.runners.interpreter.runner import InterpreterRunner
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.runners.oracle.oracle import Oracle
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.runners.specs.normalise import source_key
from kernelwright.search.moves import NotApplicable, State
from kernelwright.search.moves.triton.schedules import MOVES

FEW = 44
"""the largest size of a symbol where candidates are interpreted"""


def main() -> None:
    """Print and keep the shares."""
    with tempfile.TemporaryDirectory() as name:
        rig = _Rig(Path(name))
        try:
            halves = {"developed": DEVELOPED, "held_out": HELD_OUT, "open": OPEN, "third": THIRD}
            result = {half: _half(kernels, rig) for half, kernels in halves.items()}
        finally:
            rig.close()
    print(result)
    print(write("triton_rewrites", result))


class _Rig:
    """What runs candidates under the interpreter."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runner, self.oracle = InterpreterRunner(folder), Oracle(folder)

    def close(self) -> None:
        """End its processes."""
        self.runner.close()
        self.oracle.close()

    def outcome(self, kernel: LoadedKernel, candidate: Candidate) -> str:
        """passed, failed or skipped."""
        source = candidate.source or ""
        key = source_key(source, "triton")
        changed = {"source": source, "source_key": key, "plan": candidate.plan}
        variant = kernel.baseline().model_copy(update=changed)
        return logic_check(
            kernel, variant, PROFILES[0][0], runner=self.runner, oracle=self.oracle, timeout_s=60.0
        ).outcome


def _half(kernels: Mapping[str, PlainKernel], rig: _Rig) -> dict[str, Any]:
    told = {name: _kernel(name, each, rig) for name, each in kernels.items()}
    written = sum(bool(each["candidates"]) for each in told.values())
    right = sum(set(each["candidates"].values()) == {"passed"} for each in told.values())
    return {"of": len(told), "written": written, "right": right, "kernels": told}


def _kernel(name: str, plain: PlainKernel, rig: _Rig) -> dict[str, Any]:
    roots = Roots([rig.folder])
    kernel = load_data(plain.spec(name), rig.folder, roots)
    few = dict.fromkeys(plain.symbols, FEW)  # a program of each element is interpreted by itself
    small = load_data(replace(plain, symbols=few).spec(name), rig.folder, roots)
    rig.oracle.open(small)
    source = kernel.spec.kernel.source_code or ""
    state = State("triton", source, {}, BuildOptions(), kernel.spec)
    outcomes, reasons = dict[str, str](), dict[str, str]()
    for move in MOVES:
        answer = move.propose(state)
        if isinstance(answer, NotApplicable):
            reasons[move.id] = answer.reason
            continue
        outcomes[f"{move.id}: {answer[0].detail}"] = rig.outcome(small, answer[0])
        print(name, outcomes, flush=True)
    return {"candidates": outcomes, "reasons": {} if outcomes else reasons}


if __name__ == "__main__":
    main()
