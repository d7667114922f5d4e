"""Constants in the source that read like tuning knobs: their values doubled, halved, and so on.

A constant is a knob when all of this holds:
- it is `#define NAME 32`, or an integer `constexpr` or `const` with a literal for its value;
- a word of its name is one of KNOB_WORDS (BLOCK_SIZE, kTileM, unroll2);
- it is defined once, and neither the spec's parameters nor its defines set it;
- its value is at least 1, and code or a macro uses it. A use in a parameter list does not
  count: the size of an array in the interface is no choice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...runners.model import Candidate
from ...runners.normalise import parse_cpp, preproc_text
from .base import Move, NotApplicable, Proposals, State

if TYPE_CHECKING:
    from tree_sitter import Node

# fmt: off
KNOB_WORDS = frozenset({
    "batch", "block", "blocks", "blk", "bk", "bm", "bn", "buffers", "chunk", "chunks", "depth",
    "distance", "grain", "group", "ilp", "kc", "kr", "lanes", "mc", "mr", "nc", "nr", "pad",
    "padding", "panel", "prefetch", "rows", "simd", "split", "splits", "stage", "stages", "step",
    "strip", "threads", "tile", "tiles", "tk", "tm", "tn", "unroll", "vec", "vector", "warps",
    "width",
})
# fmt: on
FACTORS = ((2, 1, 0.3), (1, 2, 0.3), (4, 1, 0.15), (1, 4, 0.15))  # times, over, prior
LARGEST = 1 << 20
INTEGER = re.compile(
    r"(?P<digits>0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)(?P<suffix>[uUlLzZ]*)"
)
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
IDENTIFIER = re.compile(rb"[A-Za-z_]\w*")
INTEGRAL = re.compile(rb"\b(int|unsigned|signed|short|long|char|auto|\w*size_t|u?int\w*_t)\b")


@dataclass(frozen=True)
class Constant:
    """An integer constant of the source: bytes [start, end) hold its literal."""

    name: str
    value: int
    suffix: str
    start: int
    end: int


def _write(state: State) -> Proposals:
    source = state.source.encode()
    taken = {*state.spec.parameters, *state.spec.kernel.defines}
    knobs = [k for k in find_knobs(source) if k.name not in taken]
    if not knobs:
        return NotApplicable("no constant in the source reads like a tuning knob")
    found = [_candidate(source, knob, *factor) for knob in knobs for factor in FACTORS]
    proposals = sorted((c for c in found if c is not None), key=lambda c: -c.prior)
    if not proposals:
        return NotApplicable("the constants in the source can be neither doubled nor halved")
    return tuple(proposals)


def find_knobs(source: bytes) -> tuple[Constant, ...]:
    """The constants that the rule at the top of this file takes for tuning knobs, in order."""
    constants: list[Constant] = []
    uses: Counter[str] = Counter()
    definitions: Counter[str] = Counter()
    for node in _nodes(parse_cpp(source).root_node):
        if node.type == "preproc_arg":
            words = IDENTIFIER.findall(preproc_text(_text(node)) or b"")
            uses.update(word.decode() for word in words)
        elif node.type in ("identifier", "type_identifier"):
            if _defines(node):
                definitions[_text(node).decode()] += 1
            elif _is_use(node):
                uses[_text(node).decode()] += 1
        elif (constant := _constant(node)) is not None:
            constants.append(constant)
    return tuple(
        c
        for c in constants
        if c.value >= 1 and uses[c.name] and definitions[c.name] == 1 and _reads_like_knob(c.name)
    )


def _reads_like_knob(name: str) -> bool:
    return any(word.lower() in KNOB_WORDS for word in WORD.findall(name))


def _nodes(root: Node) -> Iterator[Node]:
    """Every node below root in the order of the source, parts that do not parse left out."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.is_error:
            continue
        yield node
        pending += reversed(node.children)


def _text(node: Node) -> bytes:
    return node.text or b""


def _defines(node: Node) -> bool:
    """Whether the identifier is the one that a #define or a declarator introduces."""
    parent = node.parent
    if parent is None or parent.type not in (
        "preproc_def",
        "preproc_function_def",
        "init_declarator",
        "array_declarator",
        "parameter_declaration",
        "declaration",
    ):
        return False
    field = "name" if parent.type.startswith("preproc") else "declarator"
    return parent.child_by_field_name(field) == node


def _is_use(node: Node) -> bool:
    """Not a guard's name (#ifndef NAME), not part of a parameter list."""
    parent = node.parent
    if parent is not None and parent.type == "preproc_ifdef":
        return False
    while parent is not None:
        if parent.type == "parameter_list":
            return False
        parent = parent.parent
    return True


def _constant(node: Node) -> Constant | None:
    if node.type == "preproc_def":
        value = node.child_by_field_name("value")
    elif node.type == "init_declarator" and _is_const_integer(node.parent):
        value = node.child_by_field_name("value")
        if value is not None and value.type == "initializer_list" and value.named_child_count == 1:
            value = value.named_children[0]
    else:
        return None
    name = node.child_by_field_name("name" if node.type == "preproc_def" else "declarator")
    if name is None or name.type != "identifier" or value is None:
        return None
    text = _text(value).decode()
    match = INTEGER.match(text)
    if match is None or (preproc_text(text.encode()) or b"").decode() != match[0]:
        return None
    digits, start = match["digits"].replace("'", ""), value.start_byte
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    if octal and set(digits) & {"8", "9"}:
        return None
    number = int(digits, 8 if octal else 0)
    end = start + len(match[0].encode())
    return Constant(_text(name).decode(), number, match["suffix"], start, end)


def _is_const_integer(declaration: Node | None) -> bool:
    if declaration is None or declaration.type != "declaration":
        return False
    qualifiers = {_text(n) for n in declaration.children if n.type == "type_qualifier"}
    kind = declaration.child_by_field_name("type")
    return bool(qualifiers & {b"const", b"constexpr"}) and (
        kind is not None and INTEGRAL.search(_text(kind)) is not None
    )


def _candidate(
    source: bytes, knob: Constant, times: int, over: int, prior: float
) -> Candidate | None:
    value, rest = divmod(knob.value * times, over)
    if rest or not 1 <= value <= LARGEST:
        return None
    literal = f"{value}{knob.suffix}".encode()
    return Candidate(
        method=MOVE.id,
        detail=f"{knob.name}: {knob.value} -> {value}",
        source=(source[: knob.start] + literal + source[knob.end :]).decode(),
        prior=prior,
    )


MOVE = Move(
    id="tune_constants",
    category="schedule",
    languages=("cpp", "cuda"),
    why="Doubles, halves, quadruples or quarters a constant of the source that reads like a "
    "tuning knob (#define TILE 32, constexpr int kUnroll = 4). Pays where such a constant was "
    "never tuned; declare it as a parameter of the spec to have all its values searched.",
    write=_write,
)
