"""The search engine: says what to evaluate or ask next, and takes in what came of it.

Steppable and pure in memory: it evaluates nothing and asks nobody. Given the same outcomes in
the same order it makes the same decisions, also when it was stopped and built again from its
records, because every decision follows from facts in the graph and from `settings.seed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from ...runners.errors import HandleUnknown
from ...runners.model import Candidate, Ending
from ..graph.graph import Graph
from ..graph.nodes import Edge, Node
from ..graph.records import edge_record, node_record, numbers_of
from ..planning.planner import Context, Planner, Question, Reply, run_planner
from ..policies.selection import Choice, untried
from ..settings import Settings
from .admission import admit, put_aside, reason_against, reopen, unknown
from .backup import count_walk, mark_walk, refresh, refresh_all
from .context import context_at
from .decisions import Decision, backed_up, expanded, pruned, selected
from .walking import Start, Walk, walk
from .work import Ask, Changes, Evaluate, Outcome, Stopped, Waiting, Work, after, ledger_of, newest

KNOWN_IN_A_ROW: Final = 4
"""times the patience: what is known costs neither builds nor patience, so a planner that never runs
out of spellings of it would keep a search going for ever; each still costs the time of a build"""


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
        self._running: dict[str, Walk] = {}
        self._held = 0
        self._asks = False
        self._newest = newest(graph)
        self._changed_nodes: dict[str, None] = {}
        self._changed_edges: dict[str, None] = {}
        self._notes: list[str] = []
        self.log: list[Decision] | None = None
        """where decisions are told, if somebody wants to know them; nothing follows from it"""
        refresh_all(graph, settings)

    @property
    def incumbent(self) -> Node:
        """The best node so far by paired comparison; the root at the start."""
        return self.graph.node(self.ledger.incumbent)

    @property
    def idle(self) -> bool:
        """Whether no evaluation is under way."""
        return not self._running

    @property
    def waiting(self) -> tuple[Candidate, ...]:
        """Candidates that nobody has begun to evaluate, in the order of proposal."""
        return tuple(e.candidate for e in self.graph.edges.values() if e.state == "open")

    def next_work(self) -> Work:
        """What to do next. Changes of the graph go out with the next Changes.

        Asked again before an answer it gives the same question; an Evaluate is given once.
        Expanding starts the walk anew, so that where the walk ends depends on the graph alone
        and not on how it came about: a search that is resumed here ends at the same edge.
        """
        while True:
            if halted := self._halted():
                return halted
            found = self._walk()
            if found.expands is None:
                return self._begin(found)
            context = self.context(found.expands)
            if self._reopen(found.expands, context):
                continue
            proposed = run_planner(self._planner, context)
            self._asks = isinstance(proposed, Question)
            if isinstance(proposed, Question):
                return Ask(found.expands.key, proposed)
            self._admit(found.expands, proposed, context)

    def likely_next(self, most: int) -> list[tuple[str, Candidate]]:
        """Candidates (with their parents) that `next_work` may give soon, the likeliest first.

        A guess, for whoever builds ahead: nothing changes, and no decision depends on it. Open
        edges of the nodes worked at now come first, then those on the way there, at the incumbent
        and the root; then what the planner would propose, unless a question was its last word:
        to hear another one would take as long as everything else in a step.
        """
        busy = dict.fromkeys(each.path[-1].parent for each in self._running.values())
        near = {edge.parent: None for each in self._running.values() for edge in each.path}
        keys = dict.fromkeys((*busy, self.ledger.incumbent, *near, self.graph.root_key))
        nodes = [self.graph.nodes[key] for key in keys]
        edges = [e for n in nodes for e in untried(self.graph, n, self.settings)[:most]]
        edges.sort(key=lambda e: (e.parent not in busy, -e.prior))
        found = [(e.parent, e.candidate) for e in edges[:most]]
        for key in dict.fromkeys((*busy, self.ledger.incumbent)):
            if len(found) < most and not self._asks:
                found += [(key, c) for c in self._proposals(self.graph.node(key), most)]
        return found[:most]

    def _proposals(self, node: Node, most: int) -> list[Candidate]:
        """What would be new at a node."""
        if node.exhausted:
            return []
        context = replace(self.context(node), wanted=most)
        proposed = run_planner(self._planner, context)
        new = () if isinstance(proposed, Question) else unknown(self.graph, node, proposed)
        return [c for c in new if not reason_against(c, self.settings, context)]

    def answer(self, node_id: str, reply: Reply) -> Changes:
        """Take in the candidates that answer a question about a node.

        Candidates that are there already are dropped, so the same answer may come twice.
        No candidates: nothing more is asked about this node. Raises HandleUnknown.
        """
        node = self.graph.node(node_id)
        context = replace(self.context(node), answered=True)
        candidates = run_planner(self._planner, context, (reply,))
        if isinstance(candidates, Question):
            raise ValueError("a planner asks one question at a time; this one asked a second")
        self._admit(node, candidates, context, exhausts=not reply.candidates)
        if not reply.candidates and not node.exhausted:  # what there is, others than the reply gave
            node.exhausted = True
            refresh(self.graph, [node.key], self.settings)
        return self.changes()

    def look_again(self, node_id: str) -> Changes:
        """More is known of a node (its context changed): open again what was put aside there for a
        reason that no longer holds. Raises HandleUnknown."""
        node = self.graph.node(node_id)
        if any(edge.pruned for edge in self.graph.edges_of(node_id)):
            self._reopen(node, self.context(node))
        return self.changes()

    def record(self, edge_id: str, outcome: Outcome) -> Changes:
        """Take in how an evaluation ended. Raises HandleUnknown when the edge is not running, and
        ValueError when it cost more builds than were held for it.

        A lost evaluation reopens its edge; the attempt counts as visits on its path, so that other
        edges come first, and towards patience, so that losing all of them comes to an end.
        """
        done = self._done(edge_id, outcome)
        edge = done.path[-1]
        edge.steps += (self.ledger.steps,)
        edge.builds += outcome.builds
        edge.message = outcome.message
        edge.rollout = done.start.step
        if outcome.ending is Ending.lost:
            edge.state = "open"
        else:
            self._settle(edge, outcome)
        mark_walk(self.graph, done.path, -1)
        count_walk(self.graph, done.path, self.ledger.steps)
        edge.walks += (numbers_of(done.path[:-1]),)
        self.ledger = after(self.ledger, edge, outcome)
        self._newest = edge
        keys = self._revalued(done.path)
        # Visits on the way there follow from the walk that this edge remembers.
        self._touch((), (edge_id,))
        keys += [edge.child] if edge.child else []
        keys += self._put_aside(edge.candidate)
        changed = refresh(self.graph, keys, self.settings)
        if self.log is not None:
            steps = self.ledger.steps
            self.log.append(backed_up(self.graph, steps, done.path, outcome.ending, changed))
        return self.changes()

    def _put_aside(self, built: Candidate) -> list[str]:
        """Close what is not worth a build after that of a candidate; the nodes it was open at."""
        closed = put_aside(self.graph, built)
        self._touch((), (edge.edge_id for edge in closed))
        if self.log is not None:
            self.log += pruned(self.ledger.steps, closed)
        return list(dict.fromkeys(edge.parent for edge in closed))

    def _revalued(self, path: list[Edge]) -> list[str]:
        """Nodes of a walk that its end or their visits may have given another value."""
        nodes, every = self.graph.nodes, self.settings.backup == "mean"
        above = [e.parent for e in path[:-1] if every or nodes[e.parent].failed]
        return [*above, path[-1].parent]

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
        return Waiting(tuple(self._running)) if stopped and self._running else stopped

    def _stopped(self) -> Stopped | None:
        settings, ledger = self.settings, self.ledger
        if ledger.builds + self._held >= settings.budget_builds:
            return Stopped("budget", f"{ledger.builds} builds are spent, the whole budget")
        if ledger.since_incumbent >= settings.patience:
            text = f"{ledger.since_incumbent} evaluations brought no new incumbent"
            return Stopped("patience", text)
        if ledger.known_in_a_row >= KNOWN_IN_A_ROW * settings.patience:
            text = f"{ledger.known_in_a_row} candidates in a row gave what was known already"
            return Stopped("patience", text)
        speedup = self.incumbent.speedup or 1.0
        ceiling = self._ceiling if settings.stop_at_headroom else None
        if ceiling is not None and ceiling < speedup * (1 + settings.min_gain):
            text = (
                f"the incumbent is {speedup:.3g}x the baseline and the physics floor allows "
                f"{ceiling:.3g}x: less than min_gain is left"
            )
            return Stopped("headroom", text)
        if not self.graph.root.available:
            return Stopped("exhausted", "every candidate was tried and the planner has no more")
        return None

    def _walk(self) -> Walk:
        running = self._running.values()
        watch = None if self.log is None else self._watch
        return walk(self.graph, self.settings, self.ledger.steps, self._newest, running, watch)

    def _watch(self, start: Start, node: Node, choice: Choice) -> None:
        if self.log is not None:
            steps = self.ledger.steps
            self.log.append(selected(self.graph, self.settings, steps, start, node, choice))

    def _begin(self, found: Walk) -> Evaluate:
        """Give an edge to be evaluated, with the builds that are held for it."""
        edge, settings = found.path[-1], self.settings
        wanted = 1 if edge.candidate.knobs is None else settings.sweep_budget
        found.builds = min(wanted, settings.budget_builds - self.ledger.builds - self._held)
        edge.state = "running"
        self._running[edge.edge_id] = found
        self._held += found.builds
        mark_walk(self.graph, found.path, 1)
        self._touch((), (edge.edge_id,))
        refresh(self.graph, [edge.parent], settings)
        return Evaluate(edge.edge_id, edge.parent, edge.candidate, found.builds)

    def context(self, node: Node) -> Context:
        """What a planner sees of a node: no held-out workloads, and all that was tried there."""
        given = replace(
            self._context_of(node),
            paying=self.ledger.since_incumbent < self.settings.change_over,
        )
        return context_at(self.graph, node, given, self.settings)

    def _admit(
        self,
        node: Node,
        candidates: tuple[Candidate, ...],
        context: Context,
        *,
        exhausts: bool = True,
    ) -> None:
        """Turn candidates into edges; when none is new the node is exhausted, if that `exhausts`.

        A planner that gives the same again without being asked anything has no more to give.
        """
        admitted = admit(self.graph, node, candidates, self.settings, context)
        self._notes += admitted.notes
        self._touch((node.key,), (e.edge_id for e in admitted.edges))
        node.exhausted = not admitted.edges and (exhausts or node.exhausted)
        if self.log is not None:
            self.log += expanded(self.ledger.steps, node, admitted.edges, admitted.notes)
        refresh(self.graph, [node.key], self.settings)

    def _reopen(self, node: Node, context: Context) -> bool:
        reopened = reopen(self.graph, node, self.settings, context)
        self._touch((), (e.edge_id for e in reopened))
        refresh(self.graph, [node.key], self.settings)
        return bool(reopened)

    def _done(self, edge_id: str, outcome: Outcome) -> Walk:
        """The walk whose evaluation has ended, no longer under way."""
        edge = self.graph.edge(edge_id)
        if edge_id not in self._running:
            ended = f"ended as `{edge.ending}`" if edge.ending else f"is {edge.state}"
            raise HandleUnknown(
                f"edge `{edge_id}` is not being evaluated; it {ended}",
                valid=", ".join(self._running) or "no edge is running now",
                next_step="ask the search for its next work and record the edge that it names",
            )
        held = self._running[edge_id].builds
        if outcome.builds > held:
            raise ValueError(f"{edge_id} cost {outcome.builds} builds, {held} were held for it")
        self._held -= held
        return self._running.pop(edge_id)

    def _settle(self, edge: Edge, outcome: Outcome) -> None:
        edge.state = "done"
        edge.ending = outcome.ending
        edge.duplicate = outcome.duplicate_of_known
        edge.became_incumbent = outcome.became_incumbent
        if outcome.variant_id is None:
            return
        edge.same_code_as = outcome.same_code_as
        facts = (outcome.ending, outcome.speedup, outcome.interval)
        known = self.graph.of_variant(outcome.variant_id, outcome.same_code_as)
        if known is None:
            known = self.graph.add_node(outcome.variant_id, *facts)
            self.graph.link_child(edge, known.key)
        else:
            if outcome.ending.final and not known.ending.final:
                self.graph.judge_again(known, *facts)
            edge.variant = None if known.key == outcome.variant_id else outcome.variant_id
            self.graph.link_child(edge, known.key)
            known.visits += not edge.closes_cycle
        self._touch((known.key,), ())
