"""Compiler flags that a C++ source sets by itself: pragmas and attributes of functions.

What the contract refuses on a command line it refuses here. All text but comments is read, strings
too: `_Pragma` has its words in one, and a macro may hand them to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..specs.io_contract import Contract
from .compiler_flags import changes_results, generates_code
from .findings import Finding

_COMMENT = re.compile(r"//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/", re.DOTALL)
_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|' + _COMMENT.pattern, re.DOTALL)
_SET = re.compile(
    r"""\b_{0,2}(?P<kind>optimize|target)_{0,2}\s*\(?\s*(?P<options>"[^"\n]*"(?:[\s,]*"[^"\n]*")*)"""
)
_STRING = re.compile(r'"([^"]*)"')
_JOINED = re.compile(r'"\s*"')
_MODES = re.compile(
    r"clang\s+fp\b[^\n]*\b(?:reassociate|reciprocal)\s*\(\s*on"
    r"|\bfloat_control\s*\(\s*precise\s*,\s*off"
    r"|\bSTDC\s+CX_LIMITED_RANGE\s+ON"
)
"""pragmas by which clang and MSVC say the same"""


def flag_findings(source: str, contract: Contract | None) -> Iterator[Finding]:
    """Flags that a source sets and a candidate may not; None: there is no contract to ask."""
    if contract is None:
        return
    text = _TEXT.sub(_readable, source)
    for found in _SET.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        for flag in _flags(found["kind"], found["options"]):
            if changes_results(flag):
                if contract.math != "fast":
                    yield Finding("block", line, flag, _changes(contract))
            elif not generates_code(flag):
                yield Finding("block", line, flag, "is a flag that no kernel may set")
    if contract.math != "fast":
        for found in _MODES.finditer(text):
            line, name = text.count("\n", 0, found.start()) + 1, " ".join(found[0].split())
            yield Finding("block", line, name, _changes(contract))


def _changes(contract: Contract) -> str:
    return f"changes results, and the contract's math is `{contract.math}`"


def _readable(text: re.Match[str]) -> str:
    """A comment as its line breaks, a string with the quotes that it holds, without its own where
    it holds some."""
    if text[0][0] != '"':
        return "\n" * text[0].count("\n") or " "
    inside = text[0][1:-1]
    return inside.replace('\\"', '"') if '\\"' in inside else text[0]


def _flags(kind: str, options: str) -> Iterator[str]:
    """As a command line has them: `"O3,fast-math"` of `optimize` is -O3 and -ffast-math."""
    joined = _JOINED.sub("", options) if kind == "optimize" else options
    for text in _STRING.findall(joined):
        for each in filter(None, map(str.strip, text.split(","))):
            if each.startswith("-"):
                yield each
            elif kind == "target":
                yield f"-m{each}"
            elif each.isdigit():
                yield f"-O{each}"
            else:
                yield f"-{each}" if re.fullmatch(r"O\w*", each) else f"-f{each}"
