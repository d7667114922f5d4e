"""The stages of one evaluation, each of which may end it: screen, build, gates, comparison."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar, cast

from ..runners.comparing.timing import WorkloadBlocks, slowest_workload
from ..runners.gates import FIRST_SET, Run, ending_of, first_failure, printed_by, together
from ..runners.gates.incumbent import is_deterministic
from ..runners.gates.physics import is_plausibly_fast, obeys_physics
from ..runners.model import BuildFacts, Comparison, Ending, Evaluation, GateResult, Ratio, Variant
from ..runners.plans.plan import Artifact
from ..runners.progress import report
from ..runners.screens.source import static_screen, wants_probes
from ..runners.toolchains import BuildOutcome
from ..store.records import now
from .incumbent_set import Promoted, promote
from .rig.open_kernel import OpenKernel
from .rig.rig import Rig
from .trials import BuiltVariant

SLOWEST_WORKLOAD = 1 / 1.05
"""A variant over 5 % slower than the incumbent on a visible workload is not kept."""

SAID = {
    "build": "building",
    "check": "checking",
    "compare": "timing",
    "promote": "gates of the incumbent",
}
"""stages as whoever waits is told of them"""

_screened = lru_cache(maxsize=32)(static_screen)
"""Configurations of one source differ in their parameters alone, which the screen never sees."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Surroundings:
    """What an attempt is told about what was there before it."""

    baseline: str
    incumbent: str
    min_gain: float | None
    """over the incumbent, from which on it is replaced; None: it is not"""
    baseline_variant: Variant | None = None
    """None: the kernel's own source is the baseline"""
    baseline_gates: tuple[GateResult, ...] = ()
    """what the screens found in the baseline"""


