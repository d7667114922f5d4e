from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.model import Candidate, Ending
from kernelwright.search.engine.backup import BACKUPS, count_walk, refresh
from kernelwright.search.graph.graph import Graph
from kernelwright.search.graph.nodes import NOTHING, Edge
from kernelwright.search.settings import BackupName, Settings

SETTINGS = Settings()
SIZE = 8
speedups = st.lists(
    st.one_of(st.none(), st.floats(0.1, 10.0)), min_size=SIZE - 1, max_size=SIZE - 1
)
pairs = st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))


def add_result(
    graph: Graph,
    parent: str,
    child: str,
    speedup: float | None,
    settings: Settings = SETTINGS,
    visits: int = 0,
    rollout: int = 0,
) -> Edge:
    """What the engine does with an outcome: a node, a link, and fresh ancestors."""
    edge = graph.add_edge(parent, Candidate(method="m", parameters={"T": 1}), 1.0)
    ending = Ending.wrong if speedup is None else Ending.slower
    if child not in graph.nodes:
        graph.add_node(child, ending, speedup, None)
    edge.state, edge.ending = "done", ending
    edge.visits, edge.rollout = visits, rollout
    graph.link_child(edge, child)
    refresh(graph, [child, parent], settings)
    return edge


def grown(
    links: list[tuple[int, int]], rewards: list[float | None], settings: Settings = SETTINGS
) -> Graph:
    """Results as they arrive; one whose parent is not there yet waits for it."""
    graph = Graph()
    graph.add_root("0")
    waiting = list(links)
    while ready := [link for link in waiting if str(link[0]) in graph.nodes]:
        parent, child = ready[0]
        waiting.remove(ready[0])
        reward = rewards[child - 1] if child else 1.0
        visits = (parent + child) % 4
        add_result(graph, str(parent), str(child), reward, settings, visits, rollout=visits // 3)
    return graph


def best_below(graph: Graph, key: str) -> float:
    """The law, without any of the code under test: the best reward that links lead to."""
    node = graph.nodes[key]
    ends = [e.child for e in graph.edges_of(key) if e.child is not None and not e.closes_cycle]
    return max([node.reward, *(best_below(graph, end) for end in ends)])


def test_every_backup_name_has_a_backup() -> None:
    assert set(BACKUPS) == set(get_args(BackupName))


@given(st.lists(pairs, max_size=30), speedups)
def test_a_value_is_the_best_reward_that_can_be_walked_to(
    links: list[tuple[int, int]], rewards: list[float | None]
) -> None:
    graph = grown(links, rewards)
    for key, node in graph.nodes.items():
        assert node.value == best_below(graph, key)


@given(st.lists(pairs, max_size=30), speedups, st.data())
def test_values_do_not_depend_on_the_order_of_results(
    links: list[tuple[int, int]], rewards: list[float | None], data: st.DataObject
) -> None:
    forward = [(a, b) for a, b in links if a < b]
    shuffled = data.draw(st.permutations(forward))
    first, second = grown(forward, rewards), grown(shuffled, rewards)
    values = {key: (n.value, n.available) for key, n in first.nodes.items()}
    assert values == {key: (n.value, n.available) for key, n in second.nodes.items()}


@pytest.mark.parametrize("name", get_args(BackupName))
@given(st.lists(pairs, max_size=30), speedups, st.data())
def test_values_do_not_depend_on_the_order_of_backups(
    name: BackupName,
    links: list[tuple[int, int]],
    rewards: list[float | None],
    data: st.DataObject,
) -> None:
    """All at once, as on load, or one by one in any order: the same to the last bit."""
    settings = Settings(backup=name)
    graph = grown(links, rewards, settings)
    values = {key: (n.backed, n.best, n.available) for key, n in graph.nodes.items()}
    for together in (True, False):
        for node in graph.nodes.values():
            node.own = node.played = node.best = node.backed = NOTHING
            node.available = True
        order = data.draw(st.permutations(list(graph.nodes)))
        for keys in [order] if together else [[key] for key in order]:
            refresh(graph, keys, settings)
        assert values == {key: (n.backed, n.best, n.available) for key, n in graph.nodes.items()}


@pytest.mark.parametrize("name", get_args(BackupName))
@given(st.lists(pairs, max_size=30), speedups)
def test_a_value_lies_in_its_interval_and_below_the_best(
    name: BackupName, links: list[tuple[int, int]], rewards: list[float | None]
) -> None:
    graph = grown(links, rewards, Settings(backup=name))
    for node in graph.nodes.values():
        low, value, high = node.backed
        assert low <= value <= high
        assert value <= node.best.value + 1e-12


def test_a_value_falls_again_when_its_source_is_judged_lower() -> None:
    graph = Graph()
    graph.add_root("root")
    add_result(graph, "root", "a", 1.5)
    add_result(graph, "a", "b", 4.0)
    assert graph.root.value == 2.0
    graph.judge_again(graph.nodes["b"], Ending.wrong, None, None)
    refresh(graph, ["b"], SETTINGS)
    assert graph.root.value == graph.nodes["a"].reward
    assert graph.nodes["b"].value == SETTINGS.failure_reward


def test_a_gain_through_one_parent_is_seen_from_every_other_one() -> None:
    graph = Graph()
    graph.add_root("root")
    for parent, child in (("root", "a"), ("root", "b"), ("a", "c"), ("b", "c")):
        add_result(graph, parent, child, 1.0)
    add_result(graph, "c", "d", 2.0)
    assert [graph.nodes[key].value for key in ("root", "a", "b", "c", "d")] == [1.0] * 5


def test_max_backup_leaves_a_node_its_own_reward_when_children_are_worse() -> None:
    graph = Graph()
    graph.add_root("root")
    add_result(graph, "root", "a", 0.5)
    add_result(graph, "root", "bad", None)
    assert graph.root.value == 0.0


def test_visits_are_counted_along_the_walked_path_alone() -> None:
    graph = Graph()
    graph.add_root("root")
    top = add_result(graph, "root", "a", 1.0)
    other = add_result(graph, "root", "b", 1.0)
    shared = add_result(graph, "b", "c", 1.0)
    across = add_result(graph, "a", "c", 1.0)
    last = add_result(graph, "c", "d", 1.0)
    count_walk(graph, [top, across, last])
    assert [e.visits for e in (top, across, last, other, shared)] == [1, 1, 1, 0, 0]
    assert {k: n.visits for k, n in graph.nodes.items()} == {
        "root": 2,
        "a": 2,
        "b": 1,
        "c": 2,
        "d": 1,
    }


MEAN = Settings(backup="mean", failure_reward=-2.0)


def test_the_mean_weighs_children_by_the_edges_that_were_walked() -> None:
    """root: (0 + 3 * 1 + 1 * -1) / 5; visits of `a` through other parents change nothing."""
    graph = Graph()
    graph.add_root("root")
    add_result(graph, "root", "a", 2.0, MEAN, visits=3)
    add_result(graph, "root", "b", 0.5, MEAN, visits=1)
    assert graph.root.value == 0.4
    graph.nodes["a"].visits = 1000
    refresh(graph, graph.nodes, MEAN)
    assert graph.root.value == 0.4
    assert graph.root.best.value == 1.0


def test_in_the_mean_a_candidate_without_a_variant_is_a_failure() -> None:
    graph = Graph()
    graph.add_root("root")
    edge = graph.add_edge("root", Candidate(method="m", parameters={"T": 1}), 1.0)
    edge.visits = 1
    refresh(graph, ["root"], MEAN)
    assert graph.root.value == 0.0, "open: a lost evaluation says nothing"
    edge.state, edge.ending = "done", Ending.rejected
    refresh(graph, ["root"], MEAN)
    assert graph.root.value == -1.0


def test_of_a_rollout_the_best_counts_in_the_mean_and_its_visits_do_not_count_again() -> None:
    """a counts as 2 (c, two steps on), and so does b; root: (0 + 1 * 2) / 2."""
    graph = Graph()
    graph.add_root("root")
    add_result(graph, "root", "a", 1.5, MEAN, visits=1)
    add_result(graph, "a", "b", 0.5, MEAN, visits=1, rollout=1)
    add_result(graph, "b", "c", 4.0, MEAN, visits=1, rollout=2)
    assert [graph.nodes[key].value for key in ("c", "b", "a", "root")] == [2.0, 2.0, 2.0, 1.0]
    bad = add_result(graph, "c", "d", None, MEAN, visits=1, rollout=3)
    assert graph.root.value == 1.0
    bad.visits = 2  # walked once more, outside of the rollout: c is (2 - 2) / 2
    refresh(graph, ["c"], MEAN)
    assert [graph.nodes[key].value for key in ("c", "a")] == [0.0, 2.0]
