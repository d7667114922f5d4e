"""One evaluation from variant to record: built anywhere, measured on one device, on disk."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from ..runners.errors import ProcessLost, SideFailed
from ..runners.model import BuildFacts, Ending, Evaluation
from ..runners.progress import stop_if_cancelled
from ..runners.specs.devices import DeviceFacts
from ..store.evaluations import evaluation_id, evaluation_of, next_number, put_confirmation, twin_of
from ..store.kernels import set_incumbent
from ..store.records import Confirmation, KernelRecord, VariantRecord
from ..store.store import Store
from .attempt import Attempt, Surroundings
from .failing_side import refusal
from .kernels import Kernels
from .recording import write_evaluation
from .rig.open_kernel import OpenKernel, device_name
from .rig.rig import Rig
from .runners_up import next_best
from .scheduling.device_queues import DeviceQueues, KeyedLocks
from .scheduling.pipeline import Left

SET_ASIDE = 1 / 32
"""of a GPU's memory, which a variant may leave set aside for its local arrays: on an H200 a kernel
with 500 KB a thread left 128 GB to nobody until its process had ended"""


@dataclass(frozen=True)
class Prepared:
    """A variant that was screened and built, or the evaluation with which that ended."""

    record: VariantRecord
    attempt: Attempt
    ended: Evaluation | None
    since: float
    """of `time.monotonic`"""

    @property
    def variant_id(self) -> str:
        """Its handle."""
        return self.record.variant.variant_id

    @property
    def code(self) -> str:
        """What equal machine code of one kernel has in common; the variant alone without any."""
        artifact = self.attempt.artifact
        if artifact is None:
            return self.variant_id
        return f"{self.record.variant.kernel_id}/{artifact.code_hash}"


class EvaluationProcedure:
    """Locks are taken in this order: variant, code, device, incumbent; the store's own last."""

    def __init__(
        self, store: Store, rig: Rig, kernels: Kernels, queues: DeviceQueues, locks: KeyedLocks
    ) -> None:
        self._store, self._rig, self._kernels = store, rig, kernels
        self._queues, self._locks = queues, locks

    def newest(self, variant_id: str) -> Evaluation | None:
        """The newest evaluation of a variant."""
        return evaluation_of(self._store, variant_id)

    def final(self, variant_id: str, limit_s: float | None = None) -> Evaluation | None:
        """The newest evaluation, if it is one that is not made again: what a sweep had no time to
        build is left alone by other sweeps only, which have a `limit_s`, too."""
        found = self.newest(variant_id)
        if found is None or (found.build_limit_s is not None and limit_s is None):
            return None
        return found if found.ending.final else None

    def timed_kernel(self, kernel_id: str) -> KernelRecord:
        """See `Evaluator.timed_kernel`."""
        if not self._kernels.record(kernel_id).timed:
            with self.own_turn(kernel_id):
                pass  # whoever has the kernel ready has its baseline timed
        return self._kernels.record(kernel_id)

    @contextmanager
    def own_turn(self, kernel_id: str) -> Generator[OpenKernel]:
        """A turn at the kernel's own device, with the kernel ready there."""
        with self._queues.turn(device_name(self._kernels.target(kernel_id))):
            yield self._kernels.ready(kernel_id)

    def prepare(self, record: VariantRecord, limit_s: float | None = None) -> Prepared:
        """Screen and build, within `limit_s` where that is less than any build has; for any thread.
        Raises ToolchainMissing and DeviceMissing."""
        kernel = self._kernels.to_build(record.variant.kernel_id)
        self._rig.require_device(kernel)
        number = next_number(self._store, record.variant.variant_id)
        attempt = Attempt(self._rig, kernel, record.variant, number, limit_s)
        try:
            ended = attempt.screen_and_build(self._kernels.built(record.variant))
        except ProcessLost as error:
            ended = attempt.ended(Ending.lost, str(error))
        return Prepared(record, attempt, ended, time.monotonic())

    def measure(
        self,
        prepared: Prepared,
        min_gain: float | None,
        lane: DeviceFacts | None = None,
        left: Left = lambda: None,
        *,
        again: bool = False,
    ) -> Evaluation:
        """The evaluation of what was prepared, on disk on return; a known final one is taken, and
        that of equal machine code (an `unstable` one too, see `shares_noise`), unless it is to be
        measured `again`.

        `left` is called once a GPU is needed no more. A host is needed to the end: whatever is
        done beside it would disturb the next timing.

        Of equal machine code that comes at the same time, one is measured and the others share it.
        """
        with self._locks.at(prepared.variant_id), self._locks.at(prepared.code):
            limit_s = prepared.attempt.limit_s
            known = None if again else self.final(prepared.variant_id, limit_s)
            if known is not None:
                return known
            if prepared.ended is not None:
                return self._written(prepared, prepared.ended)
            twin = None if again else self._twin(prepared)
            if twin is not None:
                return self._written(prepared, prepared.attempt.shared(twin))
            return self._on_a_device(prepared, min_gain, lane, left)

    def keep_confirmation(self, kernel_id: str, found: Confirmation) -> None:
        """Write it down; an incumbent that was refused gives way to the next best."""
        variant_id = found.variant_id
        with self._incumbent(kernel_id), self._store.transaction() as writer:
            put_confirmation(writer, found)
            record = self._kernels.record(kernel_id)
            if not found.accepted and record.incumbent == variant_id:
                best = next_best(self._store, kernel_id, record.baseline)
                set_incumbent(writer, kernel_id, best)

    def _on_a_device(
        self, prepared: Prepared, min_gain: float | None, lane: DeviceFacts | None, left: Left
    ) -> Evaluation:
        attempt, kernel_id = prepared.attempt, prepared.record.variant.kernel_id
        self.timed_kernel(kernel_id)
        device = attempt.kernel.device if lane is None else str(lane.uuid)
        with self._queues.turn(device):
            attempt.seconds["wait"] = time.monotonic() - prepared.since
            try:
                attempt.kernel = self._kernels.ready(kernel_id, lane)
                evaluation = self._judged_somehow(prepared, min_gain)
            except ProcessLost as error:
                evaluation = attempt.ended(Ending.lost, str(error))
            self._forget_loser(attempt.kernel)
            if _sets_much_aside(attempt.facts, attempt.kernel.target):
                self._rig.rest(attempt.kernel)
        if attempt.kernel.target is not None:
            left()
        if evaluation.became_incumbent:  # it was written before anybody else was measured
            return evaluation
        return self._written(prepared, evaluation)

    def _judged_somehow(self, prepared: Prepared, min_gain: float | None) -> Evaluation:
        """Judged against other sides once an incumbent turns out to fail by itself.

        On disk only if it became the incumbent: nothing else waits for the others, which need no
        device to be written.
        """
        attempt = prepared.attempt
        gates, runs = attempt.gates, list(attempt.runs)
        try:
            return self._judged(prepared, min_gain)
        except SideFailed as error:
            kernel, failed = attempt.kernel, error
        found = refusal(self._rig, kernel, failed.side)
        if found is None:
            raise failed
        if failed.side == self._kernels.record(kernel.kernel_id).baseline:
            raise ProcessLost(
                f"nothing can be compared with the baseline any more; {found.message}",
                next_step="correct the baseline's source and call open_kernel again",
            )
        self.keep_confirmation(kernel.kernel_id, found)
        attempt.gates, attempt.runs = gates, runs
        return self._judged(prepared, min_gain)

    def _judged(self, prepared: Prepared, min_gain: float | None) -> Evaluation:
        """Gates and comparison. Where another GPU brought a new incumbent meanwhile, what would
        become the incumbent has to beat that one, too."""
        attempt = prepared.attempt
        ended = attempt.check()
        if ended is not None:
            return ended
        kernel_id, gates = attempt.kernel.kernel_id, attempt.gates
        while True:
            record, attempt.gates = self._kernels.record(kernel_id), gates
            for each in (record.incumbent, record.baseline):
                self._kernels.load(attempt.kernel, self._kernels.variant(each).variant)
            baseline, known = self._kernels.variant(record.baseline), self.newest(record.baseline)
            around = Surroundings(
                record.baseline,
                record.incumbent,
                min_gain,
                baseline.variant,
                () if known is None else known.gates,
            )
            evaluation = attempt.compare(around)
            if not evaluation.became_incumbent:
                return evaluation
            with self._incumbent(kernel_id):
                if record.incumbent == self._kernels.record(kernel_id).incumbent:
                    return self._written(prepared, evaluation)

    def _written(self, prepared: Prepared, evaluation: Evaluation) -> Evaluation:
        """The evaluation as it is on disk. Raises Cancelled: a process that was ended to end the
        work says nothing of the variant."""
        stop_if_cancelled()
        number = next_number(self._store, prepared.variant_id)
        name = evaluation_id(prepared.variant_id, number)
        numbered = evaluation.model_copy(update={"evaluation_id": name})
        with self._store.transaction() as writer:
            write_evaluation(writer, prepared.record, prepared.attempt, numbered)
        return numbered

    def _twin(self, prepared: Prepared) -> Evaluation | None:
        """What another variant with the same machine code has that this one shares."""
        artifact, kernel_id = prepared.attempt.artifact, prepared.record.variant.kernel_id
        if artifact is None:
            return None
        twin = twin_of(self._store, kernel_id, artifact.code_hash, prepared.variant_id)
        if twin is None:
            return None
        own, theirs = self.newest(prepared.variant_id), self.newest(twin)
        return self.final(twin) or (theirs if shares_noise(own, theirs) else None)

    def _incumbent(self, kernel_id: str) -> AbstractContextManager[None]:
        """Whoever holds this decides who is incumbent."""
        return self._locks.at(f"incumbent/{kernel_id}")

    def _forget_loser(self, kernel: OpenKernel) -> None:
        """Keep only baseline and incumbent in the runner: each variant there holds processes."""
        record = self._kernels.record(kernel.kernel_id)
        for variant_id in kernel.in_runner - {record.baseline, record.incumbent}:
            self._rig.unload(kernel, variant_id)


def shares_noise(own: Evaluation | None, theirs: Evaluation | None) -> bool:
    """Whether a variant takes what noise kept from a verdict as its own, from another one of the
    same machine code: `own` and `theirs` are their newest evaluations.

    Its code is known, and another spelling of it is no reason to time it again. Whoever asks for
    the variant once more, though, asks for a verdict: as it has been measured, it is measured anew.
    """
    open_ = theirs is not None and theirs.ending.measured and not theirs.ending.final
    return open_ and (own is None or not own.ending.measured)


def _sets_much_aside(facts: BuildFacts | None, device: DeviceFacts | None) -> bool:
    """Whether memory that the driver set aside for a variant would be missing afterwards."""
    if facts is None or device is None:
        return False
    stack = max((kernel.stack_bytes or 0 for kernel in facts.kernels), default=0)
    return device.local_memory(stack) > SET_ASIDE * device.memory_bytes