@dataclass
class Attempt:
    """One run through the stages; gathers facts, gates and times on its way."""

    rig: Rig
    kernel: OpenKernel
    variant: Variant
    number: int
    """of this attempt at the variant, from 1"""
    limit_s: float | None = None
    """what its build may take within a sweep; None: as long as any build"""
    facts: BuildFacts | None = None
    artifact: Artifact | None = None
    found: BuildOutcome = field(default_factory=BuildOutcome)
    gates: tuple[GateResult, ...] = ()
    runs: list[Run] = field(default_factory=list[Run])
    """all that it ran, checked and timed"""
    promoted: Promoted | None = None
    """what the incumbent set found, once it was run"""
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    def screen_and_build(self, built: BuildOutcome | None) -> Evaluation | None:
        """The static screen and the build; an evaluation if either ends it."""
        spec = self.kernel.loaded.spec.kernel
        screen = _screened(
            self.variant.source,
            spec.kernel_type,
            spec.metadata.kernel_name,
            cast("Hashable", self.kernel.loaded.spec.io),  # it is frozen
        )
        self.gates = (screen,)
        if screen.outcome == "failed":
            return self.ended(Ending.rejected, screen.message)
        outcome = self._timed(
            "build",
            lambda: self.rig.build(self.kernel, self.variant, built, limit_s=self.limit_s),
        )
        self.facts, self.artifact = outcome.facts, outcome.artifact
        self.found = outcome
        if outcome.timed_out and self.limit_s is not None:
            message = f"{outcome.message}; a sweep allows no more where others took far less"
            limited = {"build_limit_s": self.limit_s}
            return self.ended(Ending.timed_out, message).model_copy(update=limited)
        if outcome.artifact is None:
            return self.ended(_build_ending(outcome), outcome.message)
        code = self.rig.machine_screen(self.kernel, outcome.artifact)
        self.gates += (code,)
        if code.outcome == "failed":
            return self.ended(Ending.rejected, code.message)
        return None

    def check(self) -> Evaluation | None:
        """The gates before timing; an evaluation if one fails."""
        assert self.artifact is not None
        self.rig.load(self.kernel, self.artifact)
        runs = self._timed("check", lambda: self.rig.check(self.kernel, self.variant.variant_id))
        self.runs += runs
        self._worked(sum(run.result.busy_s for run in runs))
        self.gates += tuple(gate(runs) for gate in FIRST_SET[:-1])
        failed = first_failure(self.gates)
        return None if failed is None else self.ended(ending_of(failed), failed.message)

    def compare(self, around: Surroundings) -> Evaluation:
        """The comparison with incumbent and baseline, and the verdict.

        What would become the incumbent goes through the incumbent set; what looks suspicious does
        before it is timed.
        """
        if self.promoted is None and wants_probes(self.gates, around.baseline_gates):
            failed = first_failure(self._promote(around).gates)
            if failed is not None:
                self.gates += self._promote(around).gates
                return self.ended(ending_of(failed), f"{failed.gate}: {failed.message}")
        others = list(dict.fromkeys((around.incumbent, around.baseline)))
        found = self._timed(
            "compare",
            lambda: self.rig.compare(
                self.kernel, self.kernel.pools, self.variant.variant_id, others
            ),
        )
        self.gates = together(self.gates, found.gates)
        if found.comparison is None:
            failed = first_failure(found.gates)
            assert failed is not None
            return self.ended(ending_of(failed), f"while it was timed, {failed.message}")
        self._worked(found.comparison.busy_s)
        self.runs += [run for run in found.runs if run.variant == self.variant.variant_id]
        calibration = self.kernel.calibration
        calibration.saw([run for run in found.runs if run.variant == around.baseline])
        return self._judged(found.comparison, around)

    def shared(self, twin: Evaluation) -> Evaluation:
        """The evaluation of another variant with the same machine code, as this one's."""
        speedup = None
        if twin.speedup is not None and twin.interval is not None:
            speedup = (twin.speedup, *twin.interval)
        message = f"same machine code as {twin.variant_id}: {twin.message}"
        evaluation = self._evaluation(twin.ending, message, twin.comparison, speedup)
        return evaluation.model_copy(
            update={
                "same_code_as": twin.variant_id,
                "device": twin.device,
                "printed": twin.printed,
            }
        )

    def as_baseline(self, alone: Comparison) -> Evaluation:
        """The evaluation of the baseline itself, with its own times."""
        return self._evaluation(Ending.tie, "this is the baseline", alone, (1.0, 1.0, 1.0))

    def ended(self, ending: Ending, message: str) -> Evaluation:
        """An evaluation without a comparison."""
        if ending.measured:
            raise ValueError(f"`{ending}` needs a comparison")
        return self._evaluation(ending, message)

    def _judged(self, comparison: Comparison, around: Surroundings) -> Evaluation:
        baseline, incumbent = comparison.over(around.baseline), comparison.over(around.incumbent)
        assert baseline is not None
        kept, why = (False, "") if incumbent is None else _keeps(comparison, incumbent, around)
        told = comparison.resolution
        message = describe(baseline, "the baseline", told)
        if incumbent is not None and incumbent.over != around.baseline:
            message += f"; {describe(incumbent, 'the incumbent', told)}"
        failed = self._fails_more(comparison, around, kept)
        if failed is not None:
            return self.ended(ending_of(failed), f"{message}, but {failed.gate}: {failed.message}")
        return self._evaluation(
            Ending(baseline.judgement),
            message + why,
            comparison,
            (baseline.speedup, baseline.low, baseline.high),
        ).model_copy(update={"became_incumbent": kept})

    def _fails_more(
        self, comparison: Comparison, around: Surroundings, kept: bool
    ) -> GateResult | None:
        """What a measured candidate fails of physics and, where it would become the incumbent, of
        the incumbent set."""
        kernel = self.kernel
        floors = kernel.calibration.floors(kernel.loaded.spec, kernel.target)
        found = (
            obeys_physics(comparison, floors, around.baseline),
            is_plausibly_fast(comparison, around.baseline),
        )
        if kept and not first_failure(found):
            found += (self._is_deterministic(),)
            if not first_failure(found):
                self._promote(around, comparison)
        if self.promoted is not None:
            found = (*found[:2], self._is_deterministic(), *self.promoted.gates)
        self.gates += found
        return first_failure(found)

    def _is_deterministic(self) -> GateResult:
        """Over all that was run so far, and the newest run through the incumbent set: each draws
        fresh seeds for pools of the same names."""
        asked = self.kernel.loaded.spec.io.deterministic
        steady = self.kernel.calibration.is_deterministic
        promoted = () if self.promoted is None else self.promoted.runs
        return is_deterministic((*self.runs, *promoted), asked=asked, baseline_is=steady)

    def _promote(self, around: Surroundings, timed: Comparison | None = None) -> Promoted:
        """The incumbent set, run once an attempt; anew once it was timed, as then it is known how
        calls came."""
        if self.promoted is None or timed is not None:
            assert self.artifact is not None
            candidate = BuiltVariant(self.variant, self.artifact)
            baseline = around.baseline_variant or self.kernel.loaded.baseline()
            self.promoted = self._timed(
                "promote", lambda: promote(self.rig, self.kernel, candidate, baseline, timed)
            )
        return self.promoted

    def _evaluation(
        self,
        ending: Ending,
        message: str,
        comparison: Comparison | None = None,
        speedup: tuple[float, float, float] | None = None,
    ) -> Evaluation:
        variant = self.variant
        return Evaluation(
            evaluation_id=f"{variant.variant_id}/{self.number:04d}",
            variant_id=variant.variant_id,
            kernel_id=variant.kernel_id,
            ending=ending,
            tier=self.kernel.tier,
            message=message,
            build=self.facts,
            gates=self.gates,
            comparison=comparison,
            speedup=None if speedup is None else speedup[0],
            interval=None if speedup is None else speedup[1:],
            printed=printed_by(self.runs),
            code_hash=None if self.artifact is None else self.artifact.code_hash,
            device=self._device,
            seconds={k: round(v, 3) for k, v in self.seconds.items()},
            finished_at=now(),
        )

    def _worked(self, seconds: float) -> None:
        """Add to what a GPU worked for it."""
        if self.kernel.target is not None:
            self.seconds["gpu"] = self.seconds.get("gpu", 0.0) + seconds

    @property
    def _device(self) -> str | None:
        """The GPU that ran it."""
        target = self.kernel.target
        return None if target is None or "check" not in self.seconds else target.uuid

    def _timed(self, stage: str, work: Callable[[], Result]) -> Result:
        started = time.monotonic()
        report(SAID[stage])
        try:
            return work()
        finally:
            self.seconds[stage] = time.monotonic() - started


