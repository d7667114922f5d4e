"""The graph of a search as the store has it."""

from __future__ import annotations

from ..search.graph import Graph
from ..search.graph_records import graph_from_records
from ..search.store import Store


def graph_of(store: Store, search_id: str) -> Graph:
    """The search's graph. Raises HandleUnknown."""
    store.require("searches", search_id)
    nodes = (value for _, value in store.items("nodes", search_id + "/"))
    edges = (value for _, value in store.items("edges", search_id + "/"))
    return graph_from_records(nodes, edges)
