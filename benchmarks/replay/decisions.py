"""Whether a recorded search would be made again: its log is replayed, decision by decision."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kernelwright.runners.model import Candidate, Ending
from kernelwright.search.engine.engine import Engine
from kernelwright.search.engine.work import Ask, Evaluate, Outcome, Stopped, Waiting
from kernelwright.search.graph.graph import Graph
from kernelwright.search.graph.nodes import Node
from kernelwright.search.graph.records import JsonObject
from kernelwright.search.planning.planner import Context, PlannerRun
from kernelwright.search.settings import Settings
from replay.world import STATE

SAME_SCALE: Final = 1e-9
"""Edge priors are shares of their question's mean: how exactly two of one question agree on it"""

Weights = Callable[[Node], Mapping[str, float]]


@dataclass(frozen=True)
class Log:
    """A search as it went: candidates in the order of proposal, outcomes in that of the steps."""

    settings: Settings
    root: str
    edges: tuple[JsonObject, ...]
    outcomes: tuple[tuple[str, Outcome], ...]
    """with the id of the edge that they were recorded on"""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where the engine decides otherwise than was recorded."""

    step: int
    """outcomes before it that agree"""
    recorded: str
    taken: str

    def __str__(self) -> str:
        return f"after {self.step} steps: recorded is {self.recorded}; now {self.taken}"


class _Departs(Exception):
    """The engine asks about another node than the one that was asked about."""


def log_of(
    settings: Settings,
    nodes: Iterable[JsonObject],
    edges: Iterable[JsonObject],
    transitions: Iterable[JsonObject] = (),
) -> Log:
    """The log in the records of one search, in any order.

    `transitions`: the search's own; they keep what every single evaluation measured, of which a
    node keeps the last: a search that met `unstable` variants twice needs them. An edge that lost
    evaluations says how many builds it cost in all; each attempt counts with its share.
    """
    by_key = {node["key"]: node for node in nodes}
    measured = {t["edge_id"]: t for t in transitions}
    ordered = tuple(sorted(edges, key=lambda e: int(e["edge_id"][1:])))
    steps = [(step, edge) for edge in ordered for step in edge["steps"]]
    steps.sort(key=lambda each: each[0])
    return Log(
        settings,
        next(key for key, node in by_key.items() if node["root"]),
        ordered,
        tuple(
            (edge["edge_id"], _outcome(edge, step, by_key, measured.get(edge["edge_id"])))
            for step, edge in steps
        ),
    )


def decisions(
    log: Log, *, parallel: int = 1, client: bool = False, weights: Weights | None = None
) -> Difference | None:
    """The first decision that the engine takes otherwise than recorded; None: all are the same.

    Compared is which node is expanded and which edge evaluated, in which order. `parallel`: how
    many evaluations were under way at a time. `weights`: of methods, as planners saw them.
    Candidates that were proposed at one node without anything between count as one answer, as long
    as their priors have one scale; and they are not more than were wanted, unless it was a `client`
    who answered.
    """
    graph = Graph()
    graph.add_root(log.root)
    engine = Engine(
        graph,
        log.settings,
        _planner(log, graph, client),
        lambda node: Context("replay", node.key, STATE, weights=weights(node) if weights else {}),
    )
    running = deque[Evaluate]()
    for step, (edge_id, outcome) in enumerate(log.outcomes):
        try:
            work = _begin(engine, running, parallel)
        except _Departs as departs:
            return Difference(step, f"evaluate {_named(log, edge_id)}", str(departs))
        if not running:
            return Difference(step, f"evaluate {_named(log, edge_id)}", _told(work))
        taken = running.popleft().edge_id
        if taken != edge_id:
            return Difference(
                step, f"evaluate {_named(log, edge_id)}", f"evaluate {_named(log, taken)}"
            )
        engine.record(edge_id, outcome)
    return None


def _begin(
    engine: Engine, running: deque[Evaluate], parallel: int
) -> Ask | Waiting | Stopped | None:
    while len(running) < parallel:
        work = engine.next_work()
        if not isinstance(work, Evaluate):
            return work
        running.append(work)
    return None


def _planner(log: Log, graph: Graph, client: bool) -> Callable[[Context], PlannerRun]:
    """Proposes the candidates that come next in the log, if they belong to the node."""
    last = {edge["parent"]: number for number, edge in enumerate(log.edges)}

    def planner(context: Context) -> PlannerRun:
        yield from ()
        here, now = context.variant_id, len(graph.edges)
        answer = _answer(log.edges, now, here, len(log.edges) if client else context.wanted)
        if not answer and last.get(here, -1) >= now:
            raise _Departs(
                f"expand {here}, where the next candidate is one of {log.edges[now]['parent']}"
            )
        return tuple(Candidate.model_validate(e["candidate"]) for e in answer)

    return planner


def _answer(edges: Sequence[JsonObject], first: int, node: str, most: int) -> list[JsonObject]:
    """The records from the first on that belong to one answer for a node."""
    answer = list[JsonObject]()
    for number in range(first, min(first + most, len(edges))):
        edge = edges[number]
        same = not answer or math.isclose(_scale(edge), _scale(answer[0]), rel_tol=SAME_SCALE)
        if edge["parent"] != node or not same:
            break
        answer.append(edge)
    return answer


def _scale(edge: JsonObject) -> float:
    """The mean prior of the question that brought an edge."""
    return edge["candidate"].get("prior", 1.0) / edge["prior"]


def _outcome(
    edge: JsonObject, step: int, nodes: Mapping[str, JsonObject], measured: JsonObject | None
) -> Outcome:
    each, rest = divmod(edge["builds"], len(edge["steps"]))
    if step != edge["steps"][-1] or edge["state"] != "done":
        return Outcome(Ending.lost, message=edge["message"], builds=each)
    ending = Ending(edge["ending"])
    found: Mapping[str, Any] = measured or nodes.get(edge["child"] or "", {})
    return Outcome(
        ending=ending,
        variant_id=edge.get("variant") or edge["child"],
        speedup=found["speedup"] if ending.measured else None,
        interval=_interval(found.get("interval")) if ending.measured else None,
        became_incumbent=edge["became_incumbent"],
        duplicate_of_known=edge["duplicate"],
        message=edge["message"],
        same_code_as=edge.get("same_code_as"),
        builds=0 if edge["duplicate"] else each + rest,
    )


def _interval(ends: Sequence[float] | None) -> tuple[float, float] | None:
    return None if ends is None else (ends[0], ends[1])


def _named(log: Log, edge_id: str) -> str:
    edge = log.edges[int(edge_id[1:])]
    return f"{edge_id} ({edge['candidate']['method']} at {edge['parent']})"


def _told(work: Ask | Waiting | Stopped | None) -> str:
    match work:
        case Stopped(reason, text):
            return f"stop by {reason}: {text}"
        case Ask(node_id, _):
            return f"ask about {node_id}"
        case _:
            return "wait"
