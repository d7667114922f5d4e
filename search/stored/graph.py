"""The graph of a search as the store has it."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from ...store.searches import graph_rows, require_search
from ...store.store import Store
from ..graph.graph import Graph
from ..graph.records import graph_from_records

LARGE: Final = 20_000
"""edges from which on a graph is set aside: looking at all of it takes 3 us an edge, 60 ms"""


def graph_of(store: Store, search_id: str) -> Graph:
    """The search's graph. Raises HandleUnknown."""
    require_search(store, search_id)
    with no_collections():
        return graph_from_records(*graph_rows(store, search_id))


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


def set_aside(graph: Graph) -> bool:
    """Have the garbage collector leave out all there is now, if the graph is a large one; whether
    it is.

    A full collection looks at every object of the process: 0.4 s for 140,000 edges, in the middle
    of a step. Objects without cycles, such as a graph, are freed as ever. To be called before
    collections begin (`no_collections`), or the first of them sees it all; `take_back` ends it.
    """
    if len(graph.edges) < LARGE:
        return False
    gc.freeze()
    return True


def take_back() -> None:
    """Let the garbage collector see everything again."""
    gc.unfreeze()
