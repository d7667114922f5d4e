"""The arrays along the columns of a row that a team of threads can keep in registers."""

from __future__ import annotations

from dataclasses import dataclass

from ......runners.dtypes import DTYPES
from .facts import Facts
from .row_loops import RowLoop
from .rows import Rows
from .syntax import Item, Span, is_zero

BYTES = 16
"""of one load or store"""


@dataclass(frozen=True)
class Held:
    """An array along the columns that is kept in registers."""

    name: str
    """of the registers"""
    element: str
    """C++ type"""
    nbytes: int
    """of an element"""
    item: Item
    """an access of it, for the text of its address"""
    variable: str
    """that runs along the columns there"""
    whole: str
    """C++: whether 16-byte accesses are aligned in every row"""
    loaded_in: int | None
    """number of the loop before which it is loaded"""
    stored_in: int | None
    """number of the loop after which it is stored"""
    spans: tuple[Span, ...]
    """its accesses"""


def held_arrays(facts: Facts, rows: Rows) -> tuple[Held, ...] | str:
    """Every array along the columns; why not, where there is one that cannot be held."""
    groups = dict[tuple[str, str], list[tuple[int, RowLoop, int]]]()
    for number, found in enumerate(rows.loops):
        for at, access in enumerate(found.accesses):
            key = access.array, access.base.text()
            groups.setdefault(key, []).append((number, found, at))
    made = list[Held]()
    for count, uses in enumerate(groups.values()):
        accesses = [found.accesses[at] for _, found, at in uses]
        first = accesses[0]
        parameter = next(p for p in facts.kernel.function.parameters if p.name == first.array)
        element = facts.arrays[first.array].dtype
        writes = [number for (number, _, _), a in zip(uses, accesses, strict=True) if a.writes]
        reads_first = any(
            a.reads for (n, _, _), a in zip(uses, accesses, strict=True) if n == uses[0][0]
        )
        if writes and reads_first and _writes_before_reads(uses[0][1], first.array):
            reads_first = False
        # a row is stored whole: columns before the first one of its loops must be what they were
        if writes and not is_zero(uses[0][1].loop.first):
            reads_first = True
        held = Held(
            name=f"{first.array}_row" if len([k for k in groups if k[0] == first.array]) == 1
            else f"{first.array}_row{count}",
            element=parameter.type,
            nbytes=DTYPES[element].itemsize,
            item=first.item,
            variable=uses[0][1].loop.variable,
            whole=_whole(facts, rows, first.array, first.base.terms, DTYPES[element].itemsize),
            loaded_in=uses[0][0] if reads_first else None,
            stored_in=max(writes) if writes else None,
            spans=tuple(a.item.span for a in accesses),
        )  # fmt: skip
        made.append(held)
    return tuple(made) if made else "no array runs along the columns"


def _writes_before_reads(found: RowLoop, array: str) -> bool:
    """Whether the first access of a column in the loop is a plain store to it."""
    mine = sorted((a for a in found.accesses if a.array == array), key=lambda a: a.item.span)
    statements = [s for s in found.loop.body]
    for statement in statements:
        inside = [a for a in mine if statement.span[0] <= a.item.span[0] < statement.span[1]]
        if inside:
            return all(a.writes and not a.reads for a in inside)
    return False


def _whole(
    facts: Facts, rows: Rows, array: str, base: tuple[tuple[tuple[str, ...], int], ...], nbytes: int
) -> str:
    """`true`, a test of the columns, or `false`: are all rows of the array aligned to 16 bytes?"""
    need = BYTES // nbytes
    columns = rows.columns
    if not facts.aligned(array, BYTES):
        return "false"
    names = columns.terms[0][0] if len(columns.terms) == 1 else ()
    multiples = all(
        c % need == 0 or (len(names) == 1 and columns.terms[0][1] == 1 and names[0] in m)
        for m, c in base
    )
    if not multiples:
        return "false"
    return (
        "true" if facts.multiple_of(columns) % need == 0 else f"{rows.columns_text} % {need} == 0"
    )
