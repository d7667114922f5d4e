"""What is known of the variants of one search: for its planner, and for what it learns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...analysis.prior.weighing import weigh
from ...evaluation.bench import Bench
from ...evaluation.evidence.evidence import Evidence, evidence
from ...evaluation.evidence.headroom import known_headroom
from ...store.records import KernelRecord, VariantRecord
from ..graph.graph import Node
from ..moves import FACTS
from ..planning.planner import Context
from ..planning.planners import RULED
from ..regraph.weighing import unweighed
from ..stored.experience import Experience
from ..stored.records import SearchRecord
from ..stored.variants import state_of
from .transitions import StateBefore


@dataclass
class NodeContexts:
    """Looks at each variant once; what was seen holds until it is forgotten."""

    bench: Bench
    kernel: KernelRecord
    experience: Experience
    _seen: dict[str, Evidence] = field(default_factory=dict[str, Evidence])

    def context(self, node: Node, search: SearchRecord) -> Context:
        """What a planner sees of a node. Raises HandleUnknown."""
        record = self.bench.evaluator.variant(node.key)
        profile = next((p for p in search.profiles if p.variant_id == node.key), None)
        return Context(
            search.search_id,
            node.key,
            state_of(self.kernel, record.variant),
            self._headroom(node),
            bottleneck="" if profile is None else profile.bottleneck,
            findings=() if profile is None else profile.findings,
            weights=self._weights(record) if search.planner in RULED else {},
            ways=self._ways() if search.planner in RULED else unweighed,
            memory=self.experience.recollection(node.key),
        )

    def before(self, node: Node) -> StateBefore:
        """What was known of a node before one of its candidates was evaluated."""
        record = self.bench.evaluator.variant(node.key)
        return StateBefore(
            record,
            node,
            state_of(self.kernel, record.variant),
            self._evidence(node.key),
            self.experience.recollection(node.key),
        )

    def forget(self, variant_id: str) -> None:
        """Look at it anew when it is asked for next."""
        self._seen.pop(variant_id, None)

    def _weights(self, record: VariantRecord) -> Mapping[str, float]:
        """What is known of a variant says of moves, times what earlier searches measured; for
        planners by rule."""
        known, spec = self._evidence(record.variant.variant_id), self.kernel.loaded.spec
        place = (known.bottleneck, spec.device_profile.arch, spec.kernel.kernel_type)
        measured = self.experience.weights(record.method, *place)
        factors = weights(known)
        names = {*factors, *measured}
        return {each: factors.get(each, 1.0) * measured.get(each, 1.0) for each in sorted(names)}

    def _ways(self) -> Callable[[str, str], float]:
        return self.experience.ways(self.kernel.loaded.spec.kernel.kernel_type)

    def _evidence(self, variant_id: str) -> Evidence:
        if variant_id not in self._seen:
            self._seen[variant_id] = evidence(self.bench, self.kernel, variant_id)
        return self._seen[variant_id]

    def _headroom(self, node: Node) -> str:
        """What limits the variant of a node, empty where nobody has measured the machine."""
        evaluation = self.bench.evaluator.evaluation(node.key)
        if evaluation is None or evaluation.comparison is None:
            return ""
        return known_headroom(self.bench, self.kernel, evaluation.comparison.median_ms) or ""


def weights(known: Evidence) -> dict[str, float]:
    """By method, what is known of a variant makes of the priors of its candidates: a factor."""
    return {
        each.move: each.factor for each in weigh(tuple(FACTS.values()), known.signals, known.levels)
    }
