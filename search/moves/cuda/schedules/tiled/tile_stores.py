"""How a thread stores its part of a contraction: four neighbours at a time, where they are one
vector for the array and the sizes of a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ......analysis.lift.expressions import Expr, Name
from ......analysis.lift.rewriting import substitute
from ......analysis.lift.statements import Store
from ....shared.lifted.contraction import Contraction
from ..parts.body_text import BodyWriter
from ..parts.c_text import TYPES, Writer
from ..parts.helpers import Vectors
from ..parts.lanes import Lanes
from ..parts.names import Names
from ..parts.plain import Plain
from ..parts.writing import condition
from .tile_parts import Parts
from .tile_sides import FOUR


class Stores:
    """What a thread does with its folds."""

    def __init__(
        self, plain: Plain, found: Contraction, names: Names, parts: Parts | None, index: str
    ) -> None:
        self._plain, self._found, self._names = plain, found, names
        self._parts, self._index = parts, index
        (store,) = found.body
        assert isinstance(store, Store)
        self._array = store.array
        self._place = parts.place() if parts else store.index
        self._needs = self._fours()

    @property
    def by_fours(self) -> bool:
        """Whether four neighbours are ever one vector."""
        return self._needs is not None

    def _fours(self) -> tuple[Expr, ...] | None:
        lanes = Lanes(self._plain, FOUR, frozenset((self._found.columns.name,)))
        size = lanes.whole(self._found.columns.extent)
        if size is None:
            return None
        lanes.needs |= dict.fromkeys(size)
        if self._parts is None and lanes.vector(self._array, lanes.split(self._place)) is None:
            return None
        return tuple(lanes.needs)

    def lines(self, of: Mapping[str, str], vectors: Vectors, writer: Writer) -> Iterator[str]:
        """Lines for all of a thread's folds. `of`: names of the kernel's locals."""
        found, m, n, index = self._found, of["m"], of["n"], self._index
        row, column = found.rows, found.columns
        rows, columns = (writer.text(d.extent, inside=True) for d in (row, column))
        first, lane, four = (self._names.fresh(w) for w in ("first", "lane", "four"))
        kind = vectors.type(self._element(), str(FOUR)) if self.by_fours else ""
        yield "#pragma unroll"
        yield f"    for (int {m} = 0; {m} < PER_M; ++{m}) {{"
        yield "#pragma unroll"
        yield f"        for (int {n} = 0; {n} < PER_N; {n} += {FOUR}) {{"
        yield (
            f"            const {index} {row.name} = {of['row_begin']} + {of['row_of']}({m}), "
            f"{first} = {of['column_begin']} + {of['column_of']}({n});"
        )
        yield f"            if ({row.name} >= {rows} || {first} >= {columns}) continue;"
        if self.by_fours:
            yield f"            {kind} {four};"
        yield "#pragma unroll"
        yield f"            for (int {lane} = 0; {lane} < {FOUR}; ++{lane}) {{"
        yield f"                const {index} {column.name} = {first} + {lane};"
        if self._needs != ():
            yield f"                if ({column.name} >= {columns}) continue;"
        value = f"{of['sum']}[{m}][{n} + {lane}]"
        target = f"{four}.at[{lane}]" if self.by_fours else None
        yield from self._element_lines(writer, value, target)
        yield "            }"
        if self.by_fours:
            yield from self._moved(writer, vectors, first, lane, four, columns)
        yield "        }"
        yield "    }"

    def _element(self) -> str:
        return "float" if self._parts else TYPES[self._plain.dtypes[self._array]]

    def _element_lines(self, writer: Writer, value: str, target: str | None) -> Iterator[str]:
        """What is stored at a place; `target`: where it goes in place of memory."""
        tab = " " * 16
        if self._parts:
            yield f"{tab}{target or self._at(writer, None)} = {value};"
            return
        writer.known[self._found.reduction.fold] = value
        body = BodyWriter(writer, self._names, self._index, store=lambda _: target)
        yield from body.lines(self._found.body, tab)

    def _at(self, writer: Writer, column: str | None) -> str:
        """The element of memory at a place, or at another column."""
        own = {} if column is None else {self._found.columns.name: Name(column)}
        place = writer.text(substitute(self._place, own))
        return self._parts.target(place) if self._parts else f"{self._array}[{place}]"

    def _moved(
        self, writer: Writer, vectors: Vectors, first: str, lane: str, four: str, columns: str
    ) -> Iterator[str]:
        """Lines that store four elements: as one, or those that there are."""
        tab, element = " " * 12, self._element()
        there = f"&{self._at(writer, first)}"
        whole = vectors.store(element, str(FOUR), there, four)
        tests = condition(self._needs or (), FOUR, writer)
        if not tests:
            yield f"{tab}{whole}"
            return
        column = self._found.columns.name
        yield f"{tab}if ({' && '.join(tests)}) {{"
        yield f"{tab}    {whole}"
        yield f"{tab}    continue;"
        yield f"{tab}}}"
        yield "#pragma unroll"
        yield f"{tab}for (int {lane} = 0; {lane} < {FOUR}; ++{lane}) {{"
        yield f"{tab}    const {self._index} {column} = {first} + {lane};"
        yield f"{tab}    if ({column} < {columns}) {self._at(writer, None)} = {four}.at[{lane}];"
        yield f"{tab}}}"
