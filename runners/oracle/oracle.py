"""The server's side of the oracle: a judge that no user's code ever enters, and the reference in a
process of its own. Both are started anew when they are lost.

The judge makes inputs, keeps expected values and compares. Where it lacks the expected values of a
seed it says so, the reference works them out into memory that the server gave it, and the judge
takes them from there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import ProcessLost, ReferenceFailed
from ..forking.starting import start_python
from ..loading.files import LoadedKernel
from ..processes.locks import gpu_registry
from ..processes.machine import memory_bytes
from ..processes.process import Child, Limits, clean_environment
from ..protocol.pools import PUBLIC_SEED, SeedPool
from ..specs.contract import BoundContract, bind
from ..specs.devices import DeviceFacts
from .confinement import environment_of
from .expected.truths import truth_memory, truth_nbytes
from .lifted_values import LiftedValues
from .messages import (
    Compute,
    JudgeOutputs,
    MakePool,
    OpenReference,
    OracleSettings,
    OutputVerdict,
    Slots,
    TimeReference,
)
from .served import AGAIN, ANSWER_S, Question, ReferenceEnded, Served

JUDGE, REFERENCE = "oracle.process", "oracle.reference_process"
SIZES = (
    "correct the reference; or the domains of the symbols, where they hold sizes that never occur"
)
RESERVED = 16 << 30
"""Address space that libraries reserve and do not use."""
HOST_KEPT_BYTES = 2 << 30
FEW_BYTES = 64 << 20
DEVICE_KEPT_SHARE = 8
"""Expected values may fill one part in so many of a GPU's memory."""
SUPPLIES = 3
"""A judge that has lost them again after so many times is not going to keep them."""


