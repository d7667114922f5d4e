"""What became of a candidate: its variant, how that was evaluated, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...runners.model import Ending, Evaluation
from ..engine.work import Outcome
from ..graph.nodes import Node


@dataclass(frozen=True)
class TuningCost:
    """What the tuning of a candidate's knobs cost, beside its best configuration."""

    builds: int
    said: str
    """how many were tried, and how they ended"""
    seconds: Mapping[str, float]
    """spent on all, by stage"""


@dataclass(frozen=True)
class CandidateResult:
    """A candidate's variant with its evaluation. `known`: it was on disk before. `several`: it is
    the best of several configurations. `promoted`: it was reconsidered, and is the incumbent."""

    variant_id: str
    evaluation: Evaluation
    known: bool
    several: TuningCost | None = None
    promoted: bool = False

    @property
    def builds(self) -> int:
        """What it cost: nothing where its machine code was known, and was not run again."""
        if self.several is not None:
            return self.several.builds
        evaluation = self.evaluation
        paid = evaluation.ending is not Ending.rejected and evaluation.same_code_as is None
        return int(paid and not self.known)

    @property
    def seconds(self) -> Mapping[str, float]:
        """What was spent on it, by stage."""
        return self.evaluation.seconds if self.several is None else self.several.seconds

    def outcome(self, node: Node | None, incumbent: str) -> Outcome:
        """The engine's view of it. `node`: the variant's in the search's graph, if it has one.
        `incumbent`: the kernel's now; what was the incumbent before the search met it, and is no
        longer, is no success of the search."""
        evaluation, several = self.evaluation, self.several
        # beside it another candidate may have given the same variant: it was evaluated once
        fresh = not self.known and (node is None or not node.ending.final)
        builds = self.builds if fresh or several else 0
        still = self.variant_id == incumbent
        return Outcome(
            ending=evaluation.ending,
            variant_id=self.variant_id,
            speedup=evaluation.speedup,
            interval=evaluation.interval,
            became_incumbent=self.promoted
            or (evaluation.became_incumbent and (fresh or (node is None and still))),
            duplicate_of_known=node is not None and not fresh and not builds,
            message=f"{several.said}: {evaluation.message}" if several else evaluation.message,
            same_code_as=evaluation.same_code_as,
            builds=builds,
        )
