"""Composes rig and store: what is known is not paid for again, what is found is on disk.

For any number of threads: builds run side by side, work on a device one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import psutil

from ..runners.device.presence.probing import PROBE
from ..runners.forking.keeper import FORK_SERVER
from ..runners.loading.files import LoadedKernel
from ..runners.model import Evaluation, GateResult, Tier, Variant
from ..runners.plans.plan import Artifact
from ..runners.processes.child import kill_living
from ..runners.profiling.model import Profile
from ..runners.specs.devices import DeviceFacts
from ..runners.toolchains import BuildOutcome
from ..store.evaluations import confirmation_of
from ..store.kernels import known_kernel
from ..store.records import Confirmation, KernelRecord, VariantRecord
from ..store.store import Store
from ..store.variants import keep_listings, remember
from .kernels import Kernels
from .one_evaluation import EvaluationProcedure, Prepared
from .recording import keep_build
from .rig.gated_comparison import GatedComparison
from .rig.gpus import Gpus
from .rig.rig import Rig
from .runners_up import runners_up
from .scheduling.build_ahead import BuildAhead, builders
from .scheduling.device_queues import IDLE_S, DeviceQueues, KeyedLocks
from .scheduling.pipeline import Left, Stages, run_through
from .spec_agrees import check_memory
from .winner_set import confirm

MOST_SUCCESSORS = 3
"""Each is measured anew, and goes through the incumbent set where it is still faster."""


class Evaluator:
    """Builds, proves and times variants of kernels, and records it all.

    Every method that runs something raises ToolchainMissing, DeviceMissing or ReferenceFailed;
    where a process of ours is lost, evaluations end as `lost` and the others raise ProcessLost.
    """

    def __init__(
        self,
        store: Store,
        modules: Path,
        scratch: Path,
        gpus: Gpus,
        idle_s: Mapping[Tier, float] = IDLE_S,
        read_reference: Callable[[LoadedKernel], str | None] | None = None,
    ) -> None:
        """`read_reference`: reads from a baseline that is the truth what it computes, as the source
        of a reference, where it can."""
        self._store, self._read_reference = store, read_reference
        self._rig = Rig(modules, scratch, gpus)
        self._ahead = BuildAhead(self._build, builders())
        self._kernels = Kernels(store, self._rig, self._ahead)
        self._queues = DeviceQueues(self._rig.pause, idle_s)
        self._locks = KeyedLocks()
        self._procedure = EvaluationProcedure(
            store, self._rig, self._kernels, self._queues, self._locks
        )

    def open(self, loaded: LoadedKernel) -> KernelRecord:
        """Open a kernel: build, check and time its baseline. A known kernel is attached only.

        Where its GPU is missing the baseline is built and not timed; that is made up for once
        it is opened where one is. Raises BaselineRefused when it does not build or is wrong.
        """
        check_memory(loaded.spec, psutil.virtual_memory().total)
        with self._queues.turn(self._rig.gpus.device(loaded)):
            known = known_kernel(self._store, loaded.kernel_id)
            if known is None or not (known.timed or self._rig.gpus.missing()):
                return self._kernels.open(self._with_lift(loaded))
            return known

    def _with_lift(self, loaded: LoadedKernel) -> LoadedKernel:
        if loaded.reference is not None or self._read_reference is None:
            return loaded
        return loaded.model_copy(update={"lifted_reference": self._read_reference(loaded)})

    def kernel(self, kernel_id: str) -> KernelRecord:
        """The record of a kernel. Raises HandleUnknown."""
        return self._kernels.record(kernel_id)

    def timed_kernel(self, kernel_id: str) -> KernelRecord:
        """The record of a kernel whose baseline was timed, now if need be.

        Raises HandleUnknown, and DeviceMissing when its GPU is not here.
        """
        return self._procedure.timed_kernel(kernel_id)

    def variant(self, variant_id: str) -> VariantRecord:
        """The record of a variant. Raises HandleUnknown."""
        return self._kernels.variant(variant_id)

    def evaluation(self, variant_id: str) -> Evaluation | None:
        """The newest evaluation of a variant."""
        return self._procedure.newest(variant_id)

    def build(self, record: VariantRecord) -> BuildOutcome:
        """Build a variant and remember it; an earlier build that is still on disk is taken."""
        outcome = self._build(record.variant)
        with self._store.transaction() as writer:
            remember(writer, record)
            keep_build(writer, record.variant.variant_id, outcome)
        return outcome

    def build_ahead(self, variants: Sequence[Variant]) -> None:
        """Build what will probably be evaluated next, in place of earlier guesses.

        Nothing is built ahead for the host: its timing would have to wait for guesses.
        """
        self._ahead.wish([v for v in variants if self._kernels.target(v.kernel_id)])

    def list_code(self, variant_id: str) -> None:
        """Keep SASS of a variant that was built, beside its machine code. Raises ProcessLost."""
        built = self._kernels.built(self.variant(variant_id).variant)
        artifact = None if built is None else built.artifact
        if artifact is not None and all(m.kind != "sass" for m in artifact.modules):
            listings = self._rig.list_code(artifact)
            with self._store.transaction() as writer:
                keep_listings(writer, variant_id, listings)

    def logic(self, record: VariantRecord) -> GateResult | None:
        """Where no GPU is: a Triton variant's logic, under the interpreter; None: nothing to say.

        Raises ProcessLost.
        """
        with self._locks.at("logic"):
            kernel = self._kernels.to_build(record.variant.kernel_id)
            return self._rig.logic(kernel, record.variant)

    def machine_screen(self, kernel_id: str, artifact: Artifact) -> GateResult:
        """What the machine code of something built does, for which no device is needed."""
        return self._rig.machine_screen(self._kernels.to_build(kernel_id), artifact)

    def evaluate(
        self,
        record: VariantRecord,
        min_gain: float | None = 0.01,
        lane: DeviceFacts | None = None,
        limit_s: float | None = None,
    ) -> Evaluation:
        """The variant's evaluation, made now unless a final one is known; on disk on return.

        `min_gain`: over the incumbent, from which on the variant takes its place, once it has
        passed the incumbent set; None: it does not. `lane`: the GPU to run it on, of `lanes`;
        None: the kernel's own device. `limit_s`: what a sweep allows its build; None: as long as
        any build.
        """
        known = self._procedure.final(record.variant.variant_id, limit_s)
        if known is not None:
            return known
        return self._procedure.measure(self._procedure.prepare(record, limit_s), min_gain, lane)

    def reconsider(
        self, record: VariantRecord, min_gain: float, lane: DeviceFacts | None = None
    ) -> Evaluation:
        """The variant measured once more, so that it takes the incumbent's place if it earns it;
        for one that was evaluated without a `min_gain`. On disk on return."""
        prepared = self._procedure.prepare(record)
        return self._procedure.measure(prepared, min_gain, lane, again=True)

    def succeed(self, kernel_id: str, min_gain: float) -> bool:
        """Where every incumbent was refused: whether a runner-up takes the place, of the surest
        MOST_SUCCESSORS."""
        for variant_id in runners_up(self._store, kernel_id)[:MOST_SUCCESSORS]:
            if self.reconsider(self.variant(variant_id), min_gain).became_incumbent:
                return True
        return False

    def evaluate_all(
        self,
        records: Iterable[VariantRecord],
        min_gain: float | None = 0.01,
        limit_s: float | None = None,
    ) -> Generator[Evaluation]:
        """Evaluations of one kernel's variants in the order in which they are done, each on disk
        when it comes: builds on all cores, gates and timing on every device that serves the kernel.

        `records` is read as there is room. Ending the generator early leaves the rest undone.
        `limit_s`: of each build, as for `evaluate`.
        """

        def prepare(record: VariantRecord) -> Prepared | Evaluation:
            known = self._procedure.final(record.variant.variant_id, limit_s)
            return known or self._procedure.prepare(record, limit_s)

        def measure(
            made: Prepared | Evaluation, lane: DeviceFacts | None, left: Left
        ) -> Evaluation:
            if isinstance(made, Evaluation):
                return made
            return self._procedure.measure(made, min_gain, lane, left)

        waiting = iter(records)
        first = next(waiting, None)
        if first is not None:
            lanes = self.lanes(first.variant.kernel_id)
            stages = Stages(prepare, measure, lanes, builders())
            yield from run_through(chain([first], waiting), stages)

    def lanes(self, kernel_id: str) -> tuple[DeviceFacts | None, ...]:
        """Where variants of a kernel are evaluated side by side, its own device first; None: the
        host. Raises HandleUnknown."""
        return self._kernels.lanes(kernel_id)

    def compare(self, variant_id: str, others: Sequence[str]) -> GatedComparison:
        """Time a variant against named ones on the visible workloads. All must build."""
        kernel_id = self.variant(variant_id).variant.kernel_id
        with self._procedure.own_turn(kernel_id) as kernel:
            for each in (variant_id, *others):
                self._kernels.load(kernel, self.variant(each).variant)
            return self._rig.compare(kernel, kernel.pools, variant_id, others)

    def confirm(self, variant_id: str) -> Confirmation:
        """Put a winner through its gates; see `confirm.confirm`. The result is kept.

        An incumbent that is not accepted gives way to the next best that was not refused.
        """
        kernel_id = self.variant(variant_id).variant.kernel_id
        with self._procedure.own_turn(kernel_id) as kernel:
            baseline = self.kernel(kernel_id).baseline
            for each in (variant_id, baseline):
                self._kernels.load(kernel, self.variant(each).variant)
            known = self.evaluation(variant_id)
            first = None if known is None else known.speedup
            found = confirm(self._rig, kernel, variant_id, baseline, first)
            self._procedure.keep_confirmation(kernel_id, found)
            return found

    def confirmation(self, variant_id: str) -> Confirmation | None:
        """What `confirm` last found for a variant."""
        return confirmation_of(self._store, variant_id)

    def copy_bandwidth(self, kernel_id: str) -> float:
        """Bytes a second of a large copy on the kernel's GPU, measured now. Raises ProcessLost."""
        with self._procedure.own_turn(kernel_id) as kernel:
            return self._rig.copy_bandwidth(kernel)

    def profile(self, variant_id: str, workload: str, kept: Path, *, full: bool) -> Profile:
        """What ncu counts in one run of a GPU variant on a visible workload, in a process of its
        own; `kept` is where its report stays. The variant must build.

        Raises ProfileFailed, and ToolchainMissing without ncu or what reads its reports.
        """
        with self._procedure.own_turn(self.variant(variant_id).variant.kernel_id) as kernel:
            self._kernels.load(kernel, self.variant(variant_id).variant)
            pool = next(p for p in kernel.pools if p.contract.label == workload)
            return self._rig.profile(kernel, variant_id, pool, kept, full=full)

    def interrupt(self) -> None:
        """End every process at work now, whoever waits for it: that one meets ProcessLost, and
        what is asked for next starts afresh. For another thread than the one that works."""
        self._ahead.close()
        kill_living(spared={PROBE, FORK_SERVER})

    def close(self) -> None:
        """End every process that was started here; what is asked for next starts afresh."""
        self._ahead.close()
        self._queues.close()
        self._kernels.clear()
        self._rig.close()

    def _build(self, variant: Variant) -> BuildOutcome:
        kernel = self._kernels.to_build(variant.kernel_id)
        return self._rig.build(kernel, variant, self._kernels.built(variant))
