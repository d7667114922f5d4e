"""The graph of a search as the store has it."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

from ..search.graph import Graph
from ..search.graph_records import graph_from_records
from ..search.store import Store


def graph_of(store: Store, search_id: str) -> Graph:
    """The search's graph. Raises HandleUnknown."""
    store.require("searches", search_id)
    with no_collections():
        nodes = (value for _, value in store.scan("nodes", search_id + "/"))
        edges = (value for _, value in store.scan("edges", search_id + "/"))
        return graph_from_records(nodes, edges)


@contextmanager
def no_collections() -> Generator[None]:
    """Without runs of the garbage collector, which would look at every object of a large graph
    again and again while it is made: they take as long as making it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
