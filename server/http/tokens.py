"""Bearer tokens of the HTTP server: made once, shown once, kept as digests in the state folder.

A token is 256 random bits, so its plain SHA-256 says nothing about it; whoever can write the state
folder can do what any token can.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from ...runners.errors import KernelwrightError, SpecError
from ...runners.whole_files import write_whole

if TYPE_CHECKING:
    from filelock import FileLock

Scope = Literal["read", "work"]
SCOPES: dict[Scope, str] = {
    "read": "tools that neither write nor build nor run anything",
    "work": "every tool",
}
FILE = "http_tokens.json"
PREFIX = "kw_"
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token: not the token."""

    name: str
    scope: Scope
    digest: str
    """SHA-256 of the token, in hexadecimal"""
    made_at: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one state folder, read anew at each question: one that was revoked is refused
    at once, also by a server that was started before."""

    outdir: Path

    def make(self, name: str, scope: Scope) -> str:
        """A new token of that name, in its only appearance. Raises SpecError where the name is
        none or taken, KernelwrightError where the kept ones cannot be read."""
        if not NAME.fullmatch(name):
            raise SpecError(
                f"{name!r} cannot name a token",
                valid="1 to 40 of a-z 0-9 . _ -, a letter or digit first",
                next_step="name it after who will hold it, for example laptop",
            )
        token, record = drawn(name, scope)
        with self._lock():
            kept = self.kept()
            if name in {each.name for each in kept}:
                raise SpecError(
                    f"there is a token `{name}` already",
                    next_step=f"take another name, or `kernelwright token revoke {name}` first",
                )
            self._write((*kept, record))
        return token

    def revoke(self, name: str) -> None:
        """Forget a token. Raises SpecError where there is none of that name."""
        with self._lock():
            kept = self.kept()
            left = tuple(each for each in kept if each.name != name)
            if len(left) == len(kept):
                names = ", ".join(each.name for each in kept) or "none: no token was made"
                raise SpecError(f"there is no token `{name}`", valid=names)
            self._write(left)

    def kept(self) -> tuple[Token, ...]:
        """What is kept, in the order of making. Raises KernelwrightError where it is damaged."""
        try:
            rows = cast("list[dict[str, str]]", json.loads(self._path.read_text()))
            found = tuple(Token(**row) for row in rows)  # type: ignore[arg-type]
        except FileNotFoundError:
            return ()
        except (ValueError, TypeError) as error:
            raise KernelwrightError(
                f"{self._path} cannot be read: {error}",
                next_step="remove it, and make the tokens anew",
            ) from error
        return tuple(
            each if each.scope in SCOPES else replace(each, scope="read") for each in found
        )

    def holder(self, token: str) -> Token | None:
        """Whose token it is; None: nobody's."""
        return holder_of(token, self.kept())

    @property
    def _path(self) -> Path:
        return self.outdir / FILE

    def _lock(self) -> FileLock:
        self.outdir.mkdir(parents=True, exist_ok=True)
        from filelock import (
            FileLock,  # the command line reads this file before it knows its command
        )

        return FileLock(f"{self._path}.lock", mode=0o600)

    def _write(self, tokens: tuple[Token, ...]) -> None:
        write_whole(self._path, json.dumps([asdict(each) for each in tokens], indent=1) + "\n")
        os.chmod(self._path, 0o600)


def drawn(name: str, scope: Scope) -> tuple[str, Token]:
    """A new token, and what may be kept of it."""
    token = PREFIX + secrets.token_urlsafe(32)
    made = datetime.now(UTC).isoformat(timespec="seconds")
    return token, Token(name, scope, _digest(token), made)


def holder_of(token: str, kept: Iterable[Token]) -> Token | None:
    """Whose token it is; None: nobody's. Takes as long for a token that is nearly right."""
    digest, found = _digest(token), None
    for each in kept:
        if compare_digest(each.digest, digest):
            found = each
    return found


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
