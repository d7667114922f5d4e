"""The work on elements where they are no vectors: a thread's lie a block's width apart.

Elements side by side would be apart in a warp, four sectors a request where one would do. All loads
come before the first store, as they do where there are vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...shared.edits import replace_node
from .element_text import block_and_grid, free_name, work_lines
from .lanes import Interior, Vector, rest_text
from .per_element import PerElement


@dataclass(frozen=True)
class Strided:
    """The kernel with elements of a thread a block's width apart."""

    element: PerElement
    interior: Interior | None
    vectors: tuple[Vector, ...]
    """what would be vectors where rows are aligned: it is loaded first"""

    def lines(self, items: int, count: str, tab: str) -> list[str]:
        """The loop over the grid; `items` elements of a thread at a time, `count` elements in all.

        All blocks that share a row must come here, as they share it in another way than vectors.
        """
        wide, inner = self.element.wide, tab + "    "
        block, grid = block_and_grid(wide)
        many, start, k, first = (self._fresh(n) for n in ("kItems", "start", "k", "first"))
        head = [
            f"#pragma unroll\n{inner}for (unsigned {k} = 0; {k} < {many}; ++{k}) {{",
            f"{inner}    const {wide} {first} = {start} + {k} * blockDim.x;",
        ]
        loading = self._loading(k, first, count, inner + "    ")
        return [
            f"{tab}constexpr unsigned {many} = {items};  // a block apart: a warp's are neighbours",
            f"{tab}for ({wide} {start} = {block} * blockDim.x * {many} + threadIdx.x;",
            f"{tab}     {start} < {count};",
            f"{tab}     {start} += {grid} * blockDim.x * {many}) {{",
            *(f"{inner}{line}" for line in self._declared(many)),
            *([*head, *loading, f"{inner}}}"] if loading else []),
            *head,
            *self._computed(k, first, count, inner + "    "),
            f"{inner}}}",
            f"{tab}}}",
        ]

    @property
    def _loaded(self) -> list[tuple[Vector, int, str]]:
        """What is loaded first: vector, shift and the name of its values."""
        found = [(v, shift) for v in self.vectors if v.loaded for shift in v.shifts]
        names = dict[str, int]()
        listed = list[tuple[Vector, int, str]]()
        for vector, shift in found:
            name = vector.pointer.name
            names[name] = names.get(name, 0) + 1
            number = str(names[name]) if names[name] > 1 else ""
            listed.append((vector, shift, self._fresh(f"{name}_items{number}")))
        return listed

    def _declared(self, many: str) -> list[str]:
        inside = [] if self.interior is None else [f"bool {self._inside}[{many}];"]
        return inside + [f"{v.pointer.type} {name}[{many}];" for v, _, name in self._loaded]

    @property
    def _inside(self) -> str:
        return self._fresh("inside")

    def _whole(self, k: str, first: str, count: str) -> str:
        return f"{first} < {count}" if self.interior is None else f"{self._inside}[{k}]"

    def _index(self, first: str) -> str:
        return f"const {self.element.type} {self.element.index} = {first};"

    def _loading(self, k: str, first: str, count: str, tab: str) -> list[str]:
        lines: list[str] = []
        if self.interior is not None:
            edge = f"{first} < {count} && !({self.interior.edge})"
            lines += [f"{tab}{self._index(first)}", f"{tab}{self._inside}[{k}] = {edge};"]
        loads = [
            f"{tab}    {name}[{k}] = {v.pointer.name}[{_at(v, shift, first)}];"
            for v, shift, name in self._loaded
        ]
        if loads:
            lines += [f"{tab}if ({self._whole(k, first, count)}) {{", *loads, f"{tab}}}"]
        return lines

    def _computed(self, k: str, first: str, count: str, tab: str) -> list[str]:
        inner = self.element if self.interior is None else self.interior.element
        changes = [
            replace_node(node, f"{name}[{k}]")
            for v, shift, name in self._loaded
            for node, own in v.accesses
            if own == shift
        ]
        lines = [
            f"{tab}if ({self._whole(k, first, count)}) {{",
            f"{tab}    {self._index(first)}",
            *work_lines(inner, tab + "    ", changes),
            *(
                f"{tab}    {v.pointer.name}[{_at(v, 0, first)}] = {name}[{k}];"
                for v, _, name in self._loaded
                if v.stored
            ),
        ]
        if self.interior is None:
            return [*lines, f"{tab}}}"]
        return [
            *lines,
            f"{tab}}} else if ({first} < {count}) {{",
            f"{tab}    {self._index(first)}",
            *work_lines(self.element, tab + "    "),
            f"{tab}}}",
        ]

    def _fresh(self, name: str) -> str:
        return free_name(self.element, name)


def _at(vector: Vector, shift: int, first: str) -> str:
    """The place of the element, or of its neighbour, in the array."""
    if vector.modulo is not None:
        return f"{first} % {vector.modulo}"
    rest = rest_text(vector.rest)
    at = f"{rest} + {first}" if rest else first
    return f"{at} {'-' if shift < 0 else '+'} {abs(shift)}" if shift else at
