"""The store: everything that must outlive a process, in one SQLite file, `<outdir>/state.sqlite`.

Every table is `(key TEXT PRIMARY KEY, value BLOB)` with a JSON object as text in `value`, the
layout of sqlitedict: stock `SqliteDict(path, tablename=..., decode=json.loads,
journal_mode="WAL")` reads it, and `Store.table` does. No write goes through SqliteDict: it queues
writes on a thread per table, turns synchronous off, and cannot change two tables together.

Durability: the file is in WAL mode with synchronous FULL, so a commit is in the log *and* synced
when `transaction()` ends; neither a killed process nor a power cut loses it. NORMAL would lose
nothing when a process is killed (the log is in the kernel's page cache), but it syncs only at
checkpoints: a power cut could take back commits that someone had already been told of.
"""

from __future__ import annotations

import difflib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from sqlitedict import SqliteDict

from ..runners.errors import HandleUnknown, StoreError
from .store_errors import damaged, translated

JsonObject = dict[str, Any]
Model = TypeVar("Model", bound=BaseModel)

STATE_FILE: Final = "state.sqlite"
TABLES: Final = (
    "kernels",
    "variants",
    "artifacts",
    "evaluations",
    "searches",
    "nodes",
    "edges",
    "tickets",
    "jobs",
    "memory",
    "transitions",
    "ledger",
    "meta",
)
BUSY_SECONDS: Final = 10.0
"""how long a write waits for another process; a transaction takes well under 5 ms"""
CHECKPOINT_PAGES: Final = 4000
"""the log's pages after which a commit moves them into the file, 16 MB; that takes tens of
milliseconds, and with SQLite's own 1000 more than one commit in a hundred would have to wait"""
BATCH: Final = 1000
"""rows that are read at once"""

_LIST = "call `inspect` to list what there is"
_NEXT_STEP: Final = {
    "kernels": "call `open_kernel` to get a kernel_id, or `inspect` to list the kernels",
    "variants": "call `compile_variant` to get a variant_id (what it refused may not be "
    "kept), or `inspect` with the kernel_id",
    "searches": "call `search_step` with a kernel_id to start a search, or `inspect` to list them",
    "tickets": "call `search_step` with the search_id for the question that is open now",
    "jobs": "call `job` to list the jobs",
}


class Store:
    """Reads, and the one way to write. Safe to share between threads and beside other processes.

    One connection behind one lock: a thread waits while another is inside `transaction()`, and
    inside its own it reads what it has written. Not to be used across a fork.
    """

    def __init__(self, database: _Database) -> None:
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
        database = _Database(path, busy_seconds)
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
        return _get(self._database, table, key)

    def require(self, table: str, key: str) -> JsonObject:
        """The value; raises HandleUnknown with the closest keys and what to call next."""
        value = self.get(table, key)
        if value is None:
            matches = self._close_to(table, key)
            raise HandleUnknown(
                f"`{table}` holds no {key!r}.",
                valid=", ".join(matches) if matches else f"any of {self.count(table)} other keys",
                next_step=_NEXT_STEP.get(table, _LIST),
            )
        return value

    def _close_to(self, table: str, key: str) -> list[str]:
        """Up to three keys that the reader may have meant: begun alike, else spelt alike."""
        begun = [k for k, _ in _select(self._database, table, key, limit=3)]
        if begun:
            return begun
        newest = f"SELECT key FROM {_quoted(table)} ORDER BY rowid DESC LIMIT 1000"
        return difflib.get_close_matches(
            key, [k for (k,) in self._database.run(newest)], cutoff=0.5
        )

    def items(self, table: str, prefix: str = "") -> list[tuple[str, JsonObject]]:
        """Keys that begin with `prefix` and their values, in order of keys (code points)."""
        return list(self.scan(table, prefix))

    def scan(self, table: str, prefix: str = "") -> Generator[tuple[str, JsonObject]]:
        """As `items`, a batch at a time, for tables that are large; what is written meanwhile
        may be among them or not."""
        path, rows = self._database.path, _select(self._database, table, prefix, BATCH)
        while rows:
            yield from _decoded_all(path, table, rows)
            last = rows[-1][0]
            more = len(rows) == BATCH
            rows = _select(self._database, table, prefix, BATCH, last) if more else []

    def appended(
        self, table: str, after: str = "", until: str | None = None
    ) -> list[tuple[str, JsonObject]]:
        """Rows that `append` wrote after one, up to and with another; None: to the last."""
        end = self.last(table) if until is None else until
        sql = f"SELECT key, value FROM {_quoted(table)} WHERE key > ? AND key <= ? ORDER BY key"
        rows = self._database.run(sql, after, end)
        return _decoded_all(self._database.path, table, rows)

    def count(self, table: str) -> int:
        """Number of keys in the table."""
        return self._database.run(f"SELECT count(*) FROM {_quoted(table)}")[0][0]

    def last(self, table: str) -> str:
        """The key that `append` gave last in the table; "" when it gave none."""
        counter = self.get("meta", f"sequence:{table}")
        return "" if counter is None else _numbered(counter["last"])

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
        _quoted(name)
        path = str(self._database.path)
        # The lock keeps our connection open: were SqliteDict's the last to close, it would move
        # the log into the file without a sync. Flag "c" since "r" leaks a connection (2.1.0).
        with self._database.lock, translated(self._database.path):
            self._database.connection.execute("SELECT 1 FROM sqlite_master").fetchall()
            with SqliteDict(
                path, tablename=name, decode=json.loads, encode=json.dumps, journal_mode="WAL"
            ) as copy:
                return dict(cast(Iterable[tuple[str, JsonObject]], copy.items()))


