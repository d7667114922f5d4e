"""The text of a kernel whose threads do tiles of one vector of neighbouring elements of each of
several rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from .....runners.c_source.nodes import text_of
from ...shared.affine import Form
from ...shared.edits import indent_of, replace_node
from .element_text import block_and_grid, free_name, guard_lines, with_work, work_lines
from .lanes import Interior, rest_text
from .row_tiles import GridElement, Sheet
from .strided_text import Strided
from .vector_text import vector_type

STRIDED = 2
"""elements a thread at once where rows do not begin at whole vectors: with 4, a 5-point stencil in
tiles of 2 rows needs 56 registers, with 2 it needs 40, its tiles alone 32 (nvcc 13.0, sm_90a)"""


@dataclass(frozen=True)
class RowTiles:
    """The kernel with `rows` vectors of `lanes` elements a thread, under each other.

    A tile in which every element is inside loads each line once, all lines before the first store.
    Others go element by element.
    """

    element: GridElement
    interior: Interior | None
    sheets: tuple[Sheet, ...]
    lanes: int
    rows: int
    tests: tuple[str, ...]
    """when all lines begin at whole vectors; empty: always"""

    def source(self) -> str:
        """The whole source."""
        inner, row = self.element.inner, self.element.row
        tab = indent_of(inner.kernel.text, inner.work.start_byte)
        n = self._names
        lines = [
            *guard_lines(inner, tab),
            f"{tab}constexpr unsigned {n['kRows']} = {self.rows};  "
            f"// rows a thread, {self.lanes} elements of each",
            f"{tab}const {inner.wide} {n['count']} = {text_of(inner.bound)};",
            f"{tab}const {row.wide} {n['height']} = {text_of(row.bound)};",
            f"{tab}for ({row.wide} {n['top']} = (blockIdx.y * blockDim.y + threadIdx.y) * "
            f"{n['kRows']}; {n['top']} < {n['height']};",
            f"{tab}     {n['top']} += gridDim.y * blockDim.y * {n['kRows']}) {{",
            *self._band(tab + "    "),
            f"{tab}}}",
        ]
        return with_work(inner, lines)

    @cached_property
    def _names(self) -> dict[str, str]:
        """Names of the new text that the source does not have."""
        names = ("kRows", "count", "height", "top", "first", "inside", "r", "lane", "line", "at",
                 "left")  # fmt: skip
        return {name: free_name(self.element.inner, name) for name in names}

    def _band(self, tab: str) -> list[str]:
        """All columns of the rows from `top` on."""
        if not self.tests:
            return self._tiles(tab)
        vectors = tuple(v for s in self.sheets for v, _ in s.vectors)
        strided = Strided(self.element.inner, self.interior, vectors)
        return [
            f"{tab}if ({' && '.join(self.tests)}) {{",
            *self._tiles(tab + "    "),
            f"{tab}}} else {{",
            *self._each_row_left(tab + "    "),
            *strided.lines(STRIDED, self._names["count"], tab + "        "),
            f"{tab}    }}",
            f"{tab}}}",
        ]

    def _tiles(self, tab: str) -> list[str]:
        n, wide = self._names, self.element.inner.wide
        block, grid = block_and_grid(wide)
        return [
            f"{tab}for ({wide} {n['first']} = ({block} * blockDim.x + threadIdx.x) * {self.lanes};",
            f"{tab}     {n['first']} < {n['count']};",
            f"{tab}     {n['first']} += {grid} * blockDim.x * {self.lanes}) {{",
            *self._is_inside(tab + "    "),
            f"{tab}    if ({n['inside']}) {{",
            *(line for sheet in self.sheets for line in self._filled(sheet, tab + "        ")),
            *self._computed(tab + "        "),
            *(line for sheet in self.sheets for line in self._stored(sheet, tab + "        ")),
            f"{tab}    }} else {{",
            *self._left(tab + "        "),
            f"{tab}    }}",
            f"{tab}}}",
        ]

    def _is_inside(self, tab: str) -> list[str]:
        n = self._names
        whole = (
            f"{n['top']} + {n['kRows']} <= {n['height']} && "
            f"{n['first']} + {self.lanes} <= {n['count']}"
        )
        lines = [f"{tab}bool {n['inside']} = {whole};"]
        if self.interior is None:
            return lines
        test = [f"{tab}        if ({self.interior.edge}) {n['inside']} = false;"]
        return [*lines, *self._each_element(tab, test)]

    def _each_element(self, tab: str, work: Iterable[str]) -> list[str]:
        n, inner = self._names, self.element.inner
        row, work = self._row(f"{n['top']} + {n['r']}"), list(work)
        column = f"const {inner.type} {inner.index} = {n['first']} + {n['lane']};"
        return [
            f"#pragma unroll\n{tab}for (unsigned {n['r']} = 0; {n['r']} < {n['kRows']}; "
            f"++{n['r']}) {{",
            *([f"{tab}    {row}"] if self._uses(self.element.row.index, work) else []),
            f"#pragma unroll\n{tab}    for (int {n['lane']} = 0; {n['lane']} < {self.lanes}; "
            f"++{n['lane']}) {{",
            *([f"{tab}        {column}"] if self._uses(inner.index, work) else []),
            *work,
            f"{tab}    }}",
            f"{tab}}}",
        ]

    def _row(self, value: str) -> str:
        return f"const {self.element.row.type} {self.element.row.index} = {value};"

    def _uses(self, name: str, lines: Iterable[str]) -> bool:
        return any(re.search(rf"\b{name}\b", line) for line in lines)

    def _filled(self, sheet: Sheet, tab: str) -> list[str]:
        """The lines of a sheet in registers: the vectors, then what is beside them."""
        pointer, (before, size) = sheet.first.pointer, self._room(sheet)
        name, line, wide = self._name(sheet), self._names["line"], self._wide(sheet)
        lines = [
            f"{tab}alignas({self.lanes * pointer.itemsize}) {pointer.type} "
            f"{name}[{self._until(sheet.count(self.rows))}][{size}];"
        ]
        if not sheet.first.loaded:
            return lines
        here = f"*reinterpret_cast<{wide}*>(&{name}[{line}][{before}])"
        there = f"*reinterpret_cast<const {wide}*>({pointer.name} + ({self._at(sheet)}))"
        work = {sheet.lines(self.rows, self.lanes): [f"{here} = {there};"]}
        for place in sheet.places(self.lanes):
            at = f"{self._at(sheet)} {'-' if place < 0 else '+'} {abs(place)}"
            beside = f"{name}[{line}][{before + place}] = {pointer.name}[{at}];"
            work.setdefault(sheet.lines(self.rows, self.lanes, place), []).append(beside)
        for runs, moved in work.items():
            lines += [each for run in runs for each in self._each_line(run, tab, moved)]
        return lines

    def _stored(self, sheet: Sheet, tab: str) -> list[str]:
        if not sheet.first.stored:
            return []
        line, wide, before = self._names["line"], self._wide(sheet), self._room(sheet)[0]
        here = f"*reinterpret_cast<const {wide}*>(&{self._name(sheet)}[{line}][{before}])"
        there = f"*reinterpret_cast<{wide}*>({sheet.first.pointer.name} + ({self._at(sheet)}))"
        return self._each_line(range(self.rows), tab, [f"{there} = {here};"])

    def _each_line(self, run: range, tab: str, work: list[str]) -> list[str]:
        line, start = self._names["line"], self._until(run.start)
        row = self._row(f"{self._names['top']} + {line}")
        return [
            f"#pragma unroll\n{tab}for (unsigned {line} = {start}; "
            f"{line} < {self._until(run.stop)}; ++{line}) {{",
            *([f"{tab}    {row}"] if self._uses(self.element.row.index, work) else []),
            *(f"{tab}    {each}" for each in work),
            f"{tab}}}",
        ]

    def _until(self, line: int) -> str:
        """A number of lines, told by the rows of a tile where it has as many."""
        if line < self.rows:
            return str(line)
        more, rows = line - self.rows, self._names["kRows"]
        return f"{rows} + {more}" if more else rows

    def _at(self, sheet: Sheet) -> str:
        rest = rest_text(sheet.first.rest)
        return f"{rest} + {self._names['first']}" if rest else self._names["first"]

    def _room(self, sheet: Sheet) -> tuple[int, int]:
        """Elements in a line's registers before the vector, and in all: whole vectors, so that
        the vector of each line is aligned."""
        places = sheet.places(self.lanes)
        before = -(-max(0, *(-p for p in places), 0) // self.lanes) * self.lanes
        behind = max(0, *(p + 1 - self.lanes for p in places), 0)
        return before, before + self.lanes + -(-behind // self.lanes) * self.lanes

    def _wide(self, sheet: Sheet) -> str:
        return vector_type(sheet.first, self.lanes)

    def _name(self, sheet: Sheet) -> str:
        pointer = sheet.first.pointer
        same = [s for s in self.sheets if s.first.pointer == pointer]
        number = same.index(sheet) + 1
        name = f"{pointer.name}_lines{number if number > 1 else ''}"
        return free_name(self.element.inner, name)

    def _computed(self, tab: str) -> list[str]:
        """The work on each element of the tile, in registers."""
        inner = self.element.inner if self.interior is None else self.interior.element
        changes = [
            replace_node(node, self._access(sheet, line, shift))
            for sheet in self.sheets
            for vector, line in sheet.vectors
            for node, shift in vector.accesses
        ]
        return self._each_element(tab, work_lines(inner, tab + "        ", changes))

    def _access(self, sheet: Sheet, line: int, shift: int) -> str:
        at, lane = self._room(sheet)[0] + shift, self._names["lane"]
        own = self._names["r"] if sheet.pitch != Form() else ""
        rows = " + ".join(part for part in (own, str(line) if line or not own else "") if part)
        sign = "-" if at < 0 else "+"
        column = f"{lane} {sign} {abs(at)}" if at else lane
        return f"{self._name(sheet)}[{rows}][{column}]"

    def _left(self, tab: str) -> list[str]:
        """A tile that has elements outside or at an edge."""
        n, inner = self._names, self.element.inner
        return [
            *self._each_row_left(tab),
            f"{tab}    for ({inner.wide} {n['left']} = {n['first']}; {n['left']} < {n['count']} && "
            f"{n['left']} < {n['first']} + {self.lanes}; ++{n['left']}) {{",
            f"{tab}        const {inner.type} {inner.index} = {n['left']};",
            *work_lines(inner, tab + "        "),
            f"{tab}    }}",
            f"{tab}}}",
        ]

    def _each_row_left(self, tab: str) -> list[str]:
        """The head of a loop over the rows of a tile that are there."""
        n, row = self._names, self.element.row
        return [
            f"{tab}for ({row.wide} {n['at']} = {n['top']}; {n['at']} < {n['height']} && "
            f"{n['at']} < {n['top']} + {n['kRows']}; ++{n['at']}) {{",
            f"{tab}    {self._row(n['at'])}",
        ]
