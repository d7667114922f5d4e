"""What one line of a kernel's source is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LineKind = Literal["code", "blank", "comment", "declaration", "punctuation", "directive", "outside"]
"""`declaration`: names something and computes nothing (a signature, `float s[64];`); `directive`:
of the preprocessor; `outside`: of no function that can run on the device"""
PUNCTUATION = frozenset("{}()[];,")


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of a source."""

    kind: LineKind
    function: str = ""
    """the function for the device that the line is in; empty: in none"""
    statement: range = range(0)
    """all lines of the statement that the line is a part of; empty where it is one of its own"""


OUTSIDE = SourceLine("outside")
