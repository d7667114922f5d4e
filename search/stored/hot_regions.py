"""Whether candidates of a search touch the region that the profile of their parent blames: before
they are built by their lines, and afterwards by their PTX."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...evaluation.evidence.evidence import profiled_workload
from ...runners import progress
from ...runners.errors import KernelwrightError, SpecError
from ...store.variants import known_artifact
from ..engine.decisions import Foreseen
from .variants import variant_from

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...evaluation.bench import Bench
    from ...evaluation.evidence.variant_regions import KernelRegions
    from ...runners.model import Candidate
    from ...store.records import KernelRecord
    from ..engine.decisions import Decision
    from ..engine.work import Evaluate

TOUCHES = "touches the hot region"


@dataclass(frozen=True)
class Blamed:
    """The kernel of a variant with the region that its profile blames."""

    regions: KernelRegions
    workload: str
    lines: frozenset[int]
    """of the source, that the region and what it waits for come from"""


@dataclass
class HotRegions:
    """Of the variants of one kernel; each is looked at once. A variant without a profile has none,
    nor has one whose profile counted no samples, or whose PTX cannot be read."""

    bench: Bench
    kernel: KernelRecord
    _seen: dict[str, Blamed | None] = field(default_factory=dict[str, "Blamed | None"])

    def forget(self, variant_id: str) -> None:
        """Look at it anew when it is asked for next."""
        self._seen.pop(variant_id, None)

    def foreseen(self, parent: str, candidate: Candidate) -> str | None:
        """`no, by its lines: ...` of a candidate whose text shows that it keeps away from the
        region; None: it may touch it, or nothing is known."""
        from ...analysis.spans.reach import kept_away

        blamed = self._blamed(parent)
        if blamed is None or not _source_alone(candidate):
            return None
        base = self.bench.evaluator.variant(parent).variant
        try:
            source = variant_from(self.kernel, base, candidate).source
        except SpecError:  # the step that takes it will tell
            return None
        why = kept_away(base.source, source, blamed.lines)
        return None if why is None else f"no, by its lines: {blamed.regions.blamed}: {why}"

    def notes(self, parent: str, candidates: Iterable[Candidate]) -> tuple[str, ...]:
        """A line on each candidate that is foreseen to keep away."""
        told = ((c.method, self.foreseen(parent, c)) for c in candidates)
        return tuple(f"{method}: {TOUCHES}: {said}" for method, said in told if said)

    def announced(self, parent: str, candidate: Candidate) -> str | None:
        """As `foreseen`, of a candidate that is about to be built: whoever waits for it is told."""
        told = self.foreseen(parent, candidate)
        if told is not None:
            progress.found(f"{candidate.method}: {TOUCHES}: {told}")
        return told

    def foresee(self, work: Evaluate, step: int) -> list[Decision]:
        """The same within a search, and the record of that. `step`: how many were made before."""
        told = self.announced(work.parent, work.candidate)
        if told is None:
            return []
        method = work.candidate.method
        return [
            Foreseen(
                step=step,
                node=work.parent,
                edge=work.edge_id,
                method=method,
                touches_hot_region=told,
            )
        ]

    def touched(self, parent: str, variant_id: str | None) -> str | None:
        """`yes: R7 (62 % of samples): its instructions are others` of a variant that was built;
        None where nothing is known."""
        from ...analysis.regions.touch import touch
        from ...evaluation.evidence.variant_regions import regions_of_variant

        blamed = self._blamed(parent)
        if blamed is None or variant_id is None:
            return None
        if known_artifact(self.bench.store, variant_id) is None:  # it did not build
            return None
        before, hot = blamed.regions.dag, blamed.regions.hot
        assert hot is not None
        try:
            after = regions_of_variant(
                self.bench, variant_id, blamed.workload, None, like=before.entry
            )
        except KernelwrightError:  # a build that is gone, or PTX of a form that is not read
            return None
        found = touch(before, hot.region, after.dag)
        return f"{'yes' if found.touched else 'no'}: {blamed.regions.blamed}: {found.why}"

    def _blamed(self, variant_id: str) -> Blamed | None:
        if variant_id not in self._seen:
            self._seen[variant_id] = self._looked_at(variant_id)
        return self._seen[variant_id]

    def _looked_at(self, variant_id: str) -> Blamed | None:
        from ...analysis.regions.touch import lines_behind
        from ...evaluation.evidence.variant_regions import regions_of_variant

        workload = profiled_workload(self.bench, self.kernel, variant_id)
        if workload is None or known_artifact(self.bench.store, variant_id) is None:
            return None
        try:
            found = regions_of_variant(self.bench, variant_id, workload, None)
        except KernelwrightError:  # as above: the profile alone says nothing of regions
            return None
        if found.hot is None or not found.hot.sampled:
            return None
        name = self.kernel.loaded.source_name
        return Blamed(found, workload, lines_behind(found.dag, found.hot.region, name))


def _source_alone(candidate: Candidate) -> bool:
    """Whether it changes nothing but text: values, flags and launches may change all code."""
    others = (candidate.plan, candidate.options, candidate.parameters, candidate.knobs)
    return all(each is None for each in others)
