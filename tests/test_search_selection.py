from __future__ import annotations

import math
from collections import Counter
from random import Random
from typing import get_args

import pytest

from kernelwright.runners.model import Candidate, Ending
from kernelwright.search.backup import refresh
from kernelwright.search.graph import Edge, Graph
from kernelwright.search.policies import POLICIES
from kernelwright.search.policies.puct import puct
from kernelwright.search.selection import (
    EXPAND,
    Choice,
    is_available,
    legal_arms,
    normalised,
    slots,
)
from kernelwright.search.settings import PolicyName, Settings

SETTINGS = Settings()


class Scene:
    """A graph with a root of given visits, and edges added by hand."""

    def __init__(self, visits: int = 1, settings: Settings = SETTINGS) -> None:
        self.graph = Graph()
        self.settings = settings
        self.graph.add_root("root").visits = visits

    def open(self, parent: str = "root", prior: float = 1.0) -> Edge:
        number = len(self.graph.edges)
        return self.graph.add_edge(parent, Candidate(method="m", parameters={"T": number}), prior)

    def done(
        self,
        child: str,
        speedup: float | None,
        parent: str = "root",
        visits: int = 1,
        exhausted: bool = False,
        prior: float = 1.0,
    ) -> Edge:
        edge = self.open(parent, prior)
        ending = Ending.wrong if speedup is None else Ending.faster
        if child not in self.graph.nodes:
            self.graph.add_node(child, ending, speedup, None)
        self.graph.nodes[child].exhausted = exhausted
        edge.state, edge.ending, edge.visits = "done", ending, visits
        self.graph.link_child(edge, child)
        refresh(self.graph, [child, parent], self.settings)
        return edge

    def choose(self, key: str = "root", seed: int = 0) -> Choice:
        return puct(self.graph, self.graph.nodes[key], self.settings, Random(seed))

    def arms(self, key: str = "root") -> tuple[list[Edge], bool]:
        return legal_arms(self.graph, self.graph.nodes[key], self.settings)


def test_every_policy_name_has_a_policy() -> None:
    assert set(POLICIES) == set(get_args(PolicyName))


def test_a_fresh_root_can_only_expand() -> None:
    assert Scene().choose() is EXPAND


def test_an_open_edge_comes_before_expanding_further() -> None:
    scene = Scene()
    edge = scene.open()
    assert scene.arms() == ([edge], True)
    assert scene.choose() is edge


def test_among_open_edges_the_larger_prior_comes_first() -> None:
    scene = Scene()
    scene.open(prior=0.5)
    likely = scene.open(prior=1.5)
    assert scene.choose() is likely


def test_the_faster_child_is_followed_when_visits_are_equal() -> None:
    scene = Scene(visits=3)
    scene.graph.root.exhausted = True
    scene.done("slow", 1.1)
    fast = scene.done("fast", 2.0)
    assert scene.choose() is fast


def test_scores_are_those_of_the_formula() -> None:
    """Three legal edges, no expansion: N = 16, c = 0.3, best seen 2x (log2 = 1), worked by hand.

    a: Q = log2(2)      = 1,     P = 1/5, N_a = 11: 1     + 0.3 * 0.2 * 4 / 12 = 1.02
    b: Q = log2(1.9)    = 0.926, P = 3/5, N_a = 4:  0.926 + 0.3 * 0.6 * 4 / 5  = 1.070
    c: Q = log2(1.9)    = 0.926, P = 1/5, N_a = 1:  0.926 + 0.3 * 0.2 * 4 / 2  = 1.046
    """
    scene = Scene(visits=16)
    scene.graph.root.exhausted = True
    scene.done("a", 2.0, visits=11, prior=1.0)
    b = scene.done("b", 1.9, visits=4, prior=3.0)
    c = scene.done("c", 1.9, visits=1, prior=1.0)
    assert scene.choose() is b
    b.visits = 5  # 0.926 + 0.3 * 0.6 * 4 / 6 = 1.046, and the tie with c is exact
    assert {id(scene.choose(seed=seed)) for seed in range(20)} == {id(b), id(c)}
    b.visits = 6  # 0.926 + 0.3 * 0.6 * 4 / 7 = 1.029
    assert scene.choose() is c


def test_visits_of_the_child_through_other_parents_do_not_count() -> None:
    scene = Scene(visits=9)
    scene.graph.root.exhausted = True
    scene.done("a", 2.0, visits=2)
    b = scene.done("b", 2.0, visits=1)
    scene.graph.nodes["b"].visits = 1000
    assert scene.choose() is b


