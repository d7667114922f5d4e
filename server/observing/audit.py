"""A line of JSON for every call of a client: who asked what, how it ended, how long it took.

`audit.jsonl` in the state folder, readable by its owner alone. At LARGEST bytes it becomes
`audit.1.jsonl`, and so on up to KEPT. Every server of the folder writes the same file, a whole line
at a time under a lock. Long texts of arguments stand as their SHA-256 and length; what looks like a
secret, by the name of its field or by its form, does not stand there at all.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

FILE: Final = "audit.jsonl"
LARGEST: Final = 8 << 20
"""bytes of one file"""
KEPT: Final = 4
"""older ones"""
LONGEST_TEXT: Final = 200
LONGEST_ARGUMENTS: Final = 4000
"""characters of all of them, as JSON"""
LEFT_OUT: Final = "(left out)"
SECRET_NAME = re.compile(
    r"(^|[_-])(token|secret|passw(or)?d|api[_-]?key|credentials?|authorization|bearer)$", re.I
)
SECRET_FORM = re.compile(
    r"\bkw_[\w-]{20,}|\bsk-[\w-]{16,}|\bgh[pousr]_\w{20,}|\bBearer\s+[\w.~+/-]{16,}=*", re.I
)
Json = dict[str, Any]
logger = logging.getLogger(__name__)


class Audit:
    """The file in one state folder."""

    def __init__(self, outdir: Path) -> None:
        self._outdir = outdir
        self._failing = False

    @property
    def path(self) -> Path:
        """The newest file."""
        return self._outdir / FILE

    def write(self, record: Mapping[str, Any]) -> None:
        """Add a line. A disk that takes none is told once, and ends no call."""
        line = json.dumps(record, ensure_ascii=True, separators=(",", ":"), default=str) + "\n"
        try:
            self._outdir.mkdir(parents=True, exist_ok=True)
            self._append(line.encode())
            self._failing = False
        except OSError as error:
            if not self._failing:
                logger.warning("calls are not written down in %s: %s", self.path, error)
            self._failing = True

    def _append(self, line: bytes) -> None:
        while True:
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                if not self._is_newest(file):
                    continue  # another server has turned it over since
                if os.fstat(file).st_size and os.fstat(file).st_size + len(line) > LARGEST:
                    self._turn_over()
                    continue
                os.write(file, line)
                return
            finally:
                os.close(file)

    def _is_newest(self, file: int) -> bool:
        try:
            return os.fstat(file).st_ino == self.path.stat().st_ino
        except FileNotFoundError:
            return False

    def _turn_over(self) -> None:
        for number in range(KEPT, 0, -1):
            newer = self._numbered(number - 1) if number > 1 else self.path
            with suppress(FileNotFoundError):
                newer.replace(self._numbered(number))

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"audit.{number}.jsonl")


def told(arguments: object) -> object:
    """Arguments as they may be kept: without secrets, long texts by their digest, and all of them
    by their digest where they are still long."""
    kept = _told(arguments)
    text = json.dumps(kept, ensure_ascii=False)
    return kept if len(text) <= LONGEST_ARGUMENTS else _digest(json.dumps(arguments, default=str))


def _told(value: object, name: str = "") -> object:
    if isinstance(value, str):
        if SECRET_NAME.search(name):
            return LEFT_OUT
        return SECRET_FORM.sub(LEFT_OUT, value) if len(value) <= LONGEST_TEXT else _digest(value)
    if isinstance(value, Mapping):
        known = cast("Mapping[object, object]", value)
        return {_key(k): _told(v, str(k)) for k, v in known.items()}
    if isinstance(value, list | tuple):
        return [_told(each, name) for each in cast("list[object]", value)]
    return value


def _key(key: object) -> str:
    return SECRET_FORM.sub(LEFT_OUT, str(key)[:LONGEST_TEXT])


def _digest(text: str) -> Json:
    data = text.encode("utf-8", errors="surrogatepass")
    return {"sha256": hashlib.sha256(data).hexdigest(), "characters": len(text)}
