"""Trials of a candidate on further inputs, and what the baseline does where it fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..runners.errors import ProcessLost, ReferenceFailed, SpecError
from ..runners.gates import Run
from ..runners.gates.incumbent import Trial, fault_of
from ..runners.model import Variant
from ..runners.plans.plan import Artifact
from ..runners.progress import report
from ..runners.protocol.pools import SeedPool
from ..runners.specs.contract import BoundContract
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
        barely: bool = False,
    ) -> Trial:
        """The candidate's runs on some slots, and the baseline's if it fails or is the truth."""
        report(f"gates of the incumbent: {what}")
        if self.kernel.loaded.reference is None:
            name = self.of_baseline(other)
            adopted = self.fresh.check(name, pool, sorted(set(slots)), barely=barely, adopt=True)
            if any(run.result.fault for run in adopted):
                self.known[what] = "the baseline, whose outputs are the truth, does not run on it"
                return Trial(what, tuple(adopted), tuple(adopted))
        runs = tuple(self.fresh.check(self.name(other), pool, slots, barely=barely))
        self.runs += runs
        trial = Trial(what, runs)
        if fault_of(trial)[0] is None:
            return trial
        self.fresh.rest()  # whatever the candidate left behind must not make the baseline fail
        theirs = self.fresh.check(self.of_baseline(other), pool, slots, barely=barely)
        return Trial(what, runs, tuple(theirs))

    def guarded(
        self, what: str, pool: SeedPool, *, other: bool, barely: bool = False
    ) -> list[Trial]:
        """A trial on every slot of a pool; none where the reference itself fails on its inputs."""
        try:
            with self.fresh.attached(pool):
                return [self.trial(what, pool, range(pool.slots), other, barely)]
        except (ReferenceFailed, SpecError) as error:
            self.known[what] = f"the reference fails on it: {error.message}"
            return []

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


def shape_name(shape: BoundContract) -> str:
    """A shape for people, with its sizes."""
    sizes = ", ".join(f"{name}={size}" for name, size in shape.symbols.items())
    return f"shape `{shape.label}` ({sizes})"
