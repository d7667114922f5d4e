"""Compiler flags that a C++ source sets by itself: pragmas and attributes of functions.

What the contract refuses on a command line it refuses here. All text but comments is read, strings
too: `_Pragma` has its words in one, and a macro may hand them to it. What macros, lines that go on
and names that stand for strings make of it is read where the compiler's preprocessor has told it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ..specs.io_contract import Contract
from .compiler_flags import changes_results, generates_code
from .findings import Finding

_COMMENT = re.compile(r"//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/", re.DOTALL)
_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|' + _COMMENT.pattern, re.DOTALL)
_BETWEEN = r"[\s,()\d]*"
_SET = re.compile(
    rf"""\b_{{0,2}}(?P<kind>optimize|target)_{{0,2}}{_BETWEEN}"""
    rf"""(?P<options>"[^"\n]*"(?:{_BETWEEN}"[^"\n]*")*)"""
)
_RAW = re.compile(r"""R"(?P<mark>[^()\\\s]{0,16})\((?P<inside>.*?)\)(?P=mark)\"""", re.DOTALL)
_PREFIX = re.compile(r"""\b(?:u8|[uUL])(?=R?")""")
_STRING = re.compile(r'"([^"]*)"')
_JOINED = re.compile(r'"\s*"')
_MODES = re.compile(
    r"clang\s+fp\b[^\n]*\b(?:reassociate|reciprocal)\s*\(\s*on"
    r"|\bfloat_control\s*\(\s*precise\s*,\s*off"
    r"|\bSTDC\s+CX_LIMITED_RANGE\s+ON"
)
"""pragmas by which clang and MSVC say the same"""
_MADE = re.compile(
    r"##|%:%:|\b_{0,2}(?:optimize|target)_{0,2}\b|\b[A-Z]\w*\s*\("
    r"|\b(?!_mm|__builtin_|__attribute)_\w*\s*\("
)
"""words that are pasted, the two words themselves, and what may be a macro of a header's"""


_GOES_ON = re.compile(r"(?:\\|\?\?/)[ \t\r]*\n")
"""the end of a line that the next one goes on with"""


def flag_findings(source: str, contract: Contract | None) -> Iterator[Finding]:
    """Flags that a source sets and a candidate may not; None: there is no contract to ask."""
    if contract is None:
        return
    yield from _set_in(_TEXT.sub(_readable, _plain(source)), contract)


def may_make_flags(source: str) -> bool:
    """Whether a preprocessor could make of it what `flag_findings` does not see."""
    return bool(_MADE.search(_GOES_ON.sub("", source)))


def made_flags(expanded: str, contract: Contract) -> Iterator[Finding]:
    """As `flag_findings`, of what a preprocessor made of a source and all that it includes: text
    without comments and without lines that anybody wrote. Instruction sets that no kernel may have
    do not count: compilers' own headers choose them for the functions that they declare."""
    for found in _set_in(_plain(expanded), contract):
        if changes_results(found.name) or not found.name.startswith("-m"):
            yield replace(found, line=0)


def _set_in(text: str, contract: Contract) -> Iterator[Finding]:
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


def _plain(text: str) -> str:
    """With raw strings as others, and without what says how wide the characters of one are."""
    return _RAW.sub(_unraw, _PREFIX.sub("", text))


def _unraw(found: re.Match[str]) -> str:
    inside = found["inside"]
    return inside if re.search(r'["\n]', inside) else f'"{inside}"'


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