class Oracle:
    """Makes inputs and judges outputs, on a GPU of this machine if `device` is one.

    What it was told, and inputs and adopted outputs by their descriptors, outlive its processes:
    the next ones judge by the very same values. Not for two threads at once.
    """

    def __init__(self, scratch: Path, device: DeviceFacts | None = None) -> None:
        self._scratch = scratch
        self._device = device if device is not None and device.uuid else None
        self._kernels: dict[str, OpenReference] = {}
        self._where: dict[str, str] = {}
        self._moved = set[str]()
        self._readable: tuple[str, ...] = ()
        self._pools: dict[str, tuple[MakePool, int]] = {}
        self._adopted: dict[str, list[tuple[JudgeOutputs, int]]] = {}
        twice = self._device is not None
        self._judge = Served(
            lambda: self._start(JUDGE, "oracle"), self._known, users_code=False, twice=twice
        )
        self._reference = Served(
            lambda: self._start(REFERENCE, "reference"), self._loaded, users_code=True, twice=twice
        )
        self._lifted = LiftedValues(self._judge, self._reference)

    def open(self, kernel: LoadedKernel) -> str:
        """Take a kernel's reference; see `where`. Raises ReferenceFailed if it does not load."""
        message = OpenReference(
            kernel=kernel.kernel_id,
            contract=kernel.spec.io,
            source=kernel.reference,
            lifted=None if kernel.reference is not None else kernel.lifted_reference,
            init_files=kernel.init_files,
        )
        files = tuple(kernel.init_files.values())
        if not set(files) <= set(self._readable):
            self._judge.end()  # what a process may read is settled when it starts
            self._readable = (*self._readable, *files)
        self._judge.begin()
        if message.computed:
            self._reference.begin()
        answered, _ = self._judge.ask("open", message)
        if message.computed:
            answered, _ = self._reference.ask("open", message)
        self._kernels[kernel.kernel_id] = message
        self._where[kernel.kernel_id] = str(answered["where"])
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
            public=pool.public,
        )
        _, fds = self._judge.ask("pool", message)
        self._forget(pool.pool)
        self._pools[pool.pool] = (message, os.dup(fds[0]))
        return fds[0]

    def drop_pool(self, pool: str) -> None:
        """Give the inputs of a pool and its expected values back."""
        known = self._pools.get(pool)
        self._forget(pool)
        if known is not None:
            self._judge.let_go("drop pool", known[0])

    def forget(self, kernel_id: str) -> None:
        """Let go of a kernel's reference, once its pools are dropped."""
        known = self._kernels.pop(kernel_id, None)
        if known is not None:
            self._judge.let_go("forget", known)
            self._reference.let_go("forget", known)

    def pause(self) -> None:
        """End the processes; what is asked for next starts others, which know the same."""
        self._judge.end()
        self._reference.end()

    def foresee(self, pool: SeedPool, slots: Sequence[int], timeout_s: float = ANSWER_S) -> None:
        """Work out what is expected on some seeds before it is wanted, each within a time limit.
        Raises ReferenceFailed with the shape: it may be one that no workload has."""
        try:
            wanted = Slots(pool=pool.pool, slots=tuple(slots))
            for slot in self._judge.ask("missing", wanted)[0]["missing"]:
                self._supply(pool.pool, slot, timeout_s)
        except ReferenceFailed as error:
            shape = pool.contract
            sizes = ", ".join(f"{name}={size}" for name, size in shape.symbols.items())
            raise ReferenceFailed(
                f"on `{shape.label}`" + (f" ({sizes})" if sizes else "") + f": {error.message}",
                valid=error.valid,
                next_step=error.next_step or SIZES,
            ) from error

    def reference_seconds(self, name: str, slot: int, enough_s: float) -> float | None:
        """How long a call of the reference takes on one seed of a pool, in the kernel's own types
        and with warm caches; None: the baseline is the reference.

        What it says is the user's own code's word: to be told, never judged by. Raises
        ReferenceFailed.
        """
        pool, inputs = self._pools[name]
        if self._kernels[pool.kernel].source is None:
            return None
        asked = TimeReference(pool=pool, slot=slot, seconds=enough_s)
        return float(self._reference.ask("time", asked, (inputs,))[0]["seconds"])

    def judge(self, message: JudgeOutputs, fd: int) -> list[tuple[OutputVerdict, ...]]:
        """Verdicts for every output record. Raises ReferenceFailed when the reference fails."""
        missing, verdicts = self._judged(message, fd)
        if missing and self._are_few(message.pool, len(missing)):
            for slot in missing:
                self._supply(message.pool, slot)
            missing, verdicts = self._judged(message, fd)
        if missing:
            verdicts = self._slot_by_slot(message, fd)
        if message.adopt:
            self._keep_adopted(message, fd)
        return verdicts

    def close(self) -> None:
        """End the processes and forget everything."""
        self.pause()
        for pool in list(self._pools):
            self._forget(pool)
        self._kernels.clear()

    def _judged(
        self, message: JudgeOutputs, fd: int
    ) -> tuple[list[int], list[tuple[OutputVerdict, ...]]]:
        """The seeds whose expected values the judge lacks, or else its verdicts."""
        reply, _ = self._judge.ask("judge", message, (fd,))
        told = reply["verdicts"]
        return reply["missing"], [tuple(map(OutputVerdict.model_validate, v)) for v in told]

    def _are_few(self, name: str, slots: int) -> bool:
        """Whether a judge has room for the expected values of so many seeds, whatever it keeps."""
        return slots * truth_nbytes(self._bound(self._pools[name][0])) <= FEW_BYTES

    def _slot_by_slot(self, message: JudgeOutputs, fd: int) -> list[tuple[OutputVerdict, ...]]:
        """Verdicts of one seed after the other: the judge may have no room for the expected values
        of all of them, and always has for the latest."""
        found = {slot: iter(self._of_slot(message.of_slot(slot), fd)) for slot in message.slots}
        return [next(found[slot]) for slot in message.slots]

    def _of_slot(self, message: JudgeOutputs, fd: int) -> list[tuple[OutputVerdict, ...]]:
        for _ in range(SUPPLIES):
            missing, verdicts = self._judged(message, fd)
            if not missing:
                return verdicts
            self._supply(message.pool, missing[0])
        raise ProcessLost("the judge's process forgets what it was told", next_step=AGAIN)

    def _supply(self, name: str, slot: int, timeout_s: float = ANSWER_S) -> None:
        """Have the reference work out the expected values of one seed, and the judge take them."""
        pool, inputs = self._pools[name]
        truth = truth_memory(self._bound(pool))
        try:
            asked = Compute(pool=pool, slot=slot)
            if self._kernels[pool.kernel].source is None:
                return self._supply_lift(asked, (inputs, truth))
            self._compute(asked, inputs, truth, timeout_s)
            self._judge.ask("expect", Slots(pool=name, slots=(slot,)), (truth,))
        finally:
            os.close(truth)

    def _supply_lift(self, asked: Compute, fds: tuple[int, int]) -> None:
        """The same by what was read from the baseline, and never again where that does not hold."""
        kernel = asked.pool.kernel
        holds, self._where[kernel] = self._lifted.of(asked, self._bound(asked.pool).nbytes, fds)
        if not holds:
            self._kernels[kernel] = self._kernels[kernel].model_copy(update={"lifted": None})
            self._judge.ask("without lift", self._kernels[kernel])

    def _compute(
        self, message: Compute, inputs: int, truth: int, timeout_s: float = ANSWER_S
    ) -> None:
        """Have the reference called on one seed. Raises ReferenceFailed."""
        kernel = message.pool.kernel
        try:
            reply, _ = self._reference.ask("compute", message, (inputs, truth), timeout_s)
        except ReferenceFailed as error:
            if message.pool.public or (isinstance(error, ReferenceEnded) and error.late):
                raise
            raise self._failure_to_tell(message) from error
        if reply["where"] != self._where[kernel]:
            if message.pool.public:
                self._where[kernel] = str(reply["where"])
            elif kernel not in self._moved:
                self._moved.add(kernel)
                self._failure_to_tell(message)

    def _failure_to_tell(self, message: Compute) -> ReferenceFailed:
        """What a reference says on the public seed where it failed, or fell back to numpy, on a
        secret one: its words could be made of the values that it was called with. The process that
        is asked has seen no others."""
        known = message.pool
        kind = known.kinds[message.slot] if message.slot < len(known.kinds) else None
        public = known.model_copy(
            update={
                "pool": f"{known.pool}/public",
                "public": True,
                "seeds": (PUBLIC_SEED,),
                "kinds": (kind,),
            }
        )
        self._reference.end()
        inputs = truth = -1
        try:
            _, (inputs,) = self._judge.ask("pool", public)
            truth = truth_memory(self._bound(public))
            self._compute(Compute(pool=public, slot=0), inputs, truth)
        except ReferenceFailed as error:
            return error
        finally:
            self._judge.let_go("drop pool", public)
            for fd in (inputs, truth):
                if fd >= 0:
                    os.close(fd)
        return ReferenceFailed(
            "the reference fails on secret values, and does not on the public ones: what it says "
            "there could tell of them",
            next_step="call the reference by hand on further values",
        )

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

    def _known(self) -> Iterator[Question]:
        """What a new judge is told."""
        for kernel in self._kernels.values():
            yield "open", kernel, ()
        for pool, fd in self._pools.values():
            yield "known pool", pool, (fd,)
        for adopted, fd in (each for several in self._adopted.values() for each in several):
            yield "adopt", adopted, (fd,)

    def _loaded(self) -> Iterator[Question]:
        """What a new process of the reference is told."""
        for kernel in self._kernels.values():
            if kernel.computed:
                yield "open", kernel, ()

    def _bound(self, pool: MakePool) -> BoundContract:
        return bind(self._kernels[pool.kernel].contract, pool.symbols, pool.label)

    def _start(self, module: str, name: str) -> Child:
        """A process of the oracle. Files of inits are read by the judge alone."""
        device = self._device
        name = name if device is None else f"{name}.{device.uuid}"
        private = self._scratch / f"{name}.private"
        if device is not None:
            private.mkdir(parents=True, exist_ok=True)
        settings = OracleSettings(
            readable=self._readable if module == JUDGE else (),
            gpu="" if device is None else device.name,
            registry="" if device is None else str(gpu_registry()),
            private="" if device is None else str(private),
            kept_bytes=HOST_KEPT_BYTES
            if device is None
            else device.memory_bytes // DEVICE_KEPT_SHARE,
        )
        extra = environment_of(settings, None if device is None else device.uuid)
        return start_python(
            f"kernelwright.runners.{module}",
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
