"""The store: everything that must outlive a process, in one SQLite file, `<outdir>/state.sqlite`.

Every table is `(key TEXT PRIMARY KEY, value BLOB)` with a JSON object as text in `value`, the
layout of sqlitedict: stock `SqliteDict(path, tablename=..., decode=json.loads,
journal_mode="WAL")` reads it, and `Store.table` does. No write goes through SqliteDict: it queues
writes on a thread per table, turns synchronous off, and cannot change two tables together.

The connection below it is in `database.py`, the writes of a transaction in `writer.py`; what tables
and keys there are, only the modules beside it know, one subject each.
"""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self, TypeVar, cast

from pydantic import BaseModel, ValidationError
from sqlitedict import SqliteDict

from ..runners.errors import HandleUnknown, StoreError
from .codec import JsonObject, decoded_all
from .database import BUSY_SECONDS, TABLES, Database, get, inner, quoted, select
from .errors import translated
from .writer import Writer, numbered

Model = TypeVar("Model", bound=BaseModel)

STATE_FILE: Final = "state.sqlite"
BATCH: Final = 1000
NAMED: Final = 5
"""rows that are read at once"""

_LIST = "call `inspect` to list what there is"
_NEXT_STEP: Final = {
    "kernels": "call `open_kernel` to get a kernel_id, or `inspect` to list the kernels",
    "variants": "call `compile_variant` to get a variant_id (what it refused may not be "
    "kept), or `inspect` with the kernel_id",
    "searches": "call `search_step` with a kernel_id to start a search, or `inspect` to list them",
    "tickets": "call `search_step` with the search_id for the question that is open now",
    "jobs": "call `inspect` with what: jobs to list them",
}
_ALSO: Final = {"variants": "; incumbent, baseline"}
"""names that stand for a key"""
_HANDLES: Final = {
    "kernels": "kernel_id",
    "variants": "variant_id",
    "searches": "search_id",
    "jobs": "job_id",
}
"""which clients mistake for each other"""


