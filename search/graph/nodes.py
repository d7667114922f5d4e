"""What a search graph is made of: nodes and edges, with what selection keeps at a node.

Facts go into records (`graph_records`); what follows from them is computed again on load
(`backup.refresh`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from ...runners.model import Candidate, Ending
from .proposal import Proposal
from .rewards import Worth

EdgeState = Literal["open", "running", "done"]
NOTHING: Final = Worth(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Arms:
    """What selection knows of a node's edges as long as neither they nor their children change."""

    edges: list[Edge]
    """those that may be followed, in the order of proposal"""
    untried: list[Edge]
    """those of them that are open, the largest prior first"""
    proposed: int
    """edges that were not put aside"""
    lows: list[float]
    """low end of the value of each that may be followed; of one without a child, `unseen`"""
    priors: list[float]
    unseen: float
    version: int = 0
    """of `KnownCode`, on which values and priors of open edges rest"""
    placed: dict[tuple[float, float, bool], Placed] = field(
        default_factory=dict[tuple[float, float, bool], "Placed"]
    )
    """by the scale, and with or without the arm that expands"""


class Placed(NamedTuple):
    """Arms of a node in columns, `expand` last: what does not change with visits."""

    q: list[float]
    """`lows` normalised"""
    priors: list[float]
    total: float
    """of the priors"""


@dataclass(slots=True)
class Node:
    """A variant that was evaluated, with what the search learned through it."""

    key: str
    """variant id"""
    ending: Ending
    speedup: float | None
    """over the baseline; None unless measured"""
    interval: tuple[float, float] | None
    """95 % interval of the speedup"""
    visits: int = 1
    """evaluations on walks that came through here, its own included"""
    walked: int = field(default=0, compare=False)
    """steps made when the last of these walks was counted"""
    exhausted: bool = False
    """the planner has nothing more to propose here"""
    own: Worth = NOTHING
    """its own reward"""
    played: Worth = NOTHING
    """the best of its own and of the rollout that went on from it"""
    best: Worth = NOTHING
    """the best own reward at it or below"""
    backed: Worth = NOTHING
    """as the search's backup says"""
    available: bool = True
    """something here or below can be chosen now"""
    running: int = field(default=0, compare=False)
    """evaluations under way on walks through here"""
    arms: Arms | None = field(default=None, compare=False, repr=False)
    """what selection worked out, until something changes here; `backup.refresh` forgets it"""

    @property
    def failed(self) -> bool:
        """Whether the variant did not get as far as a measurement."""
        return not self.ending.measured

    @property
    def reward(self) -> float:
        """Its own (`rewards.reward_of`)."""
        return self.own.value

    @property
    def value(self) -> float:
        """As backed up from what was reached through this node."""
        return self.backed.value


@dataclass(slots=True)
class Edge:
    """A candidate proposed from a node, and what came of it."""

    edge_id: str
    parent: str
    proposal: Proposal
    prior: float
    """weight relative to an average candidate of the same question (1 = average)"""
    state: EdgeState = "open"
    child: str | None = None
    """the node that it leads to; None until evaluated, or when the candidate gave no variant"""
    variant: str | None = None
    """the variant that the candidate gave, where it is not the child itself but has its machine
    code: both sources are kept, under one measurement"""
    same_code_as: str | None = None
    """the variant whose measurement was shared, if that was so"""
    closes_cycle: bool = False
    """the child is the parent or one of its ancestors: recorded, never walked"""
    ending: Ending | None = None
    """None and done: put aside, `message` says why"""
    message: str = ""
    visits: int = 0
    """times that this edge was walked, whatever other edges lead to its child"""
    walked: int = field(default=0, compare=False)
    """steps made when the last of these walks was counted"""
    walks: tuple[str, ...] = ()
    """for each of its last steps, the numbers of the edges that were walked before it"""
    steps: tuple[int, ...] = ()
    """numbers of the steps whose outcome was recorded here; more than one if some were lost"""
    builds: int = 0
    """builds spent on it"""
    duplicate: bool = False
    """the variant was known already, nothing was evaluated"""
    became_incumbent: bool = False
    rollout: int = 0
    """which step of a rollout it was evaluated as; 0: of none"""
    running: int = field(default=0, compare=False)
    """evaluations under way on walks along it"""
    identity: bytes = field(default=b"", compare=False)
    """what the candidate changes, as `admission.identity_of` remembers it"""

    @property
    def candidate(self) -> Candidate:
        """What was proposed."""
        return self.proposal.candidate

    @property
    def cost_nothing(self) -> bool:
        """Whether its last outcome was known before (the variant, or its machine code), and no
        success. Where builds were spent, in a sweep or as it was lost, it cost something."""
        known_code = self.same_code_as is not None and not self.builds
        return not self.became_incumbent and (self.duplicate or known_code)

    @property
    def pruned(self) -> bool:
        """Whether it was put aside without an evaluation."""
        return self.state == "done" and self.ending is None
