"""Random worlds for the engine: any ending, lost processes, known variants, candidates that give no
variant, shared machine code, and candidates with knobs that spend several builds."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from hypothesis import strategies as st
from search_landscape import VALUES, World, neighbours

from kernelwright.runners.model import Candidate, Ending
from kernelwright.search.engine.engine import Engine
from kernelwright.search.engine.work import Evaluate, Outcome, Stopped
from kernelwright.search.planning.planner import Context, PlannerRun

FATES = ("measure", "lost", "lost after build", "fail", "no variant", "unstable", "twin")
fates = st.lists(st.sampled_from(FATES), min_size=1, max_size=30)
ways = st.fixed_dictionaries(
    {
        "policy": st.sampled_from(["puct", "pucb", "greedy", "beam", "random"]),
        "backup": st.sampled_from(["max", "mean"]),
        "rewards": st.sampled_from(["log2", "regrapht"]),
        "first_play": st.sampled_from([0.5, 1.0]),
        "noise_fraction": st.sampled_from([0.0, 0.5]),
        "restart_epsilon": st.sampled_from([0.0, 0.3]),
        "rollout_steps": st.sampled_from([0, 3]),
        "repair_visits": st.integers(0, 2),
        "beam_width": st.integers(1, 3),
        "seed": st.integers(0, 3),
    }
)
"""Settings that change decisions, in any combination."""


def with_knobs(context: Context) -> PlannerRun:
    """The neighbours, and from where a parameter is at its first value a sweep over it."""
    found = yield from neighbours(context)
    tried = {tuple(t.candidate.knobs or ()) for t in context.history}
    for name, values in VALUES.items():
        if context.state.parameters[name] == values[0] and (name,) not in tried:
            return Candidate(method=f"tune {name}", knobs={name: values}), *found
    return found


class Fateful:
    """A world whose outcomes follow a drawn list, over and over; a variant keeps its verdict and
    its twin."""

    def __init__(self, drawn: list[str]) -> None:
        self.drawn = drawn
        self.world = World()
        self.calls = 0
        self.first: str | None = None
        self.twins: dict[str, str | None] = {}
        self.failed: dict[str, bool] = {}
        self.builds = 0

    def __call__(self, work: Evaluate) -> Outcome:
        fate = self.drawn[self.calls % len(self.drawn)]
        self.calls += 1
        outcome = self.outcome(self.tuned(work), fate)
        if work.candidate.knobs and outcome.spent_build:
            outcome = replace(outcome, builds=1 + self.calls % work.builds)
        self.builds += outcome.builds
        return outcome

    def tuned(self, work: Evaluate) -> Evaluate:
        """The work with its knobs at the last value."""
        if work.candidate.knobs is None:
            return work
        best = {name: values[-1] for name, values in work.candidate.knobs.items()}
        return replace(work, candidate=Candidate(method="tuned", parameters=best))

    def outcome(self, work: Evaluate, fate: str) -> Outcome:
        if fate.startswith("lost"):
            return Outcome(Ending.lost, spent_build=fate == "lost after build")
        if fate == "no variant":
            return Outcome(Ending.rejected, message="the diff does not apply")
        outcome = self.world(work)
        key = outcome.variant_id
        assert key is not None
        twin = self.twins.setdefault(key, self.first if fate == "twin" else None)
        self.first = self.first or key
        outcome = replace(outcome, same_code_as=twin)
        if self.failed.setdefault(key, fate == "fail"):
            known = outcome.duplicate_of_known
            return Outcome(
                Ending.wrong,
                key,
                duplicate_of_known=known,
                spent_build=not known,
                same_code_as=twin,
            )
        if fate == "unstable" and outcome.speedup and not outcome.duplicate_of_known:
            return replace(outcome, ending=Ending.unstable, became_incumbent=False)
        return outcome


def drive_together(engine: Engine, world: Fateful, lanes: int, turns: list[int]) -> list[str]:
    """Several evaluations at a time, told in the order that `turns` says; the edges as given.

    Outcomes are drawn when they are told. At no moment may more builds be spent or held than the
    budget has.
    """
    running, given, told = deque[Evaluate](), list[str](), 0
    while True:
        work = engine.next_work() if len(running) < lanes else None
        if isinstance(work, Stopped):
            assert not running
            return given
        if isinstance(work, Evaluate):
            running.append(work)
            given.append(work.edge_id)
            held = sum(each.builds for each in running)
            assert engine.ledger.builds + held <= engine.settings.budget_builds
            continue
        running.rotate(-turns[told % len(turns)])
        told += 1
        first = running.popleft()
        engine.record(first.edge_id, world(first))
