from __future__ import annotations

import json
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.errors import HandleUnknown
from kernelwright.runners.model import Candidate, Ending
from kernelwright.search.graph.graph import Graph
from kernelwright.search.graph.nodes import Edge, Node
from kernelwright.search.graph.records import edge_record, graph_from_records, node_record

SIZE = 7
links = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=40)


def candidate(number: int = 0) -> Candidate:
    return Candidate(method="set", parameters={"T": number})


def connect(graph: Graph, parent: str, child: str, speedup: float = 1.0) -> Edge:
    edge = graph.add_edge(parent, candidate(), 1.0)
    if child not in graph.nodes:
        graph.add_node(child, Ending.slower, speedup, None)
    edge.state, edge.ending = "done", Ending.slower
    graph.link_child(edge, child)
    return edge


def diamond() -> Graph:
    graph = Graph()
    graph.add_root("root")
    for parent, child in (("root", "left"), ("root", "right"), ("left", "end"), ("right", "end")):
        connect(graph, parent, child)
    return graph


def random_graph(pairs: list[tuple[int, int]]) -> Graph:
    """Links between numbered nodes, in order; a link from a node not yet there is left out."""
    graph = Graph()
    graph.add_root("0")
    for parent, child in pairs:
        if str(parent) in graph.nodes:
            connect(graph, str(parent), str(child))
    return graph


def below(graph: Graph, key: str) -> set[str]:
    found = {child.key for child in graph.children(key)}
    for child in list(found):
        found |= below(graph, child)
    return found


def keys(nodes: Iterable[Node]) -> list[str]:
    return [node.key for node in nodes]


def test_two_paths_meet_in_one_node() -> None:
    graph = diamond()
    assert keys(graph.parents("end")) == ["left", "right"]
    assert keys(graph.ancestors("end")) == ["left", "right", "root"]
    assert keys(graph.children("root")) == ["left", "right"]


def test_two_edges_between_the_same_nodes_are_one_parent_and_one_child() -> None:
    graph = diamond()
    connect(graph, "left", "end")
    assert keys(graph.children("left")) == ["end"]
    assert keys(graph.parents("end")) == ["left", "right"]


@pytest.mark.parametrize("back_to", ["end", "left", "root"])
def test_a_link_to_an_ancestor_or_itself_is_kept_but_not_followed(back_to: str) -> None:
    graph = diamond()
    edge = connect(graph, "end", back_to)
    assert (edge.child, edge.closes_cycle) == (back_to, True)
    assert graph.edges_of("end") == [edge]
    assert graph.children("end") == []
    assert "end" not in keys(graph.parents(back_to))


def test_a_link_across_is_no_cycle() -> None:
    graph = diamond()
    assert not connect(graph, "left", "right").closes_cycle
    assert keys(graph.ancestors("end")) == ["left", "right", "root"]


@given(links)
def test_no_node_is_ever_below_itself(pairs: list[tuple[int, int]]) -> None:
    graph = random_graph(pairs)
    assert all(key not in below(graph, key) for key in graph.nodes)


@given(links)
def test_ancestors_are_exactly_the_nodes_it_is_below(pairs: list[tuple[int, int]]) -> None:
    graph = random_graph(pairs)
    for key in graph.nodes:
        assert set(keys(graph.ancestors(key))) == {k for k in graph.nodes if key in below(graph, k)}


@given(links)
def test_only_links_that_would_make_a_cycle_are_not_followed(pairs: list[tuple[int, int]]) -> None:
    graph = random_graph(pairs)
    for edge in graph.edges.values():
        assert edge.child is not None
        if edge.closes_cycle:
            assert edge.child == edge.parent or edge.parent in below(graph, edge.child)


@given(links, st.randoms(use_true_random=False))
def test_records_in_any_order_give_the_same_graph(
    pairs: list[tuple[int, int]], rng: Random
) -> None:
    graph = random_graph(pairs)
    nodes = [node_record(graph, node) for node in graph.nodes.values()]
    edges = [edge_record(edge) for edge in graph.edges.values()]
    rng.shuffle(nodes)
    rng.shuffle(edges)
    stored: list[list[dict[str, Any]]] = json.loads(json.dumps([nodes, edges]))
    again = graph_from_records(stored[0], stored[1])
    assert again.root_key == graph.root_key
    assert again.edges == graph.edges
    assert list(again.edges) == list(graph.edges)
    assert again.nodes == graph.nodes
    assert all(keys(again.children(key)) == keys(graph.children(key)) for key in graph.nodes)
    assert all(keys(again.parents(key)) == keys(graph.parents(key)) for key in graph.nodes)


def test_an_edge_that_was_running_is_open_again_after_a_restart() -> None:
    graph = diamond()
    edge = graph.add_edge("end", candidate(3), 0.5)
    edge.state = "running"
    nodes = [node_record(graph, node) for node in graph.nodes.values()]
    again = graph_from_records(nodes, map(edge_record, graph.edges.values()))
    assert again.edges[edge.edge_id].state == "open"
    assert again.edges[edge.edge_id].candidate == candidate(3)


def test_records_of_the_first_version_still_load() -> None:
    """Written before rollouts, twins and knobs: what they lack has its default."""
    graph = diamond()
    later = {"variant", "same_code_as", "rollout"}
    edges = [
        {name: value for name, value in edge_record(edge).items() if name not in later}
        for edge in graph.edges.values()
    ]
    nodes = [node_record(graph, node) for node in graph.nodes.values()]
    again = graph_from_records(nodes, edges)
    assert again.edges == graph.edges
    assert again.nodes == graph.nodes


def test_levels_rise_along_every_link_and_depths_stay() -> None:
    graph = diamond()
    connect(graph, "left", "right")
    assert [graph.level(key) for key in ("root", "left", "right", "end")] == [0, 1, 2, 3]
    assert graph.layers == [["root"], ["left", "right"], ["end"]]
    assert graph.found == ["root", "left", "right", "end"]


@given(links)
def test_a_level_is_above_that_of_every_ancestor(pairs: list[tuple[int, int]]) -> None:
    graph = random_graph(pairs)
    for key in graph.nodes:
        assert all(graph.level(above.key) < graph.level(key) for above in graph.ancestors(key))


def test_records_without_exactly_one_root_are_refused() -> None:
    graph = diamond()
    nodes = [node_record(graph, node) for node in graph.nodes.values()]
    with pytest.raises(ValueError, match="one root, these records have 0"):
        graph_from_records(nodes[1:], [])


def test_unknown_handles_say_what_is_valid() -> None:
    graph = diamond()
    with pytest.raises(HandleUnknown, match="e000000 to e000003"):
        graph.edge("e9")
    with pytest.raises(HandleUnknown, match="`v9` is not a node"):
        graph.add_edge("v9", candidate(), 1.0)


def test_a_second_root_or_the_same_node_twice_is_a_mistake() -> None:
    graph = diamond()
    with pytest.raises(ValueError, match="already has the root"):
        graph.add_root("other")
    with pytest.raises(ValueError, match="already a node"):
        graph.add_node("left", Ending.wrong, None, None)
