"""The logic check of a Triton kernel where its GPU is not: the interpreter's runner and an oracle
on the host, started when first needed."""

from __future__ import annotations

from pathlib import Path

from ...runners.errors import ReferenceFailed
from ...runners.interpreter.logic import logic_check
from ...runners.interpreter.runner import InterpreterRunner, interpreter_missing
from ...runners.model import GateResult, Variant
from ...runners.oracle.oracle import Oracle
from .open_kernel import OpenKernel


class LogicCheck:
    """Checks kernels one at a time; `close` ends its processes."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._runner: InterpreterRunner | None = None
        self._oracle: Oracle | None = None
        self._opened = set[str]()

    def check(self, kernel: OpenKernel, variant: Variant) -> GateResult | None:
        """What the interpreter says of a variant; None: it is no Triton kernel.

        Raises ProcessLost.
        """
        language = kernel.loaded.spec.kernel.language
        if not language.interpreted or kernel.target is None:
            return None
        if missing := interpreter_missing():
            return GateResult(gate="logic_check", outcome="skipped", message=missing)
        runner = self._runner = self._runner or InterpreterRunner(self._scratch)
        oracle = self._oracle = self._oracle or Oracle(self._scratch)
        try:
            if kernel.kernel_id not in self._opened:
                oracle.open(kernel.loaded)
                self._opened.add(kernel.kernel_id)
            return logic_check(kernel.loaded, variant, kernel.target, runner=runner, oracle=oracle)
        except ReferenceFailed as error:
            return GateResult(gate="logic_check", outcome="skipped", message=error.message)

    def close(self) -> None:
        """End its processes."""
        if self._runner is not None:
            self._runner.close()
        if self._oracle is not None:
            self._oracle.close()
