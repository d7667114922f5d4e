"""Searches as the store has them: their records, graphs, questions and revisions.

What a search is, `search/` knows: models of records are given by whoever asks, and nodes and edges
are the rows of `search/graph/records.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from pydantic import BaseModel

from .codec import JsonObject
from .store import Store
from .writer import Writer

M = TypeVar("M", bound=BaseModel)
TABLE = "searches"
NODES, EDGES, TICKETS = "nodes", "edges", "tickets"
META = "meta"
REVISION = "revision/"
"""keys in `meta`, by search"""


def require_search(store: Store, search_id: str) -> None:
    """Raises HandleUnknown where there is no such search."""
    store.require(TABLE, search_id)


def search_record(store: Store, search_id: str, model: type[M]) -> M:
    """A search. Raises HandleUnknown."""
    return store.require_record(TABLE, search_id, model)


def kernel_of_search(store: Store, search_id: str) -> str:
    """The kernel of a search. Raises HandleUnknown."""
    return str(store.require(TABLE, search_id)["kernel_id"])


def search_rows(store: Store) -> list[JsonObject]:
    """The record of every search as it is on disk, the first started first."""
    return list(store.table(TABLE).values())


def put_search(writer: Writer, search_id: str, record: BaseModel) -> None:
    """Write a search."""
    writer.put_record(TABLE, search_id, record)


def graph_rows(store: Store, search_id: str) -> tuple[Iterator[JsonObject], Iterator[JsonObject]]:
    """The nodes and the edges of a search, each read as it is wanted."""
    nodes = (row for _, row in store.scan(NODES, search_id + "/"))
    edges = (row for _, row in store.scan(EDGES, search_id + "/"))
    return nodes, edges


def put_graph_rows(
    writer: Writer,
    search_id: str,
    nodes: Iterable[JsonObject],
    edges: Iterable[JsonObject] = (),
) -> None:
    """Write what changed of a search's graph."""
    for node in nodes:
        writer.put(NODES, f"{search_id}/{node['key']}", node)
    for edge in edges:
        writer.put(EDGES, f"{search_id}/{edge['edge_id']}", edge)


def known_ticket(store: Store, ticket: str, model: type[M]) -> M | None:
    """A question that was put; None where it was not."""
    return store.get_record(TICKETS, ticket, model)


def put_ticket(writer: Writer, ticket: str, record: BaseModel) -> None:
    """Write a question."""
    writer.put_record(TICKETS, ticket, record)


def revision_of(source: Store | Writer, search_id: str) -> int:
    """Commits to a search so far: who keeps it in memory sees whether it is still that."""
    known = source.get(META, REVISION + search_id)
    return 0 if known is None else known["commits"]


def count_commit(writer: Writer, search_id: str) -> int:
    """Count a commit, in its transaction; how many there are with it."""
    commits = revision_of(writer, search_id) + 1
    writer.put(META, REVISION + search_id, {"commits": commits})
    return commits
