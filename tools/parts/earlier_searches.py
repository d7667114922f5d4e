"""What earlier searches say of the moves from one variant: ReGraph's neighbours, what following a
rule brought, and the kernel's memory, in a few words each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...runners.wording import cut
from ...search.regraph.posterior import Posteriors
from ...search.regraph.report import Line, brought, by_gain, edges
from ...search.regraph.transfer import learned_for, offered
from ...search.regraph.weighing import regraph_weights
from ...search.stored.experience import regraph_of
from ...search.stored.recalling import recall

if TYPE_CHECKING:
    from ...evaluation.bench import Bench
    from ...evaluation.evidence.evidence import Evidence
    from ...store.records import KernelRecord, VariantRecord

MOST_NEIGHBOURS = 5
LONGEST = 160
"""characters of a remembered idea"""


@dataclass(frozen=True, slots=True)
class EarlierSearches:
    """Of one variant."""

    factors: Mapping[str, float]
    """by method, what ReGraph makes of its prior"""
    steps: Mapping[str, Line]
    """what was measured after the variant's own method, by the method that followed; the most
    promising first"""
    rules: Mapping[str, Line]
    """what the methods that a rule asks for brought where it had fired"""
    remembered: tuple[str, ...]
    """what earlier searches of the kernel tried from here, and what failed from elsewhere"""

    def factor(self, method: str) -> float:
        """On the prior of a method; 1: nothing is known."""
        return self.factors.get(method, 1.0)

    def of_method(self, method: str) -> str:
        """`x1.6 measured after tune_parameters: 1.08x ...`; empty where nothing was."""
        if method not in self.factors:
            return ""
        line = self.steps.get(method)
        where = "elsewhere" if line is None else f"after {line.previous}: {line.describe()}"
        return f"x{self.factors[method]:.2g} measured {where}"

    def of_rule(self, rule: str) -> str:
        """`followed before: 1.2x ...`; empty where it never was."""
        line = self.rules.get(rule)
        return "" if line is None else f"followed before: {line.describe()}"

    @property
    def neighbours(self) -> tuple[str, ...]:
        """The most promising methods after the variant's own, with what was measured."""
        lines = list(self.steps.items())[:MOST_NEIGHBOURS]
        return tuple(f"{method}: {line.describe()}" for method, line in lines)


def earlier_searches(
    bench: Bench, kernel: KernelRecord, record: VariantRecord, known: Evidence
) -> EarlierSearches:
    """Read from the store; all searches there count, and what was imported."""
    spec = kernel.loaded.spec
    arch, language = spec.device_profile.arch, spec.kernel.kernel_type
    posteriors = Posteriors(learned_for(regraph_of(bench.store), language))
    own = posteriors.regraph.name(record.method)
    after = offered((line for line in edges(posteriors) if line.previous == own), language)
    memory = recall(bench.store, kernel.kernel_id)
    return EarlierSearches(
        factors=regraph_weights(posteriors, own, known.bottleneck, arch, language),
        steps={line.method: line for line in by_gain(after)},
        rules=brought(posteriors, "rule"),
        remembered=tuple(
            cut(idea.describe(), LONGEST) for idea in memory.at(record.variant.variant_id).ideas
        ),
    )
