"""Padding of two-dimensional tiles in shared memory: `[32][32]` becomes `[32][33]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....runners.c_source.expressions import operator_of
from ....runners.c_source.nodes import text_of, walk
from ....runners.c_source.types import element_type
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import edited, insert_after
from .parts.expressions import Locals, built_ins
from .parts.reading import read_kernels

if TYPE_CHECKING:
    from tree_sitter import Node


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    found: dict[str, Candidate] = {}
    for kernel in {k.function.name: k for k in kernels}.values():
        for tile in _tiles(kernel.body):
            if _conflicts(tile.name, kernel.body):
                found[tile.name] = Candidate(
                    method=MOVE.method,
                    detail=f"rows of {tile.name} are {tile.pad} longer",
                    source=edited(kernel.text, [insert_after(tile.row, f" + {tile.pad}")]),
                    prior=0.3,
                )
    if not found:
        return NotApplicable(
            "no `__shared__ T tile[rows][cols]` without padding is read or written down its columns"
        )
    return tuple(found.values())


@dataclass(frozen=True)
class _Tile:
    """A two-dimensional array in shared memory."""

    name: str
    row: Node
    """the length of its rows"""
    pad: int
    """elements that move each row to other banks; 16 bytes where rows may be seen as vectors"""


def _tiles(body: Node) -> list[_Tile]:
    found: list[_Tile] = []
    for node in walk(body):
        qualifiers = [text_of(c) for c in node.children if c.type == "type_qualifier"]
        if node.type != "declaration" or "__shared__" not in qualifiers:
            continue
        element = element_type(text_of(node.child_by_field_name("type")))
        for outer in node.children_by_field_name("declarator"):
            inner = outer.child_by_field_name("declarator")
            row = outer.child_by_field_name("size")
            if outer.type != "array_declarator" or inner is None or row is None:
                continue
            name = inner.child_by_field_name("declarator")
            if inner.type != "array_declarator" or name is None or element is None:
                continue
            if name.type == "identifier" and row.type in ("identifier", "number_literal"):
                nbytes = 16 if _is_cast(text_of(name), body) else 4
                found.append(_Tile(text_of(name), row, max(1, nbytes // element.nbytes)))
    return found


def _is_cast(name: str, body: Node) -> bool:
    """Whether the tile is used otherwise than as `tile[i][j]`."""
    uses = [n for n in walk(body) if n.type == "identifier" and text_of(n) == name]
    twice = [n for n in uses if _indices(n) is not None]
    return len(twice) < len(uses) - 1  # its declaration is one


def _indices(name: Node) -> tuple[Node, Node] | None:
    """The row and column of `tile[row][column]`."""
    inner = name.parent
    outer = inner.parent if inner is not None else None
    if inner is None or outer is None or inner.type != "subscript_expression":
        return None
    if outer.type != "subscript_expression" or outer.child_by_field_name("argument") != inner:
        return None
    above = outer.parent
    if above is not None and above.type == "pointer_expression" and operator_of(above) == "&":
        return None
    pair = [n.child_by_field_name("indices") for n in (inner, outer)]
    if pair[0] is None or pair[1] is None:
        return None
    return pair[0].named_children[0], pair[1].named_children[0]


def _conflicts(name: str, body: Node) -> bool:
    """Whether neighbouring threads are at one column of neighbouring rows somewhere."""
    values = Locals(body).starts
    for node in walk(body):
        if node.type == "identifier" and text_of(node) == name:
            pair = _indices(node)
            if pair is None:
                continue
            row, column = (built_ins(n, values) for n in pair)
            if "threadIdx.x" in row and "threadIdx.x" not in column:
                return True
    return False


MOVE = Move(
    id="pad_shared_tiles",
    method="swizzle_shared_memory",
    languages=("cuda",),
    why="Makes the rows of a tile in shared memory one element longer, so that a column lies in "
    "different banks. Pays where a warp goes down a column: up to 32 times fewer wavefronts.",
    write=_write,
)
