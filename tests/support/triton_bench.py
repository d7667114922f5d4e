"""What Triton moves write, run by the interpreter and built for an H100."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.interpreter.logic import logic_check
from kernelwright.runners.interpreter.runner import InterpreterRunner
from kernelwright.runners.loading.files import LoadedKernel
from kernelwright.runners.model import Variant
from kernelwright.runners.oracle.oracle import Oracle
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.runners.specs.normalise import source_key
from kernelwright.search.moves.shared.base import State

DEVICE = PROFILES[0][0]


@dataclass(frozen=True)
class TritonBench:
    """Started once for all tests: candidates run in forks of their own."""

    runner: InterpreterRunner
    oracle: Oracle
    builder: Builder
    folder: Path

    @classmethod
    @contextmanager
    def opened(cls, folder: Path) -> Generator[TritonBench]:
        """One that lives as long as the tests."""
        builder = Builder(folder / "modules", folder / "scratch")
        made = cls(InterpreterRunner(folder), Oracle(folder), builder, folder)
        yield made
        made.runner.close()
        made.oracle.close()
        builder.close()

    def must_pass(self, kernel: LoadedKernel, found: State, **parameters: int) -> None:
        """The logic check of a state, on the sizes of an open kernel."""
        checked = logic_check(
            kernel,
            variant(kernel, found, **parameters),
            DEVICE,
            runner=self.runner,
            oracle=self.oracle,
            timeout_s=60.0,
        )
        assert checked.outcome == "passed", f"{checked.message}\n{found.source}"


def variant(kernel: LoadedKernel, found: State, **parameters: int) -> Variant:
    """A state as a variant of a loaded kernel."""
    base = kernel.baseline()
    declared = {n: v for n, v in found.parameters.items() if n in base.parameters}
    changed = {
        "source": found.source,
        "source_key": source_key(found.source, "triton"),
        "plan": None if found.plan is None else dict(found.plan),
    }
    chosen = {**base.parameters, **declared, **parameters}
    return base.model_copy(update=changed | {"parameters": chosen})
