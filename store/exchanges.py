"""What was sent to planners and came back, as the store has it: a row a call, in order.

A row is on disk before anything is made of it, so that no call is paid for twice.
"""

from __future__ import annotations

from pydantic import BaseModel

from .codec import JsonObject
from .store import Store
from .writer import Writer

TABLE = "exchanges"
"""keys are `search_id/ticket/NNNN`, numbered from 1 within a search"""


def exchange_rows(store: Store, search_id: str, ticket: str = "") -> list[JsonObject]:
    """The calls of a search, or those for one question of it, the first made first."""
    rows = [(key, row) for key, row in store.items(TABLE, f"{search_id}/")]
    wanted = [(key.split("/"), row) for key, row in rows]
    found = [(parts[2], row) for parts, row in wanted if ticket in ("", parts[1])]
    return [row for _, row in sorted(found, key=lambda each: each[0])]


def append_exchange(
    writer: Writer, search_id: str, ticket: str, number: int, record: BaseModel
) -> None:
    """Keep one call; `number`: from 1, of the search."""
    writer.put_record(TABLE, f"{search_id}/{ticket}/{number:06d}", record)
