"""Single precision where no array is wider: `0.5f` for `0.5`, `float` for local `double`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....runners.c_source.comments import without_comments
from ....runners.c_source.expressions import arguments
from ....runners.c_source.nodes import text_of, walk
from ....runners.c_source.parsing import parse_cpp
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit, edited, insert_after, replace_node

if TYPE_CHECKING:
    from tree_sitter import Node

DOUBLE = re.compile(r"(\d[\d']*\.?[\d']*|\.\d[\d']*)([eE][+-]?\d+)?")
WIDE = ("float64", "complex128")
PURE = ("identifier", "subscript_expression", "field_expression")
POWERS = {"pow", "powf", "std::pow", "__powf"}
SQUARE = re.compile(r"2(\.0*)?[fF]?")
DEFINED = re.compile(rb"\(?-?(?P<number>[\d.]+([eE][+-]?\d+)?)\)?")


def _write(state: State) -> Proposals:
    if any(a.dtype in WIDE for a in state.spec.io.arguments):
        return NotApplicable("an argument of the contract is double")
    source = state.source.encode()
    root = parse_cpp(without_comments(source)).root_node
    if root.has_error:
        return NotApplicable("the syntax tree of the source has errors, so it is left alone")
    literals, squares = _literals(root), _squares(root)
    types = [n for n in walk(root) if n.type == "primitive_type" and text_of(n) == "double"]
    found: list[Candidate] = []
    if literals or squares:
        told = [f"{len(literals)} literals as float"] if literals else []
        told += [f"{len(squares)} powers as products"] if squares else []
        found.append(_candidate(source, [*literals, *squares], " and ".join(told), 0.4))
    if types and not _pointed(types):
        floats = [replace_node(n, "float") for n in types]
        found.append(
            _candidate(source, [*literals, *squares, *floats], "float in place of double", 0.3)
        )
    return (
        tuple(found)
        if found
        else NotApplicable(
            "no literal such as `0.5`, no `double` and no `pow(x, 2)` stands in the source"
        )
    )


def _candidate(source: bytes, edits: list[Edit], detail: str, prior: float) -> Candidate:
    return Candidate(
        method=MOVE.method, detail=detail, source=edited(source, _apart(edits)), prior=prior
    )


def _apart(edits: list[Edit]) -> list[Edit]:
    """Without those within another, which rewrites their text whole."""
    return [
        e for e in edits
        if not any(o is not e and o.start <= e.start and e.end <= o.end and o.start < o.end
                   for o in edits)
    ]  # fmt: skip


def _literals(root: Node) -> list[Edit]:
    found: list[Edit] = []
    for node in walk(root):
        text = text_of(node)
        if node.type == "number_literal" and _is_double(text):
            found.append(insert_after(node, "f"))
        elif node.type == "preproc_def":
            value = node.child_by_field_name("value")
            match = DEFINED.fullmatch((value.text or b"").strip()) if value is not None else None
            if value is not None and match is not None and _is_double(match["number"].decode()):
                at = value.start_byte + (value.text or b"").find(match["number"])
                end = at + len(match["number"])
                found.append(Edit(end, end, "f"))
    return found


def _is_double(text: str) -> bool:
    return DOUBLE.fullmatch(text) is not None and any(c in text for c in ".eE")


def _squares(root: Node) -> list[Edit]:
    """`pow(x, 2)` of a value that is there already: x * x."""
    found: list[Edit] = []
    for node in walk(root):
        if node.type != "call_expression":
            continue
        given = arguments(node)
        if text_of(node.child_by_field_name("function")) not in POWERS or len(given) != 2:
            continue
        base, power = given
        if base.type in PURE and SQUARE.fullmatch(text_of(power)):
            found.append(replace_node(node, f"({text_of(base)} * {text_of(base)})"))
    return found


def _pointed(types: list[Node]) -> bool:
    """Whether memory is seen as double through some pointer."""
    above = (n.parent for n in types)
    return any("pointer" in c.type for a in above if a is not None for c in a.children)


MOVE = Move(
    id="avoid_double",
    method="avoid_double_arithmetic",
    languages=("cuda",),
    why="A literal such as 0.5 makes the arithmetic around it double, which is slower by 2 times "
    "(data centre GPUs) to 64 times (others), and its functions by more. Pays wherever the "
    "contract's arrays are float or narrower; results are rounded to float earlier.",
    write=_write,
)
