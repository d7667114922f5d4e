"""The server's side of the oracle: one process, started anew when it is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import AccessError, KernelwrightError, ProcessLost, ReferenceFailed, SpecError
from ..loading.files import LoadedKernel
from ..model import Record
from ..processes.locks import gpu_registry
from ..processes.machine import memory_bytes
from ..processes.process import Child, Limits, clean_environment, spawner
from ..processes.seccomp import has_seccomp
from ..protocol.pools import SeedPool
from ..specs.devices import DeviceFacts
from .confinement import environment_of
from .messages import Foresee, JudgeOutputs, MakePool, OpenReference, OracleSettings, OutputVerdict

ANSWER_S = 180.0
SIZES = (
    "correct the reference; or the domains of the symbols, where they hold sizes that never occur"
)
AGAIN = "ask again; a fresh oracle knows what this one knew"
RESERVED = 16 << 30
"""Address space that libraries reserve and do not use."""
HOST_KEPT_BYTES = 2 << 30
DEVICE_KEPT_SHARE = 8
"""Expected values may fill one part in so many of a GPU's memory."""
_ERRORS = {e.__name__: e for e in (ReferenceFailed, SpecError, AccessError)}


class _Fallen(Exception):
    """The process, or the GPU under it, is gone in the middle of a question."""

    def __init__(self, error: KernelwrightError) -> None:
        super().__init__(str(error))
        self.error = error


