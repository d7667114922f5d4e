"""What SQLite and the file system raise on the state file, in words for the reader."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ..runners.errors import StoreError


def damaged(path: Path, what: str) -> StoreError:
    """The error for a file whose content is not what was written."""
    return StoreError(
        f"{path} is damaged: {what}.",
        next_step=f"restore a copy, or move {path.name}* aside and call `open_kernel` again",
    )


@contextmanager
def translated(path: Path) -> Generator[None]:
    """Turn what SQLite and the file system raise into StoreError."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise StoreError("A key must be text that UTF-8 can hold (no lone surrogates).") from error
    except OSError as error:
        raise StoreError(
            f"{path} cannot be opened: {error}", next_step="choose another --outdir"
        ) from error
    except sqlite3.Error as error:
        raise _explained(path, error) from error


def _explained(path: Path, error: sqlite3.Error) -> StoreError:
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return StoreError(
                f"The disk is full: {path} could not grow; nothing of this transaction was kept.",
                next_step=f"free space on the disk of {path.parent}, then repeat the call",
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreError(
                f"{path} is locked by {_holder(path)}.",
                next_step="repeat the call; if it stays locked, end that process",
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return damaged(path, str(error))
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return StoreError(
                f"{path} cannot be opened for writing: {error}.",
                valid="a file in a folder that this user may write to",
                next_step="choose another --outdir, or change its permissions",
            )
        case sqlite3.SQLITE_OK:  # pysqlite's own errors carry no code
            return StoreError(f"The store of {path} cannot be used: {error}")
        case _:
            return StoreError(f"{path}: SQLite failed: {error}.")


def _holder(path: Path) -> str:
    """Who holds a write lock on the file, from Linux's table of locks.

    Asking the file itself (F_GETLK) would mean to open and close it, which drops SQLite's locks.
    """
    try:
        inodes = {f.stat().st_ino for f in (path, Path(f"{path}-shm")) if f.exists()}
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
        # "1: POSIX  ADVISORY  WRITE 4977 fe:00:2146491 120 120"; waiters have "->" after "1:".
        held = [f for line in lines if len(f := line.split()) == 8 and f[3] == "WRITE"]
        pids = {f[4] for f in held if int(f[5].rsplit(":", 1)[1]) in inodes}
        commands = [f"process {pid} ({_command(pid)})" for pid in sorted(pids)]
    except OSError:
        return "another process"
    return ", ".join(commands) or "another process"


def _command(pid: str) -> str:
    """The beginning of the command line of a process."""
    return (
        Path("/proc", pid, "cmdline")
        .read_bytes()[:100]
        .replace(b"\0", b" ")
        .decode(errors="replace")
        .strip()
    )
