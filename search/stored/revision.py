"""How often a search was written to: who keeps one in memory sees whether it is still that."""

from __future__ import annotations

from ...store.store import Store, Writer

REVISION = "revision/"
"""The keys of the store's table `meta`, by search_id."""


def revision_of(store: Store, search_id: str) -> int:
    """Commits to the search so far."""
    return _count(store, search_id)


def count_commit(writer: Writer, search_id: str) -> int:
    """Count a commit, in its transaction; how many there are with it."""
    commits = _count(writer, search_id) + 1
    writer.put("meta", REVISION + search_id, {"commits": commits})
    return commits


def _count(store: Store | Writer, search_id: str) -> int:
    known = store.get("meta", REVISION + search_id)
    return 0 if known is None else known["commits"]
