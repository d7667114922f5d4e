"""The incumbent set: what is run before a variant may become the incumbent.

A runner process of its own that has seen nothing yet runs the visible workloads on fresh seeds,
further legal shapes (built for the occasion), and stress values; then comes the sanitizer. Where a
candidate fails, the baseline is run on the same input: what it fails itself is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from ..runners.contract import BoundContract
from ..runners.errors import ProcessLost, ReferenceFailed, SpecError
from ..runners.gates import Run, first_failure
from ..runners.gates.incumbent import (
    ANEW,
    FRESH,
    SHAPES,
    STRESS,
    STRESS_SLACK,
    Trial,
    excused,
    fault_of,
    holds,
    refused_build,
    skipped,
)
from ..runners.model import Ending, GateResult, Variant
from ..runners.plan import Artifact
from ..runners.pools import SeedPool, draw, draw_exchanged, draw_stress
from ..runners.spec_contract import StressKind
from ..runners.stress import KINDS, kinds_for
from ..runners.toolchains import BuildOutcome, Shape
from .kernel_state import OpenKernel
from .progress import report
from .rig import Fresh, Rig

TWICE = (0, 1, 0, 1)
"""Two seeds, each again with the same poison: what differs then is not deterministic."""
STRESS_BYTES = 64 << 20
"""Arrays of a workload, above which stress values are tried on the smaller shape beside it."""
OTHER_SHAPES = "+shapes"
WITHOUT_REFERENCE: tuple[StressKind, ...] = ("zeros",)
"""Where the baseline is the truth: under the other kinds its own rounding would be."""


@dataclass(frozen=True)
class Built:
    """A variant with what was built of it."""

    variant: Variant
    artifact: Artifact


@dataclass(frozen=True)
class Promoted:
    """The results of the gates, and every run that the candidate made."""

    gates: tuple[GateResult, ...]
    runs: tuple[Run, ...]


def promote(
    rig: Rig,
    kernel: OpenKernel,
    candidate: Built,
    baseline: Variant,
) -> Promoted:
    """Put a built candidate through the gates, up to the first that it fails.

    Raises ProcessLost when a process of ours is lost twice: once more is tried without the warm
    runner beside, whose memory may be what was missing.
    """
    try:
        with rig.fresh(kernel) as fresh:
            return _Promotion(rig, kernel, fresh, candidate, baseline).run()
    except ProcessLost:
        report("once more, with the device to itself")
        with rig.fresh(kernel, alone=True) as fresh:
            return _Promotion(rig, kernel, fresh, candidate, baseline).run()


@dataclass
class _Promotion:
    """One candidate on its way through the set."""

    rig: Rig
    kernel: OpenKernel
    fresh: Fresh
    candidate: Built
    baseline: Variant
    runs: list[Run] = field(default_factory=list[Run])

    def run(self) -> Promoted:
        """Stage after stage until one fails."""
        results = list[GateResult]()
        self.fresh.load(self.candidate.variant.variant_id, self.candidate.artifact)
        for stage in (
            self._fresh_process,
            self._anew,
            self._other_shapes,
            self._stress,
            self._sanitized,
        ):
            results += stage()
            if first_failure(results):
                break
        return Promoted(tuple(results), tuple(self.runs))

    def _fresh_process(self) -> Iterator[GateResult]:
        """The visible workloads, in a process that saw nothing, on seeds that nothing saw."""
        trials = list[Trial]()
        for pool in self.kernel.pools:
            again = draw(
                pool.kernel, pool.contract, name=f"{pool.contract.label}/promotion", slots=2
            )
            with self.fresh.attached(again):
                what = f"fresh seeds of `{pool.contract.label}`"
                trials.append(self._trial(what, again, TWICE))
            if self._fails(trials[-1]):
                break
        yield holds(FRESH, trials)

    def _anew(self) -> Iterator[GateResult]:
        """The same values twice in the same place, a few exchanged the second time: a result
        remembered by some values, by their sum or by their address is wrong then."""
        label = self._smallest().label
        name = f"{label}/promotion/exchanged"
        pool = draw_exchanged(self.kernel.kernel_id, self._smallest(), name=name)
        with self.fresh.attached(pool):
            trial = self._trial(f"exchanged values on `{label}`", pool, (0, 1))
        yield holds(ANEW, [trial], wrong_means=Ending.cheated)

    def _other_shapes(self) -> Iterator[GateResult]:
        """Further legal shapes, buffers no better aligned than promised on one of them."""
        if not self._shapes():
            yield skipped(SHAPES, "the domains of the symbols allow no further shape")
            return
        outcome = self._built_for_shapes()
        if outcome.artifact is None:
            if self._shapes():
                yield refused_build(outcome.message, _ending(outcome))
            else:
                yield holds(SHAPES, [], not_asked=self._not_asked(SHAPES))
            return
        self.fresh.load(self._name(True), outcome.artifact)
        trials = list[Trial]()
        for shape in self._shapes():
            pool = draw(self.kernel.kernel_id, shape, name=f"{shape.label}/promotion", slots=2)
            barely = shape.label == "near"
            what = _named(shape)
            trial = self._guarded(what, pool, lambda p, w=what, b=barely: self._shape(w, p, b))
            trials += trial
            if trial and self._fails(trial[-1]):
                break
        yield holds(SHAPES, trials, not_asked=self._not_asked(SHAPES))

    def _shape(self, what: str, pool: SeedPool, barely: bool) -> list[Trial]:
        return [self._trial(what, pool, (0, 1), other=True, barely=barely)]

    def _stress(self) -> Iterator[GateResult]:
        """Unkind values on one workload."""
        kinds = kinds_for(self.kernel.loaded.spec.io)
        if not kinds:
            yield skipped(STRESS, "no input may hold other values than its init gives it")
            return
        if self.kernel.loaded.reference is None:
            kinds = WITHOUT_REFERENCE
        contract, other = self._stressed_contract()
        trials = list[Trial]()
        for kind in kinds:
            what = _stress_name(kind)
            if what in self._known:
                continue
            name = f"{contract.label}/promotion/{kind}"
            pool = draw_stress(self.kernel.kernel_id, contract, [kind], name=name)
            trial = self._guarded(what, pool, lambda p, w=what: [self._trial(w, p, (0,), other)])
            trials += trial
            if trial and self._fails(trial[-1], STRESS_SLACK):
                break
        yield holds(STRESS, trials, STRESS_SLACK, self._not_asked(STRESS))

    def _sanitized(self) -> Iterator[GateResult]:
        """What compute-sanitizer finds on small shapes; where it finds the same kind of thing in
        the baseline, that is a note."""
        if self.kernel.tier != "device":
            yield skipped("sanitizer", "compute-sanitizer is for GPU code")
            return
        pools = self._watched_pools()
        with ExitStack() as attached:
            for pool in pools:
                attached.enter_context(self.fresh.attached(pool))
            names = [pool.pool for pool in pools]
            other = bool(self._shapes())
            report("gates of the incumbent: sanitizer")
            found = self.fresh.sanitize(self._name(other), names)
            theirs = dict[str, GateResult]()
            if first_failure(found) is not None:
                theirs = {g.gate: g for g in self.fresh.sanitize(self._baseline(other), names)}
        yield from (excused(result, theirs.get(result.gate)) for result in found)

    def _watched_pools(self) -> list[SeedPool]:
        """Small further shapes, of which one is ragged; the smallest workload where there are
        none."""
        shapes = [shape for shape in self._shapes() if shape.label != "near"]
        shapes = shapes or self._shapes() or [self._smallest()]
        name = self.kernel.kernel_id
        return [draw(name, s, name=f"{s.label}/promotion/watched", slots=1) for s in shapes]

    def _smallest(self) -> BoundContract:
        return min((p.contract for p in self.kernel.pools), key=_nbytes)

    def _guarded(
        self, what: str, pool: SeedPool, work: Callable[[SeedPool], list[Trial]]
    ) -> list[Trial]:
        """Trials on a pool; none where the reference itself fails on its inputs."""
        try:
            with self.fresh.attached(pool):
                return work(pool)
        except (ReferenceFailed, SpecError) as error:
            self._known[what] = f"the reference fails on it: {error.message}"
            return []

    def _trial(
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
            name = self._baseline(other)
            adopted = self.fresh.check(name, pool, sorted(set(slots)), barely=barely, adopt=True)
            if any(run.result.fault for run in adopted):
                self._known[what] = "the baseline, whose outputs are the truth, does not run on it"
                return Trial(what, tuple(adopted), tuple(adopted))
        runs = tuple(self.fresh.check(self._name(other), pool, slots, barely=barely))
        self.runs += runs
        trial = Trial(what, runs)
        if fault_of(trial)[0] is None:
            return trial
        theirs = self.fresh.check(self._baseline(other), pool, slots, barely=barely)
        return Trial(what, runs, tuple(theirs))

    def _fails(self, trial: Trial, slack: float = 1.0) -> bool:
        """Whether a trial ends the promotion; what the baseline fails is remembered."""
        failed, excuse = fault_of(trial, slack)
        if failed is not None and excuse.startswith("the baseline"):
            self._known[trial.what] = excuse
        return failed is not None and not excuse

    def _built_for_shapes(self) -> BuildOutcome:
        """The candidate built for the further shapes; those that the baseline does not build for
        are asked of nobody from now on."""
        outcome = self._build(self.candidate.variant, self._shapes())
        if outcome.artifact is not None or self._build(self.baseline, self._shapes()).artifact:
            return outcome
        for shape in self._shapes():
            alone = self._build(self.baseline, [shape])
            if alone.artifact is None:
                self._known[_named(shape)] = f"the baseline does not build: {alone.message}"
        return self._build(self.candidate.variant, self._shapes()) if self._shapes() else outcome

    def _build(self, variant: Variant, shapes: Sequence[BoundContract]) -> BuildOutcome:
        wanted = [Shape(label=s.label, symbols=dict(s.symbols)) for s in shapes]
        return self.rig.build(self.kernel, variant, shapes=wanted)

    def _shapes(self) -> list[BoundContract]:
        """The further shapes that are asked for."""
        kernel = self.kernel
        every = kernel.calibration.gate_shapes(kernel.loaded.spec, kernel.odd_symbols)
        return [shape for shape in every if _named(shape) not in self._known]

    def _stressed_contract(self) -> tuple[BoundContract, bool]:
        """The smallest workload, or where that is large the shape beside it, if there is one."""
        smallest = self._smallest()
        if _nbytes(smallest) <= STRESS_BYTES:
            return smallest, False
        near = [shape for shape in self._shapes() if shape.label == "near"]
        return (near[0], True) if near else (smallest, False)

    @property
    def _known(self) -> dict[str, str]:
        return self.kernel.calibration.not_asked

    def _not_asked(self, gate: str) -> dict[str, str]:
        stress = gate == STRESS
        return {w: why for w, why in self._known.items() if w.startswith("stress") is stress}

    def _name(self, other: bool) -> str:
        return self.candidate.variant.variant_id + OTHER_SHAPES * other

    def _baseline(self, other: bool) -> str:
        """The baseline, built and loaded when it is first wanted."""
        name = self.baseline.variant_id + OTHER_SHAPES * other
        if name not in self.fresh.loaded:
            outcome = self._build(self.baseline, self._shapes() if other else [])
            if outcome.artifact is None:
                raise ProcessLost(f"the baseline does not build any more: {outcome.message}")
            self.fresh.load(name, outcome.artifact)
        return name


def _named(shape: BoundContract) -> str:
    sizes = ", ".join(f"{name}={size}" for name, size in shape.symbols.items())
    return f"shape `{shape.label}` ({sizes})"


def _stress_name(kind: StressKind) -> str:
    return f"stress `{kind}` ({KINDS[kind]})"


def _nbytes(contract: BoundContract) -> int:
    return sum(array.nbytes for array in contract.arrays)


def _ending(outcome: BuildOutcome) -> Ending:
    if outcome.timed_out:
        return Ending.timed_out
    return Ending.rejected if outcome.rejected else Ending.build_failed
