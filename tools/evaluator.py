"""Composes rig and store: what is known is not paid for again, what is found is on disk.

Evaluations are made one at a time; a second thread waits.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..runners.errors import BaselineRefused, ProcessLost
from ..runners.model import Ending, Evaluation, GateResult, Tier, Variant
from ..runners.spec_files import LoadedKernel
from ..runners.toolchains import BuildOutcome
from ..search.store import Store
from .attached import AttachedKernels
from .attempt import Attempt, Surroundings
from .confirm import confirm
from .gpus import Gpus
from .idle import IDLE_S, IdleWatch
from .keeping import keep_build, remember, write_evaluation
from .kernel_state import OpenKernel, open_state
from .opening import open_baseline, open_untimed
from .records import ArtifactRecord, Confirmation, KernelRecord, VariantRecord
from .rig import Compared, Rig


class Evaluator:
    """Builds, proves and times variants of kernels, and records it all.

    Every method that runs something raises ToolchainMissing, DeviceMissing or ReferenceFailed;
    where a process of ours is lost, `evaluate` ends as `lost` and the others raise ProcessLost.
    """

    def __init__(
        self,
        store: Store,
        modules: Path,
        scratch: Path,
        gpus: Gpus,
        idle_s: Mapping[Tier, float] = IDLE_S,
    ) -> None:
        self._store = store
        self._rig = Rig(modules, scratch, gpus)
        self._kernels = AttachedKernels(self._rig)
        self._lock = threading.RLock()
        self._idle = IdleWatch(self._rig, self._lock, idle_s)

    def open(self, loaded: LoadedKernel) -> KernelRecord:
        """Open a kernel: build, check and time its baseline. A known kernel is attached only.

        Where its GPU is missing the baseline is built and not timed; that is made up for once
        it is opened where one is. Raises BaselineRefused when it does not build or is wrong.
        """
        with self._turn():
            known = self._store.get_record("kernels", loaded.kernel_id, KernelRecord)
            if known is None or not (known.timed or self._rig.gpus.missing()):
                return self._open_new(loaded)
            return known

    def kernel(self, kernel_id: str) -> KernelRecord:
        """The record of a kernel. Raises HandleUnknown."""
        return self._store.require_record("kernels", kernel_id, KernelRecord)

    def timed_kernel(self, kernel_id: str) -> KernelRecord:
        """The record of a kernel whose baseline was timed, now if need be.

        Raises HandleUnknown, and DeviceMissing when its GPU is not here.
        """
        record = self.kernel(kernel_id)
        if not record.timed:
            with self._turn():
                self._open_kernel(kernel_id)
        return self.kernel(kernel_id)

    def variant(self, variant_id: str) -> VariantRecord:
        """The record of a variant. Raises HandleUnknown."""
        return self._store.require_record("variants", variant_id, VariantRecord)

    def evaluation(self, variant_id: str) -> Evaluation | None:
        """The newest evaluation of a variant."""
        found = self._store.items("evaluations", variant_id + "/")
        return Evaluation.model_validate(found[-1][1]) if found else None

    def build(self, record: VariantRecord) -> BuildOutcome:
        """Build a variant and remember it; an earlier build that is still on disk is taken."""
        with self._turn():
            kernel = self._kernel_to_build(record.variant.kernel_id)
            outcome = self._rig.build(kernel, record.variant, self._built(record.variant))
            with self._store.transaction() as writer:
                remember(writer, record)
                keep_build(writer, record.variant.variant_id, outcome)
            return outcome

    def logic(self, record: VariantRecord) -> GateResult | None:
        """Where no GPU is: a Triton variant's logic, under the interpreter; None: nothing to say.

        Raises ProcessLost.
        """
        with self._turn():
            kernel = self._kernel_to_build(record.variant.kernel_id)
            return self._rig.logic(kernel, record.variant)

    def evaluate(self, record: VariantRecord, min_gain: float = 0.01) -> Evaluation:
        """The variant's evaluation, made now unless a final one is known; on disk on return."""
        with self._turn():
            variant = record.variant
            number = len(self._store.items("evaluations", variant.variant_id + "/")) + 1
            known = self.evaluation(variant.variant_id)
            if known is not None and known.ending.final:
                return known
            kernel = self._open_kernel(variant.kernel_id)
            attempt = Attempt(self._rig, kernel, variant, number)
            try:
                evaluation = self._through(attempt, self._surroundings(variant, min_gain))
            except ProcessLost as error:
                evaluation = attempt.ended(Ending.lost, str(error))
            with self._store.transaction() as writer:
                write_evaluation(writer, record, attempt, evaluation)
            self._forget_loser(kernel, evaluation)
            return evaluation

    def compare(self, variant_id: str, others: Sequence[str]) -> Compared:
        """Time a variant against named ones on the visible workloads. All must build."""
        with self._turn():
            kernel = self._open_kernel(self.variant(variant_id).variant.kernel_id)
            for each in (variant_id, *others):
                self._load(kernel, self.variant(each).variant)
            return self._rig.compare(kernel, kernel.pools, variant_id, others)

    def confirm(self, variant_id: str) -> Confirmation:
        """Put a winner through its gates; see `confirm.confirm`. The result is kept.

        An incumbent that is not accepted gives way to the next best that was not refused.
        """
        with self._turn():
            kernel = self._open_kernel(self.variant(variant_id).variant.kernel_id)
            baseline = self.kernel(kernel.kernel_id).baseline
            for each in (variant_id, baseline):
                self._load(kernel, self.variant(each).variant)
            known = self.evaluation(variant_id)
            first = None if known is None else known.speedup
            found = confirm(self._rig, kernel, variant_id, baseline, first)
            with self._store.transaction() as writer:
                writer.put_record("meta", f"confirmation/{variant_id}", found)
                if not found.accepted and self.kernel(kernel.kernel_id).incumbent == variant_id:
                    best = {"incumbent": self._next_best(kernel.kernel_id)}
                    writer.update(
                        "kernels", kernel.kernel_id, lambda known: {**(known or {}), **best}
                    )
            return found

    def confirmation(self, variant_id: str) -> Confirmation | None:
        """What `confirm` last found for a variant."""
        return self._store.get_record("meta", f"confirmation/{variant_id}", Confirmation)

    def _next_best(self, kernel_id: str) -> str:
        """The fastest variant of a kernel that no confirmation refused, else the baseline."""
        baseline = self.kernel(kernel_id).baseline
        best = (1.0, baseline)
        for _, value in self._store.items("evaluations"):
            if value["kernel_id"] != kernel_id or value["ending"] != Ending.faster:
                continue
            found = self.confirmation(value["variant_id"])
            if found is None or found.accepted:
                best = max(best, (value["speedup"], value["variant_id"]))
        return best[1]

    def copy_bandwidth(self, kernel_id: str) -> float:
        """Bytes a second of a large copy on the kernel's GPU, measured now. Raises ProcessLost."""
        with self._turn():
            return self._rig.copy_bandwidth(self._open_kernel(kernel_id))

    def close(self) -> None:
        """End every process that was started here; what is asked for next starts afresh."""
        self._idle.close()
        self._kernels.clear()
        self._rig.close()

    @contextmanager
    def _turn(self) -> Generator[None]:
        """One thread's turn at the rig."""
        with self._lock:
            try:
                yield
            finally:
                self._idle.work_ended()

    def _open_new(self, loaded: LoadedKernel) -> KernelRecord:
        kernel = self._state(loaded, None)
        if kernel.runnable:
            with self._attaching(kernel):
                opened = open_baseline(self._rig, kernel)
        else:
            opened = open_untimed(self._rig, kernel)
        with self._store.transaction() as writer:
            writer.put_record("kernels", kernel.kernel_id, opened.record)
            record = VariantRecord(variant=opened.attempt.variant)
            write_evaluation(writer, record, opened.attempt, opened.evaluation)
        return opened.record

    def _state(self, loaded: LoadedKernel, odd_symbols: dict[str, int] | None) -> OpenKernel:
        return open_state(loaded, odd_symbols, self._rig.gpus.target(loaded))

    def _open_kernel(self, kernel_id: str) -> OpenKernel:
        """The kernel ready to run, attached from the store where this process has not opened it.

        Raises DeviceMissing when its GPU is not here.
        """
        known = self._kernels.get(kernel_id)
        if known is not None:
            return known
        record = self.kernel(kernel_id)
        kernel = self._state(record.loaded, record.odd_symbols)
        self._rig.require_device(kernel)
        if not record.timed:  # it was opened where no GPU is
            self._open_new(record.loaded)
            return self._open_kernel(kernel_id)
        kernel.allow(max(record.baseline_ms.values()) * 1e-3)
        with self._attaching(kernel):
            self._rig.attach(kernel)
            if record.loaded.reference is None:
                self._load(kernel, self.variant(record.baseline).variant)
                self._rig.adopt(kernel, record.baseline, kernel.all_pools)
        return kernel

    @contextmanager
    def _attaching(self, kernel: OpenKernel) -> Generator[None]:
        """Attached for good if all goes well within; else nothing of it stays."""
        try:
            yield
        except BaseException:
            self._rig.detach(kernel)
            raise
        self._kernels.add(kernel)

    def _kernel_to_build(self, kernel_id: str) -> OpenKernel:
        """Building needs no device."""
        known = self._kernels.get(kernel_id)
        if known is not None:
            return known
        record = self.kernel(kernel_id)
        return self._state(record.loaded, record.odd_symbols)

    def _through(self, attempt: Attempt, around: Surroundings) -> Evaluation:
        ended = attempt.screen_and_build(around.built)
        if ended is not None:
            return ended
        assert attempt.artifact is not None
        twin = around.same_code(attempt.artifact.code_hash)
        if twin is not None:
            return attempt.shared(twin)
        ended = attempt.check()
        if ended is not None:
            return ended
        for each in (around.incumbent, around.baseline):
            self._load(attempt.kernel, self.variant(each).variant)
        return attempt.compare(around)

    def _surroundings(self, variant: Variant, min_gain: float) -> Surroundings:
        record = self.kernel(variant.kernel_id)

        def same_code(code_hash: str) -> Evaluation | None:
            known = self._store.get("meta", f"code/{variant.kernel_id}/{code_hash}")
            if known is None or known["variant_id"] == variant.variant_id:
                return None
            found = self.evaluation(str(known["variant_id"]))
            return found if found is not None and found.ending.final else None

        return Surroundings(
            baseline=record.baseline,
            incumbent=record.incumbent,
            min_gain=min_gain,
            built=self._built(variant),
            same_code=same_code,
        )

    def _built(self, variant: Variant) -> BuildOutcome | None:
        known = self._store.get_record("artifacts", variant.variant_id, ArtifactRecord)
        return None if known is None else BuildOutcome(artifact=known.artifact, facts=known.facts)

    def _load(self, kernel: OpenKernel, variant: Variant) -> None:
        outcome = self._rig.build(kernel, variant, self._built(variant))
        if outcome.artifact is None:
            raise BaselineRefused(
                f"{variant.variant_id} does not build any more: {outcome.message}",
                next_step="was the compiler changed? Open the kernel in a new --outdir",
            )
        self._rig.load(kernel, outcome.artifact)

    def _forget_loser(self, kernel: OpenKernel, evaluation: Evaluation) -> None:
        """Keep only baseline and incumbent in the runner: each variant there holds processes."""
        record = self.kernel(kernel.kernel_id)
        for variant_id in kernel.in_runner - {record.baseline, record.incumbent}:
            self._rig.unload(kernel, variant_id)
