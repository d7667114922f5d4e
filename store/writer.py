"""The writes of a transaction on the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from ..runners.errors import StoreError
from .codec import JsonObject, encoded
from .database import Database, get, inner, quoted


class Writer:
    """The writes of one transaction; of no use after it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.active = True

    def _run(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        # Outside a transaction SQLite would commit every statement by itself.
        if not (self.active and self._database.connection.in_transaction):
            raise StoreError(
                "This transaction is over; nothing was written.",
                next_step="write inside a new `with store.transaction() as writer`",
            )
        return self._database.run(sql, *values)

    def create(self, table: str) -> None:
        """Make an empty table unless there is one; for migrations."""
        self._run(f"CREATE TABLE IF NOT EXISTS {quoted(table)} (key TEXT PRIMARY KEY, value BLOB)")

    def index(self, table: str, field: str) -> None:
        """Have `Store.having` find rows by a field without reading the others; for migrations."""
        self._run(
            f'CREATE INDEX IF NOT EXISTS "{table} by {field}" ON {quoted(table)} ({inner(field)})'
        )

    def get(self, table: str, key: str) -> JsonObject | None:
        """The value as this transaction sees it, None when the table does not hold the key."""
        return get(self._database, table, key)

    def put(self, table: str, key: str, value: JsonObject) -> None:
        """Write the value, in place of the old one if there is one."""
        self._run(
            f"INSERT INTO {quoted(table)} VALUES (?, ?) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            key,
            encoded(table, key, value),
        )

    def put_record(self, table: str, key: str, record: BaseModel) -> None:
        """`put` of a record's JSON form."""
        self.put(table, key, record.model_dump(mode="json"))

    def add(self, table: str, key: str, value: JsonObject) -> None:
        """Write a value that is new; raises StoreError when the table holds the key."""
        if self.get(table, key) is not None:
            raise StoreError(
                f"`{table}` already holds {key!r}.",
                next_step="`put` replaces a value, `update` changes it",
            )
        self.put(table, key, value)

    def update(
        self, table: str, key: str, change: Callable[[JsonObject | None], JsonObject]
    ) -> JsonObject:
        """Write what `change` makes of the present value (None: there is none); return that."""
        value = change(self.get(table, key))
        self.put(table, key, value)
        return value

    def append(self, table: str, value: JsonObject) -> str:
        """Write under the next number of the table, zero-padded, never given twice; return it."""
        counter = self.update(
            "meta", f"sequence:{table}", lambda last: {"last": (last or {"last": 0})["last"] + 1}
        )
        key = numbered(counter["last"])
        self.add(table, key, value)
        return key

    def delete(self, table: str, key: str) -> bool:
        """Remove the key; False when the table did not hold it."""
        return bool(self._run(f"DELETE FROM {quoted(table)} WHERE key = ? RETURNING 1", key))


def numbered(number: int) -> str:
    """Keys of appended rows; they sort as their numbers do."""
    return f"{number:012d}"