class Oracle:
    """Makes inputs and judges outputs, on a GPU of this machine if `device` is one.

    What it was told, and inputs and adopted outputs by their descriptors, outlive its process:
    the next one judges by the very same values. Not for two threads at once.
    """

    def __init__(self, scratch: Path, device: DeviceFacts | None = None) -> None:
        self._scratch = scratch
        self._device = device if device is not None and device.uuid else None
        self._child: Child | None = None
        self._kernels: dict[str, OpenReference] = {}
        self._where: dict[str, str] = {}
        self._readable: tuple[str, ...] = ()
        self._pools: dict[str, tuple[MakePool, int]] = {}
        self._adopted: dict[str, list[tuple[JudgeOutputs, int]]] = {}

    def open(self, kernel: LoadedKernel) -> str:
        """Take a kernel's reference; see `where`. Raises ReferenceFailed if it does not load."""
        message = OpenReference(
            kernel=kernel.kernel_id,
            contract=kernel.spec.io,
            source=kernel.reference,
            init_files=kernel.init_files,
        )
        files = tuple(kernel.init_files.values())
        if not set(files) <= set(self._readable):
            self._end()  # what a process may read is settled when it starts
            self._readable = (*self._readable, *files)
        self._ask("open", message)
        self._kernels[kernel.kernel_id] = message
        return self.where(kernel.kernel_id)

    def where(self, kernel_id: str) -> str:
        """What computes a kernel's truth, and why not on the GPU where that was wanted.

        "torch on NVIDIA H200", "numpy on the host: no cupy". It can change with the first
        judgement: a call that cupy refuses is made by numpy.
        """
        return self._where[kernel_id]

    def make_pool(self, pool: SeedPool) -> int:
        """A descriptor with the inputs of every seed, to be closed by the caller."""
        message = MakePool(
            pool=pool.pool,
            kernel=pool.kernel,
            label=pool.contract.label,
            symbols=dict(pool.contract.symbols),
            seeds=pool.seeds,
            kinds=pool.kinds,
        )
        _, fds = self._ask("pool", message)
        self._forget(pool.pool)
        self._pools[pool.pool] = (message, os.dup(fds[0]))
        return fds[0]

    def drop_pool(self, pool: str) -> None:
        """Give the inputs of a pool and its expected values back."""
        known = self._pools.get(pool)
        self._forget(pool)
        if known is not None:
            self._let_go("drop pool", known[0])

    def forget(self, kernel_id: str) -> None:
        """Let go of a kernel's reference, once its pools are dropped."""
        known = self._kernels.pop(kernel_id, None)
        if known is not None:
            self._let_go("forget", known)

    def pause(self) -> None:
        """End the process; what is asked for next starts another, which knows the same."""
        self._end()

    def foresee(self, pool: SeedPool, slots: Sequence[int]) -> None:
        """Work out what is expected on some seeds before it is wanted. Raises ReferenceFailed with
        the shape: it may be one that no workload has."""
        try:
            self._ask("foresee", Foresee(pool=pool.pool, slots=tuple(slots)))
        except ReferenceFailed as error:
            shape = pool.contract
            sizes = ", ".join(f"{name}={size}" for name, size in shape.symbols.items())
            raise ReferenceFailed(
                f"on `{shape.label}`" + (f" ({sizes})" if sizes else "") + f": {error.message}",
                valid=error.valid,
                next_step=error.next_step or SIZES,
            ) from error

    def judge(self, message: JudgeOutputs, fd: int) -> list[tuple[OutputVerdict, ...]]:
        """Verdicts for every output record. Raises ReferenceFailed when the reference fails."""
        reply, _ = self._ask("judge", message, fd)
        if message.adopt:
            self._keep_adopted(message, fd)
        return [
            tuple(OutputVerdict.model_validate(v) for v in verdicts)
            for verdicts in reply["verdicts"]
        ]

    def close(self) -> None:
        """End the process and forget everything."""
        self._end()
        for pool in list(self._pools):
            self._forget(pool)
        self._kernels.clear()

    def _let_go(self, verb: str, message: Record) -> None:
        """Have the process forget something; one that is gone, or is lost now, has."""
        child = self._child
        if child is not None and child.poll() is None:
            try:
                self._exchange(child, verb, message, None)
            except (_Fallen, ProcessLost, TimeoutError):
                self._end()

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def _forget(self, pool: str) -> None:
        known = self._pools.pop(pool, None)
        for _, fd in ([] if known is None else [known]) + self._adopted.pop(pool, []):
            os.close(fd)

    def _keep_adopted(self, message: JudgeOutputs, fd: int) -> None:
        """Outputs that became the truth; those of slots that have one already did not."""
        kernel = self._kernels[self._pools[message.pool][0].kernel]
        earlier = self._adopted.setdefault(message.pool, [])
        slots = {slot for adopted, _ in earlier for slot in adopted.slots}
        if kernel.source is None and not set(message.slots) <= slots:
            earlier.append((message, os.dup(fd)))

    def _ask(
        self, verb: str, message: Record, fd: int | None = None
    ) -> tuple[dict[str, Any], list[int]]:
        """An answer. On a GPU a question during which all fell is asked again, once, of a new
        process: after a crash in the runner a reference failed that had worked before and worked
        again (once in 30 crashes on an H200, why is not known)."""
        try:
            return self._once(verb, message, fd)
        except _Fallen as fallen:
            if self._device is None:
                raise fallen.error from fallen
        try:
            return self._once(verb, message, fd)
        except _Fallen as fallen:
            raise fallen.error from fallen

    def _once(self, verb: str, message: Record, fd: int | None) -> tuple[dict[str, Any], list[int]]:
        try:
            return self._exchange(self._running(), verb, message, fd)
        except TimeoutError as error:
            raise self._lost(error) from error
        except ProcessLost as error:
            lost = self._lost(error)
            if isinstance(lost, ProcessLost):  # ended from outside: the caller decides
                raise lost from error
            raise _Fallen(lost) from error

    def _lost(self, error: ProcessLost | TimeoutError) -> ReferenceFailed | ProcessLost:
        """What to say when the process is gone, silent or stopped; it is ended."""
        late, child = isinstance(error, TimeoutError), self._child
        why = detail = ""
        returncode = None
        if child is not None:
            returncode = child.wait(0.0 if late else 1.0)
            why = f": it took over {ANSWER_S:g} s" if late else f": {child.describe_end()}"
            detail = child.stderr_text(1000).strip()
        self._end()
        if returncode is None and not late:
            return ProcessLost(str(error), next_step=AGAIN)
        if returncode == -signal.SIGKILL and has_seccomp():  # the filter lets it not do so itself
            return ProcessLost(
                "the oracle was killed from outside, or by the system because memory ran out",
                next_step=f"{AGAIN}; if it happens again, look at the system's messages (dmesg) "
                "and at how much memory reference and inputs take",
            )
        return ReferenceFailed(
            f"the reference ended its process{why}" + (f"\n{detail}" if detail else ""),
            next_step="call the reference by hand on a small input",
        )

    def _running(self) -> Child:
        if self._child is not None and self._child.usable:
            return self._child
        self._end()
        child = self._child = self._start()
        for kernel in self._kernels.values():
            self._exchange(child, "open", kernel, None)
        for pool, fd in self._pools.values():
            self._exchange(child, "known pool", pool, fd)
        for adopted, fd in (each for several in self._adopted.values() for each in several):
            self._exchange(child, "adopt", adopted, fd)
        return child

    def _start(self) -> Child:
        device = self._device
        name = "oracle" if device is None else f"oracle.{device.uuid}"
        private = self._scratch / f"{name}.private"
        if device is not None:
            private.mkdir(parents=True, exist_ok=True)
        settings = OracleSettings(
            readable=self._readable,
            gpu="" if device is None else device.name,
            registry="" if device is None else str(gpu_registry()),
            private="" if device is None else str(private),
            kept_bytes=HOST_KEPT_BYTES
            if device is None
            else device.memory_bytes // DEVICE_KEPT_SHARE,
        )
        extra = environment_of(settings, None if device is None else device.uuid)
        return spawner().start_python(
            "kernelwright.runners.oracle.process",
            (settings.model_dump_json(),),
            name=name,
            scratch=self._scratch,
            environment=clean_environment(self._scratch, extra),
            # The input pools count as files. What the host has not, nobody should wait for:
            # without a limit the system ends processes of its own choice.
            limits=Limits(
                file_bytes=64 << 30, memory_bytes=None if device else RESERVED + memory_bytes()
            ),
        )

    def _exchange(
        self, child: Child, verb: str, message: Record, fd: int | None
    ) -> tuple[dict[str, Any], list[int]]:
        body = {"verb": verb, "body": message.model_dump(mode="json")}
        child.channel.send(body, () if fd is None else (fd,))
        reply, fds = child.receive(timeout=ANSWER_S)
        self._where |= reply["where"]
        told = reply.get("error")
        if told is not None:
            kind: type[KernelwrightError] = _ERRORS.get(told["kind"], ReferenceFailed)
            refusal = kind(told["message"], valid=told["valid"])
            if reply["spent"]:  # the GPU no longer works for that process
                self._end()
                raise _Fallen(refusal)
            raise refusal
        return reply, fds