def describe(ratio: Ratio, over: str, resolution: float) -> str:
    """`1.52x the baseline (1.48 to 1.55, faster)`: speedup with its 95 % interval.

    `resolution`: of the comparison, relative; told where the interval lies on one side of 1 and
    neither side won, which no reader could explain otherwise.
    """
    judged: str = ratio.judgement
    low, high = ratio.judged
    if judged not in ("faster", "slower") and (low > 1 or high < 1):
        judged += f": differences up to {100 * resolution:.2g} % are not told apart here"
    judged += ratio.placement_words
    return f"{ratio.speedup:.3g}x {over} ({ratio.low:.3g} to {ratio.high:.3g}, {judged})"


def _build_ending(outcome: BuildOutcome) -> Ending:
    if outcome.timed_out:
        return Ending.timed_out
    return Ending.rejected if outcome.rejected else Ending.build_failed


def _keeps(comparison: Comparison, over: Ratio, around: Surroundings) -> tuple[bool, str]:
    """Whether the candidate becomes incumbent, and why not when it could have."""
    if over.judgement != "faster" or around.min_gain is None:
        return False, ""
    if over.speedup < 1 + around.min_gain:
        return False, f"; not kept: the gain is below min_gain {around.min_gain:.1%}"
    workloads = [WorkloadBlocks(w.workload, w.weight, w.blocks_ms) for w in comparison.workloads]
    name, worst = slowest_workload(workloads, comparison.candidate, over.over)
    if worst < SLOWEST_WORKLOAD:
        return False, f"; not kept: only {worst:.3g}x the incumbent on `{name}`"
    return True, ""
