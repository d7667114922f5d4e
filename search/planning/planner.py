"""Planners: who proposes candidates, as generators that yield questions and receive replies.

A planner does no I/O. One that knows the answer returns its candidates at once; one that
needs somebody else yields a `Question`, is sent a `Reply`, and returns the candidates.
The same generator then serves a client, a model behind an API and a test with `next` and `send`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...runners.model import BuildOptions, Candidate, Ending, Record
from ...runners.specs.spec import KernelSpec
from ..memory import Idea, Recollection
from ..moves.shared.base import State


class Tried(Record):
    """One candidate that was already proposed from a node, and how it ended."""

    candidate: Candidate
    ending: Ending | None = None
    """None: not evaluated yet, or pruned (then `message` says why)"""
    speedup: float | None = None
    """over the baseline; None unless measured"""
    message: str = ""

    @property
    def method(self) -> str:
        """Canonical move id, or free text."""
        return self.candidate.method

    @property
    def detail(self) -> str:
        """What exactly was proposed, in words."""
        return self.candidate.detail


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the search knows of a node."""

    visits: int = 1
    ending: Ending = Ending.tie
    speedup: float | None = 1.0
    """over the baseline; None unless measured"""
    interval: tuple[float, float] | None = None
    """95 % interval of the speedup"""
    best_speedup: float = 1.0
    """the largest speedup of any variant reached through this node, itself included"""
    message: str = ""
    """why the variant failed; empty for one that was measured"""


@dataclass(frozen=True, slots=True)
class Context:
    """All that a planner may see when it is asked for candidates from one node.

    The caller of the engine gives the first four, what a profile found, weights and memory; the
    engine fills in the rest and takes held-out workloads out of the spec.
    """

    search_id: str
    variant_id: str
    state: State
    """the kernel as it is in the node: source, parameters, options, plan, and the spec"""
    headroom: str = ""
    """what limits the kernel and how far the floor is, in words"""
    statistics: Statistics = Statistics()
    history: tuple[Tried, ...] = ()
    """everything proposed from this node so far, oldest first"""
    wanted: int = 1
    """how many new candidates are useful now"""
    bottleneck: str = ""
    """what bounds the variant, where the search has profiled it (`Settings.ncu_every`)"""
    findings: tuple[str, ...] = ()
    """ids of the rules that fired on that profile, the one to act on first"""
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    """by method: what is known of the node makes of a candidate's prior, as a factor; 1 where a
    method is not named, and 0 where it is to be left out"""
    ways: Callable[[str, str], float] = lambda method, way: 1.0
    """by method and way (`search/regraph/ways.py`): a further factor, of what that way brought on
    other kernels"""
    memory: Recollection = field(default_factory=Recollection)
    """what earlier searches of the kernel tried from this state, and what failed in others"""
    new_code: Callable[[Candidate], float] = lambda _: 1.0
    """the chance that a candidate gives machine code which the search does not know yet"""
    paying: bool = True
    """whether the search found a new incumbent within its last `Settings.change_over` evaluations;
    the engine fills it in"""
    answered: bool = False
    """the question that this planner put is answered: it is started again to be given the reply"""

    @property
    def spec(self) -> KernelSpec:
        """The kernel's spec, without held-out workloads."""
        return self.state.spec


class Question(Record):
    """What a planner that cannot answer alone asks for: candidates that start from one node."""

    search_id: str
    variant_id: str
    """the node's variant: diffs apply to its source, parameters replace its values"""
    source: str
    parameters: dict[str, int]
    options: BuildOptions
    plan: dict[str, Any] | None
    speedup: float | None
    """of this variant over the baseline"""
    ending: Ending
    tried: tuple[Tried, ...]
    headroom: str
    wanted: int
    bottleneck: str = ""
    findings: tuple[str, ...] = ()
    message: str = ""
    """why this variant failed, where its repair is asked for"""
    remembered: tuple[Idea, ...] = ()
    """what earlier searches of the kernel tried from this very state, and what failed in others:
    the most telling"""


class Reply(Record):
    """The answer to a Question; no candidates means that there is nothing more to try here."""

    candidates: tuple[Candidate, ...]


PlannerRun = Generator[Question, Reply, tuple[Candidate, ...]]
Planner = Callable[[Context], PlannerRun]


def client_planner(context: Context) -> PlannerRun:
    """Whoever drives the search proposes: one question, and the reply is taken as it is."""
    reply = yield question_from(context)
    return reply.candidates


def question_from(context: Context) -> Question:
    """The question that a context raises."""
    return Question(
        search_id=context.search_id,
        variant_id=context.variant_id,
        source=context.state.source,
        parameters=dict(context.state.parameters),
        options=context.state.options,
        plan=None if context.state.plan is None else dict(context.state.plan),
        speedup=context.statistics.speedup,
        ending=context.statistics.ending,
        tried=context.history,
        headroom=context.headroom,
        wanted=context.wanted,
        bottleneck=context.bottleneck,
        findings=context.findings,
        message=context.statistics.message,
        remembered=context.memory.ideas,
    )


def run_planner(
    planner: Planner, context: Context, replies: tuple[Reply, ...] = ()
) -> Question | tuple[Candidate, ...]:
    """Drive a planner with the replies at hand: its next question, or its candidates.

    Generators hold no state that outlives a call, so a search can be resumed in
    another process: the planner is started again and given the replies so far.
    """
    run = planner(context)
    try:
        question = next(run)
        for reply in replies:
            question = run.send(reply)
    except StopIteration as finished:
        return finished.value
    run.close()
    return question


def without_held_out(spec: KernelSpec) -> KernelSpec:
    """The spec as planners see it: held-out workloads judge the winner and stay unknown."""
    visible = tuple(w for w in spec.workloads if not w.held_out)
    return spec.model_copy(update={"workloads": visible})
