"""What the static screens of every language hand over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ScreenTier = Literal["block", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A name in a source that has no business there: where, and why. `block` refuses it."""

    tier: ScreenTier
    line: int
    name: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: `{self.name}` {self.reason}"
