"""The stages of one evaluation, each of which may end it: screen, build, gates, comparison."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from ..runners.gates import ENDINGS, FIRST_SET, first_failure
from ..runners.model import BuildFacts, Comparison, Ending, Evaluation, GateResult, Ratio, Variant
from ..runners.plan import Artifact
from ..runners.screen import static_screen
from ..runners.timing import WorkloadBlocks, slowest_workload
from ..runners.toolchains import BuildOutcome
from .kernel_state import OpenKernel
from .progress import report
from .records import now
from .rig import Rig

SLOWEST_WORKLOAD = 1 / 1.05
"""A variant over 5 % slower than the incumbent on a visible workload is not kept."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Surroundings:
    """What an attempt is told about what was there before it."""

    baseline: str
    incumbent: str
    min_gain: float
    built: BuildOutcome | None
    """an earlier build of the same variant"""
    same_code: Callable[[str], Evaluation | None]
    """the final evaluation of another variant with this code hash"""


@dataclass
class Attempt:
    """One run through the stages; gathers facts, gates and times on its way."""

    rig: Rig
    kernel: OpenKernel
    variant: Variant
    number: int
    """of this attempt at the variant, from 1"""
    facts: BuildFacts | None = None
    artifact: Artifact | None = None
    found: BuildOutcome = field(default_factory=BuildOutcome)
    gates: tuple[GateResult, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    def screen_and_build(self, built: BuildOutcome | None) -> Evaluation | None:
        """The static screen and the build; an evaluation if either ends it."""
        spec = self.kernel.loaded.spec.kernel
        screen = static_screen(
            self.variant.source,
            spec.kernel_type,
            spec.metadata.kernel_name,
            self.kernel.loaded.spec.io,
        )
        self.gates = (screen,)
        if screen.outcome == "failed":
            return self.ended(Ending.rejected, screen.message)
        outcome = self._timed("build", lambda: self.rig.build(self.kernel, self.variant, built))
        self.facts, self.artifact = outcome.facts, outcome.artifact
        self.found = outcome
        if outcome.artifact is None:
            return self.ended(_build_ending(outcome), outcome.message)
        return None

    def check(self) -> Evaluation | None:
        """The gates before timing; an evaluation if one fails."""
        assert self.artifact is not None
        self.rig.load(self.kernel, self.artifact)
        runs = self._timed("check", lambda: self.rig.check(self.kernel, self.variant.variant_id))
        self.gates += tuple(gate(runs) for gate in FIRST_SET[:-1])
        failed = first_failure(self.gates)
        return None if failed is None else self.ended(ENDINGS[failed.gate], failed.message)

    def compare(self, around: Surroundings) -> Evaluation:
        """The comparison with incumbent and baseline, and the verdict."""
        others = list(dict.fromkeys((around.incumbent, around.baseline)))
        found = self._timed(
            "compare",
            lambda: self.rig.compare(
                self.kernel, self.kernel.pools, self.variant.variant_id, others
            ),
        )
        if found.comparison is None:
            self.gates += found.gates
            failed = first_failure(found.gates)
            assert failed is not None
            return self.ended(ENDINGS[failed.gate], f"while it was timed, {failed.message}")
        self.gates += found.gates[-1:]
        return self._judged(found.comparison, around)

    def shared(self, twin: Evaluation) -> Evaluation:
        """The evaluation of another variant with the same machine code, as this one's."""
        speedup = None
        if twin.speedup is not None and twin.interval is not None:
            speedup = (twin.speedup, *twin.interval)
        message = f"same machine code as {twin.variant_id}: {twin.message}"
        evaluation = self._evaluation(twin.ending, message, twin.comparison, speedup)
        return evaluation.model_copy(update={"same_code_as": twin.variant_id})

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
        message = describe(baseline, "the baseline")
        if incumbent is not None and incumbent.over != around.baseline:
            message += f"; {describe(incumbent, 'the incumbent')}"
        return self._evaluation(
            Ending(baseline.judgement),
            message + why,
            comparison,
            (baseline.speedup, baseline.low, baseline.high),
        ).model_copy(update={"became_incumbent": kept})

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
            code_hash=None if self.artifact is None else self.artifact.code_hash,
            seconds={k: round(v, 3) for k, v in self.seconds.items()},
            finished_at=now(),
        )

    def _timed(self, stage: str, work: Callable[[], Result]) -> Result:
        started = time.monotonic()
        report(stage)
        try:
            return work()
        finally:
            self.seconds[stage] = time.monotonic() - started


def describe(ratio: Ratio, over: str) -> str:
    """`1.52x the baseline (1.48 to 1.55, faster)`: speedup with its 95 % interval."""
    return f"{ratio.speedup:.3g}x {over} ({ratio.low:.3g} to {ratio.high:.3g}, {ratio.judgement})"


def _build_ending(outcome: BuildOutcome) -> Ending:
    if outcome.timed_out:
        return Ending.timed_out
    return Ending.rejected if outcome.rejected else Ending.build_failed


def _keeps(comparison: Comparison, over: Ratio, around: Surroundings) -> tuple[bool, str]:
    """Whether the candidate becomes incumbent, and why not when it could have."""
    if over.judgement != "faster":
        return False, ""
    if over.speedup < 1 + around.min_gain:
        return False, f"; not kept: the gain is below min_gain {around.min_gain:.1%}"
    workloads = [WorkloadBlocks(w.workload, w.weight, w.blocks_ms) for w in comparison.workloads]
    name, worst = slowest_workload(workloads, comparison.candidate, over.over)
    if worst < SLOWEST_WORKLOAD:
        return False, f"; not kept: only {worst:.3g}x the incumbent on `{name}`"
    return True, ""
