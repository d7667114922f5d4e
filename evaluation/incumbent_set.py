"""The incumbent set: what is run before a variant may become the incumbent.

A runner process of its own that has seen nothing yet runs the visible workloads on fresh seeds,
calls that have the same values, further legal shapes (built for the occasion), and stress values;
then comes the sanitizer. Where a candidate fails, the baseline is run on the same input: what it
fails itself is not asked.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from dataclasses import dataclass
from itertools import product

from ..runners.errors import ProcessLost
from ..runners.gates import Run, first_failure
from ..runners.gates.incumbent import (
    ANEW,
    FRESH,
    PLACES,
    SHAPES,
    STRESS,
    STRESS_SLACK,
    TIMED_VALUES,
    VALUES,
    Trial,
    holds,
    other_code,
    refused_build,
    skipped,
)
from ..runners.gates.repeats import Repeats, computes_every_call, slots_for
from ..runners.model import Comparison, Ending, GateResult, Variant
from ..runners.oracle.values.stress import kinds_for
from ..runners.oracle.values.structured import structured_kinds
from ..runners.plans.plan import Artifact
from ..runners.progress import report
from ..runners.protocol.messages import UNPLACED, Placement
from ..runners.protocol.pools import SeedPool, draw, draw_exchanged, draw_stress
from ..runners.specs.contract import BoundContract
from ..runners.specs.io_contract import Contract, StressKind
from ..runners.toolchains import BuildOutcome
from .rig.open_kernel import FEW_BYTES, OpenKernel
from .rig.rig import Rig
from .sanitizer_set import sanitizing
from .timed_values import AS_TIMED, Pace, paces_of, unkind, values_as_timed
from .trials import BuiltVariant, Trials, shape_name, stress_name, values_name

TWICE = (0, 1, 0, 1)
"""Two seeds, each again with the same poison: what differs then is not deterministic."""
PLACED: Mapping[Placement, str] = {
    "end": "buffers that end where memory ends",
    "start": "buffers that begin where memory begins",
    "anywhere": "buffers at drawn places",
}
ON_SHAPES: Mapping[str, Placement] = {"smallest": "end", "near": "barely"}
"""further shapes on which buffers do not lie on pages"""
LONG = "long_"
"""how labels of the long shapes begin"""


@dataclass(frozen=True)
class Promoted:
    """The results of the gates, and every run that the candidate made."""

    gates: tuple[GateResult, ...]
    runs: tuple[Run, ...]


def promote(
    rig: Rig,
    kernel: OpenKernel,
    candidate: BuiltVariant,
    baseline: Variant,
    timed: Comparison | None = None,
) -> Promoted:
    """Put a built candidate through the gates, up to the first that it fails.

    `timed`: how it was timed, if it was: calls come as they did there, also in that process.
    Raises ProcessLost when a process of ours is lost twice: once more is tried without the warm
    runner beside, whose memory may be what was missing.
    """
    paces = {} if timed is None else paces_of(timed)
    warm = rig.warm(kernel)
    try:
        with rig.fresh(kernel) as fresh:
            return _Promotion(Trials(rig, kernel, fresh, warm, candidate, baseline), paces).run()
    except ProcessLost:
        report("once more, with the device to itself")
        with rig.fresh(kernel, alone=True) as fresh:
            return _Promotion(Trials(rig, kernel, fresh, warm, candidate, baseline), paces).run()


@dataclass(frozen=True)
class _Promotion:
    """One candidate on its way through the set."""

    trials: Trials
    paces: Mapping[str, Pace]
    """by workload that was timed"""

    @property
    def kernel(self) -> OpenKernel:
        """What it is a candidate for."""
        return self.trials.kernel

    def run(self) -> Promoted:
        """Stage after stage until one fails. Beside them run the build for the further shapes
        and, once nothing is timed any more, the sanitizer."""
        results = list[GateResult]()
        timed = [self._anew, self._every_call]
        untimed = [self._places, self._other_shapes, self._stress, self._other_values]
        untimed.append(self._values_as_timed)
        if not self.kernel.small_pools:
            timed, untimed = [], [*timed, *untimed]
        with ExitStack() as beside:
            beside.enter_context(self.trials.fresh.held())
            building = self._building(beside)
            self.trials.fresh.load(self.trials.name(False), self.trials.candidate.artifact)
            if _passes([self._fresh_process, lambda: self._loaded(building()), *timed], results):
                watched = beside.enter_context(sanitizing(self.trials, self.kernel.smallest))
                if _passes(untimed, results):
                    results += watched()
        return Promoted(tuple(results), tuple(self.trials.runs))

    def _building(self, beside: ExitStack) -> Callable[[], BuildOutcome]:
        """Start the build for the further shapes; what is returned waits for it."""
        thread = beside.enter_context(ThreadPoolExecutor(1))
        return thread.submit(copy_context().run, self.trials.built_for_shapes).result

    def _loaded(self, outcome: BuildOutcome) -> Iterator[GateResult]:
        """The build for the further shapes, known to the runner; a result only where there is no
        such build."""
        if outcome.artifact is not None:
            if host_code(outcome.artifact) != host_code(self.trials.candidate.artifact):
                yield other_code()
            self.trials.fresh.load(self.trials.name(True), outcome.artifact)
        elif self.trials.shapes():
            yield refused_build(outcome.message, _ending(outcome))

    def _fresh_process(self) -> Iterator[GateResult]:
        """The visible workloads, in a process that saw nothing, on seeds that nothing saw."""
        trials = list[Trial]()
        for pool in self.kernel.pools:
            again = draw(
                pool.kernel, pool.contract, name=f"{pool.contract.label}/promotion", slots=2
            )
            with self.trials.fresh.attached(again):
                what = f"fresh seeds of `{pool.contract.label}`"
                trials.append(self.trials.trial(what, again, TWICE))
            if self.trials.fails(trials[-1]):
                break
        yield holds(FRESH, trials)

    def _anew(self) -> Iterator[GateResult]:
        """The same values twice in the same place, a few exchanged the second time: a result
        remembered by some values, by their sum or by their address is wrong then."""
        label = self.kernel.smallest.label
        name = f"{label}/promotion/exchanged"
        pool = draw_exchanged(self.kernel.kernel_id, self.kernel.smallest, name=name)
        with self.trials.fresh.attached(pool):
            trial = self.trials.trial(f"exchanged values on `{label}`", pool, (0, 1))
        yield holds(ANEW, [trial], means={"is_right": Ending.cheated})

    def _every_call(self) -> Iterator[GateResult]:
        """Calls on different values against calls on the same ones, which code could copy, and on
        values that come late, which no earlier call could work on."""
        found = dict[str, Repeats]()
        for pool in self.kernel.small_pools:
            label = pool.contract.label
            again = draw(
                pool.kernel,
                pool.contract,
                name=f"{label}/repeats",
                slots=slots_for(pool.contract.nbytes, self._calls(label)),
            )
            with self.trials.fresh.attached(again):
                report(f"gates of the incumbent: call after call on `{label}`")
                fresh = self.trials.fresh
                if self.kernel.loaded.reference is None:
                    fresh.check(
                        self.trials.of_baseline(False), again, range(again.slots), adopt=True
                    )
                found[label] = fresh.repeats(
                    self.trials.name(False), again, pool.slots - 1, self._calls(label)
                )
        yield computes_every_call(found)

    def _places(self) -> Iterator[GateResult]:
        """Each buffer in memory of its own with nothing around it, in another order and at other
        distances each time: on the smallest workload, and where tiles end far behind the arrays
        (one element less than a workload leaves to most of them no more than alignment does)."""
        odd = [(shape, True) for shape in self.trials.shapes() if shape.label == "other"]
        trials = list[Trial]()
        for (contract, other), placement in product([(self.kernel.smallest, False), *odd], PLACED):
            what = f"{PLACED[placement]} on `{contract.label}`"
            if what in self.trials.known:
                continue
            name = f"{contract.label}/promotion/{placement}"
            pool = draw(self.kernel.kernel_id, contract, name=name, slots=2)
            trial = self.trials.guarded(what, pool, other=other, placement=placement)
            trials += trial
            if trial and trial[-1].runs[0].result.fault_kind == UNPLACED:
                yield skipped(PLACES, trial[-1].runs[0].result.fault)
                return
            if trial and self.trials.fails(trial[-1]):
                break
        means = {"does_not_crash": Ending.unsafe}
        yield holds(PLACES, trials, not_asked=self.trials.not_asked("buffers"), means=means)

    def _other_shapes(self) -> Iterator[GateResult]:
        """Further legal shapes: buffers no better aligned than promised on one of them, and on the
        smallest, where every tile ends far behind the arrays, none with memory behind it."""
        if not self.trials.shapes() and not self.trials.not_asked("shape"):
            yield skipped(SHAPES, "the domains of the symbols allow no further shape")
            return
        trials = list[Trial]()
        for shape in self.trials.shapes():
            name = f"{shape.label}/promotion"
            pool = draw(self.kernel.kernel_id, shape, name=name, slots=2)
            found = [*self._on_shape(shape, pool), *self._full(shape)]
            trials += found
            if any(self.trials.fails(trial) for trial in found):
                break
        yield holds(SHAPES, trials, not_asked=self.trials.not_asked("shape"))

    def _on_shape(self, shape: BoundContract, pool: SeedPool) -> list[Trial]:
        """A trial on a shape, on pages where nothing can be placed as it should."""
        placement, what = ON_SHAPES.get(shape.label, "pages"), shape_name(shape)
        trial = self.trials.guarded(what, pool, other=True, placement=placement)
        if trial and trial[-1].runs[0].result.fault_kind == UNPLACED:
            return self.trials.guarded(what, pool, other=True)
        return trial

    def _full(self, shape: BoundContract) -> list[Trial]:
        """A long shape with the largest of all whole numbers that are drawn, in every place."""
        what = f"{shape_name(shape)} where all numbers are as large as they may be"
        long = shape.label.startswith(LONG) and _counts(self.kernel.loaded.spec.io)
        if not long or what in self.trials.known:
            return []
        name = f"{shape.label}/promotion/full"
        pool = draw_stress(self.kernel.kernel_id, shape, ["offset"], name=name)
        return self.trials.guarded(what, pool, other=True)

    def _other_values(self) -> Iterator[GateResult]:
        """What no input is known to be: values of each kind on one workload, hidden between usual
        ones, and of a mixture on the others."""
        spec = self.kernel.loaded.spec.io
        few, most = (structured_kinds(spec, most=most) for most in (False, True))
        if not most:
            yield skipped(VALUES, "every input is a known constant")
            return
        contract, other = self._stressed_contract()
        asked = [(contract, other, _shuffled(most))]
        asked += [
            (pool.contract, False, _shuffled(few))
            for pool in self.kernel.pools
            if other or pool.contract is not contract
        ]
        trials = list[Trial]()
        for shape, beside, several in asked:
            whats = [values_name(kind, shape) for kind in several]
            pool = draw_stress(
                self.kernel.kernel_id, shape, several, name=f"{shape.label}/promotion/values"
            )
            trials += self.trials.slot_by_slot(whats, pool, other=beside)
            if trials and any(self.trials.fails(trial, STRESS_SLACK) for trial in trials):
                break
        yield holds(VALUES, trials, STRESS_SLACK, self.trials.not_asked("values"))

    def _stress(self) -> Iterator[GateResult]:
        """Unkind values on one workload."""
        if not kinds_for(self.kernel.loaded.spec.io):
            yield skipped(STRESS, "no input may hold other values than its init gives it")
            return
        contract, other = self._stressed_contract()
        trials = list[Trial]()
        for kind in unkind(self.kernel.loaded):
            what = stress_name(kind)
            if what in self.trials.known:
                continue
            name = f"{contract.label}/promotion/{kind}"
            pool = draw_stress(self.kernel.kernel_id, contract, [kind], name=name)
            trial = self.trials.guarded(what, pool, other=other)
            trials += trial
            if trial and self.trials.fails(trial[-1], STRESS_SLACK):
                break
        yield holds(STRESS, trials, STRESS_SLACK, self.trials.not_asked("stress"))

    def _values_as_timed(self) -> Iterator[GateResult]:
        """Other values in calls that come as in a comparison, where code may know that they do."""
        trials = values_as_timed(self.trials, self.paces)
        yield holds(TIMED_VALUES, trials, STRESS_SLACK, self.trials.not_asked(AS_TIMED))

    def _calls(self, label: str) -> int | None:
        pace = self.paces.get(label)
        return None if pace is None else pace.calls

    def _stressed_contract(self) -> tuple[BoundContract, bool]:
        """Where unkind values are tried: the smallest workload, or where that is large the shape
        beside it, if there is one. With it, whether that is of the build for further shapes."""
        smallest = self.kernel.smallest
        if smallest.nbytes <= FEW_BYTES:
            return smallest, False
        near = [shape for shape in self.trials.shapes() if shape.label == "near"]
        return (near[0], True) if near else (smallest, False)


def _passes(
    stages: Iterable[Callable[[], Iterator[GateResult]]], results: list[GateResult]
) -> bool:
    """Run stages until one fails, and add what they found, each with the seconds that it took."""
    for stage in stages:
        started = time.monotonic()
        found = list(stage())
        took = {"seconds": round(time.monotonic() - started, 3)}
        results += [gate.model_copy(update={"evidence": gate.evidence | took}) for gate in found]
        if first_failure(results):
            return False
    return True


def _counts(contract: Contract) -> bool:
    """Whether whole numbers go in that are drawn: what counts or adds them up is full where many
    are the largest that there is, and only there."""
    return any(
        a.role in ("input", "inout") and a.filled.kind == "randint" for a in contract.arguments
    )


def _shuffled(kinds: Sequence[StressKind]) -> tuple[StressKind, ...]:
    """The kinds in an order that nobody knows."""
    return tuple(secrets.SystemRandom().sample(kinds, len(kinds)))


def host_code(artifact: Artifact) -> frozenset[str]:
    """Hashes of machine code for a host, which no shape is compiled into; empty for a GPU's."""
    return frozenset(module.sha256 for module in artifact.modules if module.kind == "so")


def _ending(outcome: BuildOutcome) -> Ending:
    if outcome.timed_out:
        return Ending.timed_out
    return Ending.rejected if outcome.rejected else Ending.build_failed
