from __future__ import annotations

import math
from collections import Counter
from random import Random
from typing import get_args

import pytest

from kernelwright.runners.model import Candidate, Ending
from kernelwright.search.engine.backup import mark_walk, refresh
from kernelwright.search.graph.graph import Graph
from kernelwright.search.graph.nodes import Edge
from kernelwright.search.policies import POLICIES
from kernelwright.search.policies.puct import noisy, puct
from kernelwright.search.policies.selection import (
    EXPAND,
    Choice,
    columns,
    is_available,
    legal_arms,
    normalised,
    options,
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
    allowed = math.ceil(SETTINGS.widening_c * math.sqrt(visits))
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


# Other policies than puct.


def chosen(scene: Scene, policy: PolicyName, seed: int = 0, key: str = "root") -> Choice:
    rng = Random(seed)
    return POLICIES[policy].choose(scene.graph, scene.graph.nodes[key], scene.settings, rng)


def test_pucb_weighs_values_against_visits_alone() -> None:
    """N = 15, best seen 2x, worked by hand: sqrt(2 ln 16) = 2.355.

    a: Q = 1,     N_a = 8: 1     + 2.355 / sqrt(9) = 1.785
    b: Q = 0.585, N_a = 3: 0.585 + 2.355 / sqrt(4) = 1.762; with N_a = 2: 1.945
    """
    scene = Scene(visits=15)
    scene.graph.root.exhausted = True
    a = scene.done("a", 2.0, visits=8, prior=0.1)
    b = scene.done("b", 1.5, visits=3, prior=9.0)
    assert chosen(scene, "pucb") is a
    b.visits = 2
    assert chosen(scene, "pucb") is b


def test_greedy_goes_down_to_what_is_better_and_stays_where_it_is_best() -> None:
    scene = Scene(visits=100)
    up = scene.done("a", 2.0)
    likely = scene.open("a", prior=2.0)
    scene.open("a")
    scene.done("b", 1.5)
    assert chosen(scene, "greedy") is up
    assert chosen(scene, "greedy", key="a") is likely
    scene.done("worse", 1.9, parent="a")
    likely.state = "done"
    assert chosen(scene, "greedy", key="a") is scene.graph.edges_of("a")[1]


def test_greedy_tries_every_neighbour_of_the_best_before_it_leaves_it() -> None:
    scene = Scene()
    worse = scene.done("worse", 0.9)
    for number in range(9):
        scene.done(f"worse{number}", 0.5)
    assert slots(scene.graph, scene.graph.root, SETTINGS) < 0
    assert chosen(scene, "greedy") is EXPAND
    scene.graph.root.exhausted = True
    assert chosen(scene, "greedy") is worse


def test_a_beam_expands_the_best_of_the_newest_complete_depth() -> None:
    scene = Scene(settings=Settings(beam_width=2))
    graph, beam = scene.graph, POLICIES["beam"]
    for name, speedup in (("a", 1.1), ("b", 1.3), ("c", 1.2)):
        scene.done(name, speedup)
    waiting = scene.open()
    assert beam.start(graph, scene.settings) is graph.root
    assert chosen(scene, "beam") is waiting
    waiting.state, waiting.ending = "done", Ending.rejected
    graph.root.exhausted = True
    assert beam.start(graph, scene.settings).key == "b"
    scene.done("deeper", 9.0, parent="b", exhausted=True)
    graph.nodes["b"].exhausted = True
    assert beam.start(graph, scene.settings).key == "c"
    graph.nodes["c"].exhausted = True
    assert beam.start(graph, scene.settings).key == "a", "the beam has died out"


def test_random_takes_every_legal_arm() -> None:
    scene = Scene(visits=100)
    edges = [scene.open(prior=9.0), scene.done("slow", 0.1)]
    arms = {id(chosen(scene, "random", seed)) for seed in range(60)}
    assert arms == {*map(id, edges), id(EXPAND)}


def test_what_is_under_way_counts_as_a_visit() -> None:
    scene = Scene(visits=9)
    scene.graph.root.exhausted = True
    first = scene.done("a", 2.0, visits=1, prior=1.1)
    second = scene.done("b", 2.0, visits=1)
    assert scene.choose() is first
    mark_walk(scene.graph, [first], 1)
    assert scene.choose() is second
    scene.settings = Settings(virtual_loss=0)
    assert scene.choose() is first


def test_values_whose_difference_is_noise_are_equal() -> None:
    """1.998x and 2x are told apart by no comparison, so the prior decides; 1.9x is below."""
    scene = Scene(visits=100)
    scene.graph.root.exhausted = True
    scene.done("best", 2.0, visits=50)
    near = scene.done("near", 1.998, visits=50, prior=1.01)
    assert scene.choose() is near
    scene.settings = Settings(min_gain=0.0)
    refresh(scene.graph, ["root"], scene.settings)
    assert scene.choose() is not near


def test_a_value_counts_with_the_low_end_of_its_interval() -> None:
    scene = Scene(visits=9, settings=Settings(c_puct=0.0))
    scene.graph.root.exhausted = True
    noisy = scene.done("noisy", 4.0)
    sure = scene.done("sure", 3.0)
    assert scene.choose() is noisy
    scene.graph.nodes["noisy"].interval = (1.5, 9.0)
    refresh(scene.graph, ["noisy"], scene.settings)
    assert scene.choose() is sure
    assert (scene.graph.root.backed.low, scene.graph.root.value) == (math.log2(3.0), 2.0)


def test_noise_at_the_root_keeps_its_share_and_is_the_same_for_the_whole_search() -> None:
    def shares(scene: Scene) -> list[float]:
        return noisy(columns(scene.graph, scene.graph.root, scene.settings), scene.settings)

    settings = Settings(noise_fraction=0.25, seed=4)
    scene = Scene(settings=settings)
    for _ in range(4):
        scene.open()
    first = shares(scene)
    assert sum(first) == pytest.approx(1.0)  # pyright: ignore[reportUnknownMemberType]
    assert min(first) >= 0.75 / 4 and len(set(first)) == 4
    assert shares(scene) == first
    scene.settings = Settings(noise_fraction=0.25, seed=5)
    assert shares(scene) != first


def test_what_was_never_tried_is_worth_something_between_its_node_and_the_best_below() -> None:
    scene = Scene(settings=Settings(first_play=1.0, min_gain=0.0))
    scene.done("best", 4.0, visits=3)
    scene.open()

    def values(first_play: float) -> list[float]:
        scene.settings = Settings(first_play=first_play, min_gain=0.0)
        refresh(scene.graph, ["root"], scene.settings)
        return [o.q for o in options(scene.graph, scene.graph.root, scene.settings)]

    assert [values(f)[:2] for f in (0.0, 0.25, 1.0)] == [[1.0, 0.0], [1.0, 0.25], [1.0, 1.0]]
