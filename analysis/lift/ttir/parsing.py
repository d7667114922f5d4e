"""Text of TTIR, Triton's own intermediate form, as operations with regions.

The text is MLIR as Triton 3.x prints it: an operation a line, in static single assignment, with
helpers inlined and every type written out. Places in the source (`loc(...)`) are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..expressions import Unreadable

_PLACE = re.compile(r"\s*loc\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)")
_RESULTS = re.compile(r"^(%[\w.$-]+(?:, %[\w.$-]+)*)(?::(\d+))? = ")
_VALUE = re.compile(r"%[\w.$-]+(?:#\d+)?")
_FUNCTION = re.compile(r"tt\.func (?:public |private )?@(?:\"([^\"]+)\"|([\w.$]+))\((.*)\)(.*)\{$")
_PARAMETER = re.compile(
    r"(%[\w.$-]+): ((?:[^,{<]|<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)+)(?:\{[^}]*\})?"
)
_NAME = re.compile(r'^"?([a-z_]+\.[\w.]+)"?')


@dataclass
class Region:
    """A block: its parameters and operations."""

    parameters: tuple[str, ...] = ()
    operations: list[Operation] = field(default_factory=list["Operation"])
    others: dict[str, Region] = field(default_factory=dict[str, "Region"])
    """blocks behind it that jumps lead to, by their names"""


@dataclass
class Operation:
    """One operation."""

    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    text: str
    """the whole line, without results and places"""
    regions: list[Region] = field(default_factory=list[Region])

    @property
    def types(self) -> str:
        """What stands behind the last colon outside of brackets."""
        depth, at = 0, len(self.text)
        for n in range(len(self.text) - 1, -1, -1):
            mark = self.text[n]
            depth += (mark in ")>]}" and self.text[n - 1] != "-") - (mark in "(<[{")
            if mark == ":" and depth == 0:
                at = n + 1
                break
        return self.text[at:].strip()

    @property
    def result_type(self) -> str:
        """The type of its first result; of `true` and `false`, which have none written, i1."""
        if self.text.endswith((" true", " false")):
            return "i1"
        return _whole_types(self.types.rpartition(" -> ")[2] if " -> " in self.types else
                            self.types.rpartition(" to ")[2] if " to " in self.types else
                            self.types)[-1]  # fmt: skip


@dataclass(frozen=True)
class TritonFunction:
    """A function: the types of its parameters by name, and its body."""

    name: str
    parameters: dict[str, str]
    body: Region


def _whole_types(text: str) -> list[str]:
    """Types between commas, brackets kept whole."""
    found, depth, start = list[str](), 0, 0
    text = text.strip()
    for n, mark in enumerate(text):
        depth += (mark in "(<[{") - (mark in ")>]}" and text[n - 1] != "-")
        if mark == "," and depth == 0:
            found.append(text[start:n].strip())
            start = n + 1
    return [*found, text[start:].strip()]


def functions_in(text: str) -> dict[str, TritonFunction]:
    """The functions of a module by name. Raises Unreadable for text of another form."""
    lines = iter([_PLACE.sub("", line).strip() for line in text.splitlines()])
    found = dict[str, TritonFunction]()
    for line in lines:
        opened = _FUNCTION.match(line)
        if opened:
            name = opened[1] or opened[2]
            parameters = {m[1]: m[2].strip() for m in _PARAMETER.finditer(opened[3])}
            body = Region(tuple(parameters))
            _until_closed(lines, body)
            found[name] = TritonFunction(name, parameters, body)
    return found


def _until_closed(lines: Iterator[str], region: Region) -> str:
    """Read operations into a region; the line that closes it."""
    here = region
    for line in lines:
        if not line or line.startswith(("//", "#")):
            continue
        if line.startswith("}"):
            return line
        if line.startswith("^"):
            label = re.split(r"[(:]", line, maxsplit=1)[0]
            if region.operations:
                here = region.others[label] = Region()
            here.parameters = tuple(_VALUE.findall(line))
            continue
        here.operations.append(_operation(line, lines))
    raise Unreadable("text of a kernel that ends in the middle")


def _operation(line: str, lines: Iterator[str]) -> Operation:
    found = _RESULTS.match(line)
    results: tuple[str, ...] = ()
    if found:
        line = line[found.end() :]
        many = int(found[2] or 1)
        results = tuple(f"{found[1]}#{n}" for n in range(many))
        if not found[2]:
            results = tuple(found[1].split(", "))
    name = _NAME.match(line)
    if name is None:
        raise Unreadable(f"the line {line[:60]}")
    made = Operation(name[1], results, tuple(_VALUE.findall(line)), line)
    if not line.endswith("{"):
        return made
    while True:
        inner = Region()
        made.regions.append(inner)
        closed = _until_closed(lines, inner)
        if not closed.endswith("{"):
            made.text += closed.lstrip("}")
            return made