class Writer:
    """The writes of one transaction; of no use after it."""

    def __init__(self, database: _Database) -> None:
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
        self._run(f"CREATE TABLE IF NOT EXISTS {_quoted(table)} (key TEXT PRIMARY KEY, value BLOB)")

    def get(self, table: str, key: str) -> JsonObject | None:
        """The value as this transaction sees it, None when the table does not hold the key."""
        return _get(self._database, table, key)

    def put(self, table: str, key: str, value: JsonObject) -> None:
        """Write the value, in place of the old one if there is one."""
        self._run(
            f"INSERT INTO {_quoted(table)} VALUES (?, ?) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            key,
            _encoded(table, key, value),
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
        key = _numbered(counter["last"])
        self.add(table, key, value)
        return key

    def delete(self, table: str, key: str) -> bool:
        """Remove the key; False when the table did not hold it."""
        return bool(self._run(f"DELETE FROM {_quoted(table)} WHERE key = ? RETURNING 1", key))


Migration = Callable[[Writer], None]


def first_tables(writer: Writer) -> None:
    """Version 1: the tables."""
    for table in TABLES:
        writer.create(table)


MIGRATIONS: Final[tuple[Migration, ...]] = (first_tables,)
"""Step n leads from version n to n + 1 and commits together with its record in `meta`. A released
step is never edited: add another, which also creates the tables that are new in TABLES."""


class _Database:
    """The connection, its lock, and the only place where SQL is run."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.path = path
        self.busy_seconds = busy_seconds
        self.lock = threading.RLock()
        with translated(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self.connection = sqlite3.connect(
                path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
            )

    def run(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        """All rows of one statement."""
        with self.lock, translated(self.path):
            return self.connection.execute(sql, values).fetchall()

    def refuse_inside_transaction(self) -> None:
        """To be called with the lock held, so that a transaction can only be the caller's own."""
        with translated(self.path):
            inside = self.connection.in_transaction
        if inside:
            raise StoreError(
                "A transaction is open in this thread; transactions do not nest.",
                next_step="pass its writer on, or end it first",
            )

    def enter_wal(self) -> None:
        """Switch to WAL (a stock SqliteDict may have switched it off) and full syncs."""
        deadline = time.monotonic() + self.busy_seconds
        while (mode := self._try_wal(last=time.monotonic() > deadline)) is None:
            time.sleep(0.005)
        if mode != "wal":
            raise StoreError(
                f"{self.path} lies on a file system without shared memory maps (mode {mode!r}).",
                next_step="choose an --outdir on a local disk",
            )
        self.run("PRAGMA synchronous = FULL")
        self.run(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")

    def _try_wal(self, last: bool) -> str | None:
        # SQLite does not wait the busy time here when two connections switch at once.
        with self.lock, translated(self.path):
            try:
                return self.connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            except sqlite3.OperationalError as error:
                if last or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                return None


def _get(database: _Database, table: str, key: str) -> JsonObject | None:
    rows = database.run(f"SELECT value FROM {_quoted(table)} WHERE key = ?", key)
    return _decoded(database.path, table, key, rows[0][0]) if rows else None


def _select(
    database: _Database, table: str, prefix: str, limit: int = -1, after: str | None = None
) -> list[tuple[Any, ...]]:
    """Rows whose key begins with `prefix`, those above `after` if it is given."""
    end = _prefix_end(prefix)
    where = "key >= ?" if after is None else "key > ?"
    where += "" if end is None else " AND key < ?"
    sql = f"SELECT key, value FROM {_quoted(table)} WHERE {where} ORDER BY key LIMIT {limit}"
    return database.run(sql, prefix if after is None else after, *([] if end is None else [end]))


def _prefix_end(prefix: str) -> str | None:
    """The least text above all that begin with `prefix`; None: there is none."""
    stem = prefix.rstrip("\U0010ffff")
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    # Surrogates are no characters of UTF-8.
    return stem[:-1] + chr(0xE000 if following == 0xD800 else following)


def _numbered(number: int) -> str:
    """Keys of appended rows; they sort as their numbers do."""
    return f"{number:012d}"


def _quoted(table: str) -> str:
    if table not in TABLES:
        raise StoreError(f"There is no table `{table}`.", valid=", ".join(TABLES))
    return f'"{table}"'


def _encoded(table: str, key: str, value: JsonObject) -> str:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"{table}/{key} is not JSON: {error}",
            valid="an object of text, finite numbers, true, false, null, lists and objects",
        ) from error


def _decoded_all(
    path: Path, table: str, rows: Sequence[tuple[Any, ...]]
) -> list[tuple[str, JsonObject]]:
    """Keys and values of rows: all in one go, and one by one where that gives anything but an
    object for each."""
    try:
        values: list[Any] = from_json("[" + ",".join([text for _, text in rows]) + "]")
    except (ValueError, TypeError):
        values = []
    if len(values) == len(rows) and set(map(type, values)) <= {dict}:
        return [(key, value) for (key, _), value in zip(rows, values, strict=True)]
    return [(key, _decoded(path, table, key, text)) for key, text in rows]


def _decoded(path: Path, table: str, key: str, text: str | bytes) -> JsonObject:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise damaged(path, f"{table}/{key} is not JSON") from error
    if not isinstance(value, dict):
        raise damaged(path, f"{table}/{key} is not an object")
    return cast(JsonObject, value)


def _version(database: _Database) -> int:
    """Migrations that the file has seen; 0 for an empty file. StoreError: not a state file."""
    tables = [name for (name,) in database.run("SELECT name FROM sqlite_master")]
    if not tables:
        return 0
    schema = _get(database, "meta", "schema") if "meta" in tables else None
    if schema is None or not isinstance(schema.get("version"), int):
        raise StoreError(
            f"{database.path} is an SQLite file, but not one of Kernelwright's.",
            next_step="choose another --outdir",
        )
    return schema["version"]