def test_the_expand_arm_competes_with_the_best_child() -> None:
    """Q is 1 for both and P is equal, so the one with fewer visits wins: 1 candidate so far."""
    scene = Scene(visits=9)
    best = scene.done("best", 2.0, visits=2)
    assert scene.choose() is EXPAND
    best.visits = 0
    assert scene.choose() is best


def test_equal_scores_are_decided_by_the_seed_alone() -> None:
    scene = Scene()
    edges = [scene.open() for _ in range(2)]
    first = [scene.choose(seed=seed) for seed in range(40)]
    assert first == [scene.choose(seed=seed) for seed in range(40)]
    counts = Counter(id(choice) for choice in first)
    assert set(counts) == {id(e) for e in edges}


@pytest.mark.parametrize("visits", [1, 2, 3, 4, 9, 16, 50])
def test_a_node_widens_with_the_square_root_of_its_visits(visits: int) -> None:
    scene = Scene(visits=visits)
    allowed = math.ceil(2 * math.sqrt(visits))
    for have in range(allowed):
        assert slots(scene.graph, scene.graph.root, SETTINGS) == allowed - have
        assert scene.arms()[1]
        scene.open()
    assert not scene.arms()[1]


def test_pruned_candidates_take_no_slot_and_are_no_arm() -> None:
    scene = Scene()
    before = slots(scene.graph, scene.graph.root, SETTINGS)
    scene.open().state = "done"
    assert slots(scene.graph, scene.graph.root, SETTINGS) == before
    assert scene.arms() == ([], True)


def test_a_node_with_nothing_else_to_do_expands_beyond_its_width() -> None:
    scene = Scene()
    for number in range(5):
        scene.done(f"bad{number}", None)
    assert slots(scene.graph, scene.graph.root, SETTINGS) < 0
    assert scene.arms() == ([], True)
    assert scene.choose() is EXPAND


def test_running_edges_and_closed_failures_are_masked() -> None:
    scene = Scene()
    scene.open().state = "running"
    scene.done("bad", None)
    good = scene.done("good", 1.5)
    assert scene.arms()[0] == [good]


def test_an_edge_without_a_variant_is_masked() -> None:
    scene = Scene()
    edge = scene.open()
    edge.state, edge.ending = "done", Ending.rejected
    assert scene.arms() == ([], True)


def test_an_edge_that_closes_a_cycle_is_masked() -> None:
    scene = Scene()
    scene.done("a", 1.5)
    back = scene.done("root", 1.0, parent="a")
    assert back.closes_cycle
    assert scene.arms("a")[0] == []


def test_an_exhausted_subtree_is_masked_up_to_the_root() -> None:
    scene = Scene()
    top = scene.done("a", 1.5)
    scene.done("b", 1.6, parent="a", exhausted=True)
    assert top in scene.arms()[0]
    scene.graph.nodes["a"].exhausted = True
    refresh(scene.graph, ["a"], SETTINGS)
    assert scene.arms() == ([], True)
    scene.graph.root.exhausted = True
    assert not is_available(scene.graph, scene.graph.root, SETTINGS)


def test_an_open_edge_deep_down_keeps_all_its_ancestors_available() -> None:
    scene = Scene()
    scene.graph.root.exhausted = True
    scene.done("a", 1.5, exhausted=True)
    scene.done("b", 1.6, parent="a", exhausted=True)
    assert not scene.graph.root.available
    scene.open("b")
    refresh(scene.graph, ["b"], SETTINGS)
    assert scene.graph.root.available


def test_a_failure_is_repaired_only_within_its_visits_unless_the_repair_worked() -> None:
    scene = Scene(settings=Settings(repair_visits=1))
    scene.done("bad", None)
    bad = scene.graph.nodes["bad"]
    assert scene.arms("bad") == ([], True)
    bad.visits = 2
    assert scene.arms("bad") == ([], False)
    scene.done("repaired", 1.2, parent="bad")
    assert keys(scene.arms("bad")[0]) == ["repaired"]
    assert bad.available


def keys(edges: list[Edge]) -> list[str | None]:
    return [edge.child for edge in edges]


def test_values_are_scaled_between_the_baseline_and_the_best_seen() -> None:
    scene = Scene()
    scene.done("best", 4.0)
    scale = [normalised(math.log2(s), scene.graph, SETTINGS) for s in (0.5, 1.0, 2.0, 4.0)]
    assert scale == [0.0, 0.0, 0.5, 1.0]


def test_noise_around_the_baseline_is_not_blown_up() -> None:
    scene = Scene()
    scene.done("hardly", 1.0001)
    assert normalised(math.log2(1.0001), scene.graph, SETTINGS) == pytest.approx(0.01, rel=0.01)  # pyright: ignore[reportUnknownMemberType]