class Store:
    """Reads, and the one way to write. Safe to share between threads and beside other processes.

    One connection behind one lock: a thread waits while another is inside `transaction()`, and
    inside its own it reads what it has written. Not to be used across a fork.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        migrations: tuple[Migration, ...] | None = None,
        busy_seconds: float = BUSY_SECONDS,
    ) -> Self:
        """Open the state file, made where there is none and brought to this version.

        Raises StoreError: of a newer version, not a state file, damaged, locked, not writable.
        """
        steps = MIGRATIONS if migrations is None else migrations
        database = Database(path, busy_seconds)
        try:
            if _version(database) > len(steps):
                raise StoreError(
                    f"{path} has schema version {_version(database)}; "
                    f"this Kernelwright knows versions up to {len(steps)}.",
                    next_step="upgrade Kernelwright, or choose another --outdir",
                )
            database.enter_wal()
            store = cls(database)
            while _version(database) < len(steps):
                store._migrate(steps)
        except BaseException:
            database.connection.close()
            raise
        return store

    def _migrate(self, steps: tuple[Migration, ...]) -> None:
        with self.transaction() as writer:
            # Asked again under the write lock: another process may have been first.
            done = _version(self._database)
            if done >= len(steps):
                return
            steps[done](writer)
            applied = [*(writer.get("meta", "schema") or {"applied": []})["applied"]]
            applied.append({"name": steps[done].__name__, "unix_seconds": time.time()})
            writer.put("meta", "schema", {"version": done + 1, "applied": applied})

    def close(self) -> None:
        """End the connection; every later call raises StoreError."""
        with self._database.lock:
            self._database.refuse_inside_transaction()
            self._database.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Generator[Writer]:
        """All writes of the body, on disk when it ends; none of them when it raises.

        Other writers wait meanwhile, so compute first and write then, and never `await` inside.
        Raises StoreError: inside another transaction, locked for longer than the busy time, the
        disk is full.
        """
        database = self._database
        with database.lock:
            database.refuse_inside_transaction()
            database.run("BEGIN IMMEDIATE")
            writer = Writer(database)
            try:
                yield writer
                database.run("COMMIT")
            finally:
                writer.active = False
                # SQLite has already rolled back when the disk was full.
                if database.connection.in_transaction:
                    database.run("ROLLBACK")

    def get(self, table: str, key: str) -> JsonObject | None:
        """The value, None when the table does not hold the key."""
        return get(self._database, table, key)

    def require(self, table: str, key: str) -> JsonObject:
        """The value; raises HandleUnknown with the closest keys and what to call next."""
        value = self.get(table, key)
        if value is None:
            matches = self._close_to(table, key)
            known = ", ".join(matches) if matches else self._newest(table)
            raise HandleUnknown(
                f"`{table}` holds no {key!r}{self._otherwise(table, key)}.",
                valid=known + (_ALSO.get(table, "") if self.count(table) else ""),
                next_step=_NEXT_STEP.get(table, _LIST),
            )
        return value

    def _otherwise(self, table: str, key: str) -> str:
        """What a key is that was taken for one of this table, in words; empty: nothing known."""
        for other, handle in _HANDLES.items():
            if other != table and (found := self.get(other, key)) is not None:
                of = found.get("variant", {}).get("kernel_id", "")
                return f": it is a {handle}" + (f", of kernel {of}" if of else "")
        return ""

    def _close_to(self, table: str, key: str) -> list[str]:
        """Up to three keys that the reader may have meant: begun alike, else spelt alike."""
        begun = [k for k, _ in select(self._database, table, key, limit=3)]
        if begun:
            return begun
        newest = f"SELECT key FROM {quoted(table)} ORDER BY rowid DESC LIMIT 1000"
        return difflib.get_close_matches(
            key, [k for (k,) in self._database.run(newest)], cutoff=0.5
        )

    def _newest(self, table: str) -> str:
        """The newest keys, in words, and how many more there are."""
        newest = f"SELECT key FROM {quoted(table)} ORDER BY rowid DESC LIMIT {NAMED}"
        keys = [key for (key,) in self._database.run(newest)]
        more = self.count(table) - len(keys)
        return (", ".join(keys) or "none yet") + (f" and {more} more" if more > 0 else "")

    def items(self, table: str, prefix: str = "") -> list[tuple[str, JsonObject]]:
        """Keys that begin with `prefix` and their values, in order of keys (code points)."""
        return list(self.scan(table, prefix))

    def scan(self, table: str, prefix: str = "") -> Generator[tuple[str, JsonObject]]:
        """As `items`, a batch at a time, for tables that are large; what is written meanwhile
        may be among them or not."""
        path, rows = self._database.path, select(self._database, table, prefix, BATCH)
        while rows:
            yield from decoded_all(path, table, rows)
            last = rows[-1][0]
            more = len(rows) == BATCH
            rows = select(self._database, table, prefix, BATCH, last) if more else []

    def appended(
        self, table: str, after: str = "", until: str | None = None
    ) -> list[tuple[str, JsonObject]]:
        """Rows that `append` wrote after one, up to and with another; None: to the last."""
        end = self.last(table) if until is None else until
        sql = f"SELECT key, value FROM {quoted(table)} WHERE key > ? AND key <= ? ORDER BY key"
        rows = self._database.run(sql, after, end)
        return decoded_all(self._database.path, table, rows)

    def having(self, table: str, field: str, values: Sequence[str]) -> list[tuple[str, JsonObject]]:
        """Rows whose `field` has one of the values, in no order; no other is read where there is
        an index on it."""
        marks = ", ".join("?" * len(values))
        sql = f"SELECT key, value FROM {quoted(table)} WHERE {inner(field)} IN ({marks})"
        return decoded_all(self._database.path, table, self._database.run(sql, *values))

    def newest(self, table: str, limit: int, offset: int = 0) -> list[tuple[str, JsonObject]]:
        """So many rows, the one whose key is youngest first, without the first `offset`."""
        sql = f"SELECT key, value FROM {quoted(table)} ORDER BY rowid DESC LIMIT ? OFFSET ?"
        rows = self._database.run(sql, str(limit), str(offset))
        return decoded_all(self._database.path, table, rows)

    def count(self, table: str) -> int:
        """Number of keys in the table."""
        return self._database.run(f"SELECT count(*) FROM {quoted(table)}")[0][0]

    def last(self, table: str) -> str:
        """The key that `append` gave last in the table; "" when it gave none."""
        counter = self.get("meta", f"sequence:{table}")
        return "" if counter is None else numbered(counter["last"])

    def get_record(self, table: str, key: str, model: type[Model]) -> Model | None:
        """The value as a record; raises StoreError when it does not fit the model."""
        value = self.get(table, key)
        return None if value is None else self._fitted(table, key, value, model)

    def require_record(self, table: str, key: str, model: type[Model]) -> Model:
        """As `get_record`; raises HandleUnknown when the table does not hold the key."""
        return self._fitted(table, key, self.require(table, key), model)

    def _fitted(self, table: str, key: str, value: JsonObject, model: type[Model]) -> Model:
        try:
            return model.model_validate(value)
        except ValidationError as error:
            raise StoreError(
                f"{self._database.path}: {table}/{key} is no {model.__name__}: {error}",
                next_step="open it with the version of Kernelwright that wrote it",
            ) from error

    def table(self, name: str) -> dict[str, JsonObject]:
        """A committed copy of one table as sqlitedict reads it, oldest key first; for exports."""
        quoted(name)
        path = str(self._database.path)
        # The lock keeps our connection open: were SqliteDict's the last to close, it would move
        # the log into the file without a sync. Flag "c" since "r" leaks a connection (2.1.0).
        with self._database.lock, translated(self._database.path):
            self._database.connection.execute("SELECT 1 FROM sqlite_master").fetchall()
            with SqliteDict(
                path, tablename=name, decode=json.loads, encode=json.dumps, journal_mode="WAL"
            ) as copy:
                return dict(cast(Iterable[tuple[str, JsonObject]], copy.items()))


Migration = Callable[[Writer], None]


def first_tables(writer: Writer) -> None:
    """Version 1: the tables."""
    for table in TABLES:
        writer.create(table)


def exchanges_table(writer: Writer) -> None:
    """Version 2: what was sent to planners, and what came back."""
    writer.create("exchanges")


def labels_table(writer: Writer) -> None:
    """Version 3: what was said of names of methods."""
    writer.create("labels")


def jobs_by_state(writer: Writer) -> None:
    """Version 4: jobs that have not ended are found without reading all that have."""
    writer.index("jobs", "state")


MIGRATIONS: Final[tuple[Migration, ...]] = (
    first_tables,
    exchanges_table,
    labels_table,
    jobs_by_state,
)
"""Step n leads from version n to n + 1 and commits together with its record in `meta`. A released
step is never edited: add another, which also creates the tables that are new in TABLES."""


def _version(database: Database) -> int:
    """Migrations that the file has seen; 0 for an empty file. StoreError: not a state file."""
    tables = [name for (name,) in database.run("SELECT name FROM sqlite_master")]
    if not tables:
        return 0
    schema = get(database, "meta", "schema") if "meta" in tables else None
    if schema is None or not isinstance(schema.get("version"), int):
        raise StoreError(
            f"{database.path} is an SQLite file, but not one of Kernelwright's.",
            next_step="choose another --outdir",
        )
    return schema["version"]
