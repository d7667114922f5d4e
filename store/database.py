"""The state file below the store: its connection, its lock, and the reads that all share.

Durability: the file is in WAL mode with synchronous FULL, so a commit is in the log *and* synced
when `transaction()` ends; neither a killed process nor a power cut loses it. NORMAL would lose
nothing when a process is killed (the log is in the kernel's page cache), but it syncs only at
checkpoints: a power cut could take back commits that someone had already been told of.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path
from typing import Any, Final

from ..runners.errors import StoreError
from .codec import JsonObject, decoded
from .errors import translated

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
    "exchanges",
    "labels",
)
BUSY_SECONDS: Final = 10.0
"""how long a write waits for another process; a transaction takes well under 5 ms"""
CHECKPOINT_PAGES: Final = 4000
"""the log's pages after which a commit moves them into the file, 16 MB; that takes tens of
milliseconds, and with SQLite's own 1000 more than one commit in a hundred would have to wait"""


class Database:
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


def get(database: Database, table: str, key: str) -> JsonObject | None:
    """The value, None when the table does not hold the key."""
    rows = database.run(f"SELECT value FROM {quoted(table)} WHERE key = ?", key)
    return decoded(database.path, table, key, rows[0][0]) if rows else None


def select(
    database: Database, table: str, prefix: str, limit: int = -1, after: str | None = None
) -> list[tuple[Any, ...]]:
    """Rows whose key begins with `prefix`, those above `after` if it is given."""
    end = _prefix_end(prefix)
    where = "key >= ?" if after is None else "key > ?"
    where += "" if end is None else " AND key < ?"
    sql = f"SELECT key, value FROM {quoted(table)} WHERE {where} ORDER BY key LIMIT {limit}"
    return database.run(sql, prefix if after is None else after, *([] if end is None else [end]))


def inner(field: str) -> str:
    """A field of values for SQL, in the one spelling by which an index on it is found."""
    if not field.isidentifier():
        raise StoreError(f"{field!r} is no name of a field.", valid="one such as state")
    return f"json_extract(value, '$.{field}')"


def _prefix_end(prefix: str) -> str | None:
    """The least text above all that begin with `prefix`; None: there is none."""
    stem = prefix.rstrip("\U0010ffff")
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    # Surrogates are no characters of UTF-8.
    return stem[:-1] + chr(0xE000 if following == 0xD800 else following)


def quoted(table: str) -> str:
    """A table's name for SQL. Raises StoreError: there is none of that name."""
    if table not in TABLES:
        raise StoreError(f"There is no table `{table}`.", valid=", ".join(TABLES))
    return f'"{table}"'
