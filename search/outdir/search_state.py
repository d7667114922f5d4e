"""`search_state.json`: a search's graph for people and scripts, each node with its value, the way
that led to it and where its source lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...store.records import VariantRecord
from ..engine.backup import refresh_all
from ..engine.work import ledger_of
from ..graph.graph import Graph
from ..graph.nodes import Node
from ..graph.records import edge_record, node_record
from ..stored.records import SearchRecord

JsonObject = dict[str, Any]
VERSION = 1


def search_state(
    search: SearchRecord,
    graph: Graph,
    variants: Mapping[str, VariantRecord],
    place: Callable[[str], Path],
) -> JsonObject:
    """The whole file. `place`: where a variant's files lie, from the kernel's folder."""
    refresh_all(graph, search.settings)
    ledger = ledger_of(graph)
    return {
        "version": VERSION,
        "search": search.model_dump(mode="json"),
        "builds": ledger.builds,
        "evaluations": ledger.steps,
        "incumbent": ledger.incumbent,
        "nodes": [_node(graph, node, variants, place) for node in graph.nodes.values()],
        "edges": [_without_sources(edge_record(edge)) for edge in graph.edges.values()],
    }


def _node(
    graph: Graph,
    node: Node,
    variants: Mapping[str, VariantRecord],
    place: Callable[[str], Path],
) -> JsonObject:
    """`q`: what backup makes of it and of all below, in log2 of the speedup or as the setting
    `reward` has it; `reward`: its own; `methods`: from the baseline to it."""
    return {
        **node_record(graph, node),
        "reward": node.reward,
        "q": node.backed.value,
        "methods": _methods(node.key, variants),
        "files": str(place(node.key)),
    }


def _methods(variant_id: str, variants: Mapping[str, VariantRecord]) -> list[str]:
    """Those of the variant and of what it was made from, the first one first."""
    found, seen, here = list[str](), set[str](), variants.get(variant_id)
    while here is not None and here.parent is not None and here.parent not in seen:
        seen.add(here.parent)
        found.append(here.method)
        here = variants.get(here.parent)
    return found[::-1]


def _without_sources(edge: JsonObject) -> JsonObject:
    """An edge for people: the texts of its candidate lie with the variant."""
    candidate = {k: v for k, v in edge["candidate"].items() if k not in ("source", "diff")}
    return {**edge, "candidate": candidate}
