"""The search engine: says what to evaluate or ask next, and takes in what came of it.

Steppable and pure in memory: it evaluates nothing and asks nobody. Given the same outcomes in
the same order it makes the same decisions, also when it was stopped and built again from its
records, because every decision follows from facts in the graph and from `settings.seed`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random

from ..runners.errors import HandleUnknown
from ..runners.model import Candidate, Ending
from .backup import count_walk, refresh
from .graph import Edge, Graph, Node, edge_record, node_record
from .planner import (
    Context,
    Planner,
    Question,
    Reply,
    Statistics,
    Tried,
    run_planner,
    without_held_out,
)
from .selection import EXPAND, POLICIES, slots
from .settings import Settings
from .work import Ask, Changes, Evaluate, Outcome, Stopped, Waiting, Work, after, ledger_of


class Engine:
    """A search over one graph, one step at a time.

    `context_of` gives the planner's context of a node (the engine adds statistics, history and
    `wanted`). `ceiling` is the largest speedup over the baseline that the physics
    floor allows, None when unknown. Not for use by two threads at once.
    """

    def __init__(
        self,
        graph: Graph,
        settings: Settings,
        planner: Planner,
        context_of: Callable[[Node], Context],
        ceiling: float | None = None,
    ) -> None:
        self.graph = graph
        self.settings = settings
        self.ledger = ledger_of(graph)
        self._planner = planner
        self._context_of = context_of
        self._ceiling = ceiling
        self._paths: dict[str, list[Edge]] = {}
        self._changed_nodes: dict[str, None] = {}
        self._changed_edges: dict[str, None] = {}
        self._notes: list[str] = []
        # Later nodes first: most are descendants of earlier ones.
        refresh(graph, reversed(graph.nodes), settings)

    @property
    def incumbent(self) -> Node:
        """The best node so far by paired comparison; the root at the start."""
        return self.graph.node(self.ledger.incumbent)

    def next_work(self) -> Work:
        """What to do next. Changes of the graph go out with the next Changes.

        Asked again before an answer it gives the same question; an Evaluate is given once.
        Expanding starts the walk anew, so that where the walk ends depends on the graph alone
        and not on how it came about: a search that is resumed here ends at the same edge.
        """
        while True:
            if halted := self._halted():
                return halted
            path, leaf = self._walk()
            if leaf is None:
                return self._start(path)
            found = run_planner(self._planner, self.context(leaf))
            if isinstance(found, Question):
                return Ask(leaf.key, found)
            self._admit(leaf, found)

    def likely_next(self, most: int) -> list[tuple[str, Candidate]]:
        """Candidates (with their parents) that `next_work` may give soon, the likeliest first.

        A guess, for whoever builds ahead: nothing changes, and no decision depends on it. Open
        edges come first, then what the planner would propose at the nodes worked at now, if it
        does so without a question.
        """
        busy = dict.fromkeys(path[-1].parent for path in self._paths.values())
        edges = [e for e in self.graph.edges.values() if e.state == "open" and not e.pruned]
        edges.sort(key=lambda e: (e.parent not in busy, -e.prior))
        found = [(e.parent, e.candidate) for e in edges[:most]]
        for key in dict.fromkeys((*busy, self.ledger.incumbent)):
            if len(found) < most:
                found += [(key, c) for c in self._proposals(self.graph.node(key), most)]
        return found[:most]

    def _proposals(self, node: Node, most: int) -> list[Candidate]:
        """What would be new at a node."""
        if node.exhausted:
            return []
        proposed = run_planner(self._planner, replace(self.context(node), wanted=most))
        known = {_identity(e.candidate) for e in self.graph.edges_of(node.key)}
        new = () if isinstance(proposed, Question) else proposed
        return [c for c in new if _identity(c) not in known and not self._pruned_because(c)]

    def answer(self, node_id: str, reply: Reply) -> Changes:
        """Take in the candidates that answer a question about a node.

        Candidates that are there already are dropped, so the same answer may come twice.
        No candidates: nothing more is asked about this node. Raises HandleUnknown.
        """
        node = self.graph.node(node_id)
        candidates = run_planner(self._planner, self.context(node), (reply,))
        if isinstance(candidates, Question):
            raise ValueError("a planner asks one question at a time; this one asked a second")
        self._admit(node, candidates, exhausts=not reply.candidates)
        return self.changes()

    def record(self, edge_id: str, outcome: Outcome) -> Changes:
        """Take in how an evaluation ended. Raises HandleUnknown when the edge is not running.

        A lost evaluation reopens its edge; the attempt counts as visits on its path, so that other
        edges come first, and towards patience, so that losing all of them comes to an end.
        """
        path = self._path_of(edge_id)
        edge = path[-1]
        edge.steps += (self.ledger.steps,)
        edge.builds += outcome.spent_build
        edge.message = outcome.message
        if outcome.ending is Ending.lost:
            edge.state = "open"
        else:
            self._settle(edge, outcome)
        count_walk(self.graph, path)
        self.ledger = after(self.ledger, outcome)
        keys = [e.parent for e in reversed(path)]
        self._touch(keys, (e.edge_id for e in path))
        refresh(self.graph, [edge.child, *keys] if edge.child else keys, self.settings)
        return self.changes()

    def changes(self) -> Changes:
        """Records that changed since they were last handed out; for a commit after `next_work`."""
        nodes = (self.graph.nodes[key] for key in self._changed_nodes)
        edges = (self.graph.edges[edge_id] for edge_id in self._changed_edges)
        changes = Changes(
            tuple(node_record(self.graph, node) for node in nodes),
            tuple(edge_record(edge) for edge in edges),
            tuple(self._notes),
        )
        self._changed_nodes.clear()
        self._changed_edges.clear()
        self._notes.clear()
        return changes

    def _touch(self, nodes: Iterable[str], edges: Iterable[str]) -> None:
        self._changed_nodes.update(dict.fromkeys(nodes))
        self._changed_edges.update(dict.fromkeys(edges))

    def _halted(self) -> Waiting | Stopped | None:
        stopped = self._stopped()
        return Waiting(tuple(self._paths)) if stopped and self._paths else stopped

    def _stopped(self) -> Stopped | None:
        settings, ledger = self.settings, self.ledger
        if ledger.builds + len(self._paths) >= settings.budget_builds:
            return Stopped("budget", f"{ledger.builds} builds are spent, the whole budget")
        if ledger.since_incumbent >= settings.patience:
            text = f"{ledger.since_incumbent} evaluations brought no new incumbent"
            return Stopped("patience", text)
        speedup = self.incumbent.speedup or 1.0
        if self._ceiling is not None and self._ceiling < speedup * (1 + settings.min_gain):
            text = (
                f"the incumbent is {speedup:.3g}x the baseline and the physics floor allows "
                f"{self._ceiling:.3g}x: less than min_gain is left"
            )
            return Stopped("headroom", text)
        if not self.graph.root.available:
            return Stopped("exhausted", "every candidate was tried and the planner has no more")
        return None

    def _walk(self) -> tuple[list[Edge], Node | None]:
        """The path from the root to an open edge, or to the node (second) that expands."""
        rng = Random(f"{self.settings.seed}:{self.ledger.steps}")
        policy = POLICIES[self.settings.policy]
        path: list[Edge] = []
        node = self.graph.root
        while True:
            choice = policy(self.graph, node, self.settings, rng)
            if choice is EXPAND:
                return path, node
            path.append(choice)
            if choice.child is None:
                return path, None
            node = self.graph.nodes[choice.child]

    def _start(self, path: list[Edge]) -> Evaluate:
        edge = path[-1]
        edge.state = "running"
        self._paths[edge.edge_id] = path
        self._touch((), (edge.edge_id,))
        refresh(self.graph, [edge.parent], self.settings)
        return Evaluate(edge.edge_id, edge.parent, edge.candidate)

    def context(self, node: Node) -> Context:
        """What a planner sees of a node: no held-out workloads, and all that was tried there."""
        context = self._context_of(node)
        state = replace(context.state, spec=without_held_out(context.spec))
        statistics = Statistics(
            visits=node.visits,
            ending=node.ending,
            speedup=node.speedup,
            interval=node.interval,
            best_speedup=2.0**node.value,
        )
        return replace(
            context,
            state=state,
            statistics=statistics,
            history=tuple(self._tried(e) for e in self.graph.edges_of(node.key)),
            wanted=max(slots(self.graph, node, self.settings), 1),
        )

    def _tried(self, edge: Edge) -> Tried:
        speedup = None if edge.child is None else self.graph.nodes[edge.child].speedup
        return Tried(
            candidate=edge.candidate, ending=edge.ending, speedup=speedup, message=edge.message
        )

    def _admit(
        self, node: Node, candidates: tuple[Candidate, ...], *, exhausts: bool = True
    ) -> None:
        """Turn candidates into edges; when none is new the node is exhausted, if that `exhausts`.

        A planner that gives the same again without being asked anything has no more to give.
        """
        fresh = self._fresh(node, candidates)
        kept = [c for c in fresh if not self._pruned_because(c)]
        mean = sum(c.prior for c in kept) / len(kept) if kept else 1.0
        for candidate in fresh:
            edge = self.graph.add_edge(node.key, candidate, candidate.prior / mean)
            if reason := self._pruned_because(candidate):
                edge.state, edge.message = "done", reason
                self._notes.append(f"{candidate.method}: {reason}")
            self._touch((), (edge.edge_id,))
        node.exhausted = not fresh and (exhausts or node.exhausted)
        self._touch((node.key,), ())
        refresh(self.graph, [node.key], self.settings)

    def _fresh(self, node: Node, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Candidates new to the node; one that was pruned may come back promising more."""
        edges = self.graph.edges_of(node.key)
        seen = {_identity(e.candidate) for e in edges if not e.pruned}
        pruned = {_identity(e.candidate) for e in edges if e.pruned}
        fresh: list[Candidate] = []
        for candidate in candidates:
            identity = _identity(candidate)
            known = identity in seen or (identity in pruned and self._pruned_because(candidate))
            if known:
                self._notes.append(f"{candidate.method}: was proposed here before, dropped")
            else:
                seen.add(identity)
                fresh.append(candidate)
        return fresh

    def _pruned_because(self, candidate: Candidate) -> str:
        gain, least = candidate.predicted_gain, self.settings.min_pred_gain
        if gain is None or gain >= least:
            return ""
        return f"predicted gain {gain:.1%} is below min_pred_gain {least:.1%}"

    def _path_of(self, edge_id: str) -> list[Edge]:
        edge = self.graph.edge(edge_id)
        if edge_id not in self._paths:
            ended = f"ended as `{edge.ending}`" if edge.ending else f"is {edge.state}"
            raise HandleUnknown(
                f"edge `{edge_id}` is not being evaluated; it {ended}",
                valid=", ".join(self._paths) or "no edge is running now",
                next_step="ask the search for its next work and record the edge that it names",
            )
        return self._paths.pop(edge_id)

    def _settle(self, edge: Edge, outcome: Outcome) -> None:
        edge.state = "done"
        edge.ending = outcome.ending
        edge.duplicate = outcome.duplicate_of_known
        edge.became_incumbent = outcome.became_incumbent
        if outcome.variant_id is None:
            return
        key, known = outcome.variant_id, self.graph.nodes.get(outcome.variant_id)
        facts = (outcome.ending, outcome.speedup, outcome.interval, self.settings.failure_reward)
        if known is None:
            self.graph.add_node(key, *facts)
        elif outcome.ending.final and not known.ending.final:
            self.graph.judge_again(known, *facts)
        self.graph.link_child(edge, key)
        if known is not None and not edge.closes_cycle:
            known.visits += 1
        self._touch((key,), ())


def _identity(candidate: Candidate) -> str:
    """What a candidate changes, whatever it is called and whatever it promises."""
    changes = candidate.model_dump(
        mode="json", include={"source", "diff", "plan", "options", "parameters"}
    )
    return json.dumps(changes, sort_keys=True)
