"""Trials of a candidate on further inputs, and what the baseline does where it fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..runners.errors import ProcessLost, ReferenceFailed, SpecError
from ..runners.gates import Run
from ..runners.gates.incumbent import Trial, fault_of, trial_failure
from ..runners.gates.runs import fails
from ..runners.model import Variant
from ..runners.oracle.values.stress import KINDS
from ..runners.oracle.values.structured import STRUCTURED
from ..runners.plans.plan import Artifact
from ..runners.progress import report
from ..runners.protocol.messages import Placement
from ..runners.protocol.pools import SeedPool
from ..runners.specs.contract import BoundContract
from ..runners.specs.io_contract import StressKind
from ..runners.toolchains import BuildOutcome, Shape
from .rig.fresh_runner import FreshRunner
from .rig.open_kernel import OpenKernel
from .rig.rig import Rig

OTHER_SHAPES = "+shapes"
"""behind the id of a variant: its build for the further shapes"""


@dataclass(frozen=True)
class BuiltVariant:
    """A variant with what was built of it."""

    variant: Variant
    artifact: Artifact


@dataclass
class Trials:
    """One candidate in a fresh process; the baseline is loaded beside it when it is first wanted.

    `other` means the build for the further shapes.
    """

    rig: Rig
    kernel: OpenKernel
    fresh: FreshRunner
    warm: FreshRunner
    """the process in which candidate and baseline were timed"""
    candidate: BuiltVariant
    baseline: Variant
    runs: list[Run] = field(default_factory=list[Run])
    """of the candidate"""

    def trial(
        self,
        what: str,
        pool: SeedPool,
        slots: Sequence[int],
        other: bool = False,
        placement: Placement = "pages",
    ) -> Trial:
        """The candidate's runs on some slots, and the baseline's if it fails or is the truth."""
        report(f"gates of the incumbent: {what}")
        if self.kernel.loaded.reference is None:
            name = self.of_baseline(other)
            adopted = self.fresh.check(
                name, pool, sorted(set(slots)), placement=placement, adopt=True
            )
            if any(run.result.fault for run in adopted):
                self.known[what] = "the baseline, whose outputs are the truth, does not run on it"
                return Trial(what, tuple(adopted), tuple(adopted))
        runs = tuple(self.fresh.check(self.name(other), pool, slots, placement=placement))
        self.runs += runs
        trial = Trial(what, runs)
        if fault_of(trial)[0] is None:
            return trial
        self.fresh.rest()  # whatever the candidate left behind must not make the baseline fail
        theirs = self.fresh.check(self.of_baseline(other), pool, slots, placement=placement)
        return Trial(what, runs, tuple(theirs))

    def guarded(
        self, what: str, pool: SeedPool, *, other: bool, placement: Placement = "pages"
    ) -> list[Trial]:
        """A trial on every slot of a pool; none where the reference itself fails on its inputs."""
        try:
            with self.fresh.attached(pool):
                return [self.trial(what, pool, range(pool.slots), other, placement)]
        except (ReferenceFailed, SpecError) as error:
            self.known[what] = f"the reference fails on it: {error.message}"
            return []

    def slot_by_slot(self, whats: Sequence[str], pool: SeedPool, *, other: bool) -> list[Trial]:
        """A trial on each slot of a pool, named by `whats` ("": not asked for itself), of values
        that nobody promised to be legal: the baseline meets each of them first, and what it does
        not hold on is asked of nobody."""
        with self.fresh.attached(pool):
            known = [slot for slot in range(pool.slots) if self._is_known(whats[slot], pool, slot)]
            legal = self._held_by_baseline(whats, pool, known, other)
            if not legal:
                return []
            report(f"gates of the incumbent: {pool.contract.label} with other values")
            runs = self.fresh.check(self.name(other), pool, legal)
            self.runs += runs
            trials = [self._of_slot(whats[slot], runs, slot) for slot in legal]
            came_so_far = [trial for trial in trials if trial.runs]
            return [self._beside_baseline(trial, pool, other) for trial in came_so_far]

    def while_timed(
        self,
        whats: Sequence[str],
        pool: SeedPool,
        calls: int,
        hidden: Sequence[Sequence[int]],
    ) -> list[Trial]:
        """A trial for each name of `whats` (of the values on each slot of a pool), of calls that
        come as in a comparison, where variants are timed; none where it is not known what is
        expected on one of them. `hidden`: see `FreshRunner.block`."""
        with self.warm.attached(pool):
            if not all([self._is_known(whats[slot], pool, slot) for slot in range(pool.slots)]):
                return []
            if self.kernel.loaded.reference is None and not self._adopted(whats, pool):
                return []
            report(f"gates of the incumbent: {pool.contract.label} with other values, as timed")
            runs = self.warm.block(self.name(False), pool, calls, hidden)
            return [self._as_timed(what, whats, runs, pool) for what in dict.fromkeys(whats)]

    def _adopted(self, whats: Sequence[str], pool: SeedPool) -> bool:
        """Whether the baseline, whose outputs are the truth, comes back from every slot."""
        slots = range(pool.slots)
        runs = self.warm.check(self.baseline.variant_id, pool, slots, adopt=True)
        fault = next((run for run in runs if run.result.fault), None)
        if fault is not None:
            what = whats[fault.result.slot]
            self.known[what] = "the baseline, whose outputs are the truth, does not run on it"
        return fault is None

    def _as_timed(
        self, what: str, whats: Sequence[str], runs: Sequence[Run], pool: SeedPool
    ) -> Trial:
        """The runs on the slots of that name, and the baseline's where one fails. Of a fault it is
        not known on which slot it was: the baseline has to meet them all."""
        trial = Trial(what, tuple(run for run in runs if whats[run.result.slot] == what))
        if fault_of(trial)[0] is None:
            return trial
        failing = sorted({run.result.slot for run in trial.runs if fails(run)})
        slots = range(pool.slots) if any(run.result.fault for run in trial.runs) else failing
        self.warm.rest()
        theirs = self.warm.check(self.baseline.variant_id, pool, slots)
        return Trial(what, trial.runs, tuple(theirs))

    def _is_known(self, what: str, pool: SeedPool, slot: int) -> bool:
        """Whether the reference says what is expected on a slot."""
        if what in self.known:
            return False
        try:
            self.fresh.foresee(pool, slot)
        except (ReferenceFailed, SpecError) as error:
            self.known[what] = f"the reference fails on it: {error.message}"
            return False
        return True

    def _held_by_baseline(
        self, whats: Sequence[str], pool: SeedPool, slots: Sequence[int], other: bool
    ) -> list[int]:
        """The slots on which the baseline holds; it is run where that is not known yet, or where
        its outputs are the truth, anew after each that it does not come back from."""
        adopt, held = self.kernel.loaded.reference is None, self.kernel.calibration.held
        left = [slot for slot in slots if adopt or whats[slot] not in held]
        while left:
            runs = self.fresh.check(self.of_baseline(other), pool, left, adopt=adopt)
            for slot in list(left):
                trial = self._of_slot(whats[slot], runs, slot)
                if not trial.runs:
                    break
                left.remove(slot)
                if why := _not_legal(trial):
                    self.known[trial.what] = why
                else:
                    held.add(trial.what)
            else:
                self.fresh.rest()
        return [slot for slot in slots if whats[slot] not in self.known]

    def _of_slot(self, what: str, runs: Sequence[Run], slot: int) -> Trial:
        return Trial(what, tuple(run for run in runs if run.result.slot == slot))

    def _beside_baseline(self, trial: Trial, pool: SeedPool, other: bool) -> Trial:
        """A trial with the baseline's runs on its slot, where the candidate fails it."""
        if fault_of(trial)[0] is None:
            return trial
        self.fresh.rest()
        slots = [trial.runs[0].result.slot]
        return Trial(
            trial.what, trial.runs, tuple(self.fresh.check(self.of_baseline(other), pool, slots))
        )

    def fails(self, trial: Trial, slack: float = 1.0) -> bool:
        """Whether a trial ends the promotion; what the baseline fails is remembered."""
        failed, excuse = fault_of(trial, slack)
        if failed is not None and excuse.startswith("the baseline"):
            self.known[trial.what] = excuse
        return failed is not None and not excuse

    def built_for_shapes(self) -> BuildOutcome:
        """The candidate built for the further shapes; those that the baseline does not build for
        are asked of nobody from now on. Without an artifact where no shape is asked for."""
        if not self.shapes():
            return BuildOutcome(message="no further shape is asked for")
        outcome = self._build(self.candidate.variant, self.shapes())
        if outcome.artifact is not None or self._build(self.baseline, self.shapes()).artifact:
            return outcome
        for shape in self.shapes():
            alone = self._build(self.baseline, [shape])
            if alone.artifact is None:
                self.known[shape_name(shape)] = f"the baseline does not build: {alone.message}"
        return self._build(self.candidate.variant, self.shapes()) if self.shapes() else outcome

    def _build(self, variant: Variant, shapes: Sequence[BoundContract]) -> BuildOutcome:
        wanted = [Shape(label=s.label, symbols=dict(s.symbols)) for s in shapes]
        return self.rig.build(self.kernel, variant, shapes=wanted)

    def shapes(self) -> list[BoundContract]:
        """The further shapes that are asked for."""
        kernel = self.kernel
        every = kernel.calibration.gate_shapes(kernel.loaded.spec, kernel.odd_symbols)
        return [shape for shape in every if shape_name(shape) not in self.known]

    @property
    def known(self) -> dict[str, str]:
        """Trials that are asked of nobody, and why."""
        return self.kernel.calibration.not_asked

    def not_asked(self, begins: str) -> dict[str, str]:
        """Those of them whose name begins like that."""
        return {what: why for what, why in self.known.items() if what.startswith(begins)}

    def name(self, other: bool) -> str:
        """Of the candidate in the runner."""
        return self.candidate.variant.variant_id + OTHER_SHAPES * other

    def of_baseline(self, other: bool) -> str:
        """The baseline, built and loaded when it is first wanted."""
        name = self.baseline.variant_id + OTHER_SHAPES * other
        if name not in self.fresh.loaded:
            outcome = self._build(self.baseline, self.shapes() if other else [])
            if outcome.artifact is None:
                raise ProcessLost(f"the baseline does not build any more: {outcome.message}")
            self.fresh.load(name, outcome.artifact)
        return name


def _not_legal(baseline: Trial) -> str:
    """Why values are none to ask of a candidate, by the baseline's runs; empty: they are."""
    failed = trial_failure(baseline.runs)
    if failed is not None:
        return f"the baseline does not hold on it: {failed.message}"
    if not all(verdict.finite for run in baseline.runs for verdict in run.verdicts):
        return "the truth is not finite there"
    return ""


def values_name(kind: StressKind, shape: BoundContract) -> str:
    """Values of a kind on a shape, for people."""
    return f"values `{kind}` on `{shape.label}` ({STRUCTURED[kind]})"


def stress_name(kind: StressKind) -> str:
    """A kind of unkind values, for people."""
    return f"stress `{kind}` ({KINDS[kind]})"


def shape_name(shape: BoundContract) -> str:
    """A shape for people, with its sizes."""
    sizes = ", ".join(f"{name}={size}" for name, size in shape.symbols.items())
    return f"shape `{shape.label}` ({sizes})"
