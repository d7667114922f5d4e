"""The server's side of the oracle: one process, started anew when it is lost."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .errors import AccessError, KernelwrightError, ProcessLost, ReferenceFailed, SpecError
from .model import Record
from .oracle_messages import JudgeOutputs, MakePool, OpenReference
from .pools import SeedPool
from .process import Child, Limits, clean_environment, spawner
from .spec_files import LoadedKernel

ANSWER_S = 180.0
_ERRORS = {e.__name__: e for e in (ReferenceFailed, SpecError, AccessError)}


class OutputVerdict(Record):
    """What the comparison of one output found; see `judge.Verdict`."""

    name: str
    right: bool
    largest: float
    allowed: float
    rms: float
    worst_index: tuple[int, ...] | None
    worst_value: str
    expected_value: str
    message: str


class Oracle:
    """Makes inputs and judges outputs. Not for two threads at once."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._child: Child | None = None
        self._kernels: dict[str, OpenReference] = {}
        self._readable: tuple[str, ...] = ()
        self._pools: dict[str, MakePool] = {}

    def open(self, kernel: LoadedKernel) -> None:
        """Take a kernel's reference. Raises ReferenceFailed when it does not load."""
        message = OpenReference(
            kernel=kernel.kernel_id,
            contract=kernel.spec.io,
            source=kernel.reference,
            init_files=kernel.init_files,
        )
        files = tuple(kernel.init_files.values())
        if not set(files) <= set(self._readable):
            self.close()  # what a process may read is settled when it starts
            self._readable = (*self._readable, *files)
        self._ask("open", message)
        self._kernels[kernel.kernel_id] = message

    def make_pool(self, pool: SeedPool) -> int:
        """A descriptor with the inputs of every seed, to be closed by the caller."""
        message = MakePool(
            pool=pool.pool,
            kernel=pool.kernel,
            label=pool.contract.label,
            symbols=dict(pool.contract.symbols),
            seeds=pool.seeds,
        )
        _, fds = self._ask("pool", message)
        self._pools[pool.pool] = message
        return fds[0]

    def judge(self, message: JudgeOutputs, fd: int) -> list[tuple[OutputVerdict, ...]]:
        """Verdicts for every output record. Raises ReferenceFailed when the reference fails."""
        reply, _ = self._ask("judge", message, fd)
        return [
            tuple(OutputVerdict.model_validate(v) for v in verdicts)
            for verdicts in reply["verdicts"]
        ]

    def close(self) -> None:
        """End the process; the next question starts another."""
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def _ask(
        self, verb: str, message: Record, fd: int | None = None
    ) -> tuple[dict[str, Any], list[int]]:
        child = self._running()
        try:
            return _exchange(child, verb, message, fd)
        except (ProcessLost, TimeoutError) as error:
            late = isinstance(error, TimeoutError)
            child.wait(0.0 if late else 1.0)
            why = f"it took over {ANSWER_S:g} s" if late else child.describe_end()
            detail = child.stderr_text(1000).strip()
            self.close()
            raise ReferenceFailed(
                f"the reference ended its process: {why}" + (f"\n{detail}" if detail else ""),
                next_step="call the reference by hand on a small input",
            ) from error

    def _running(self) -> Child:
        if self._child is not None and self._child.poll() is None:
            return self._child
        self.close()
        child = self._child = spawner().start_python(
            "kernelwright.runners.oracle_process",
            self._readable,
            name="oracle",
            scratch=self._scratch,
            environment=clean_environment(self._scratch, {"PYTHONDONTWRITEBYTECODE": "1"}),
            limits=Limits(file_bytes=64 << 30),  # the input pools count as files
        )
        for kernel in self._kernels.values():
            _exchange(child, "open", kernel, None)
        for pool in self._pools.values():
            for fd in _exchange(child, "pool", pool, None)[1]:
                os.close(fd)
        return child


def _exchange(
    child: Child, verb: str, message: Record, fd: int | None
) -> tuple[dict[str, Any], list[int]]:
    body = {"verb": verb, "body": message.model_dump(mode="json")}
    child.channel.send(body, () if fd is None else (fd,))
    reply, fds = child.channel.receive(timeout=ANSWER_S)
    told = reply.get("error")
    if told is not None:
        kind: type[KernelwrightError] = _ERRORS.get(told["kind"], ReferenceFailed)
        raise kind(told["message"], valid=told["valid"])
    return reply, fds
