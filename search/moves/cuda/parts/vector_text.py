"""The text of a per-element kernel whose threads do vectors of neighbouring elements."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from .....runners.c_source.nodes import text_of
from .....runners.specs.spec import KernelSpec
from ...shared.affine import Form
from ...shared.edits import indent_of, replace_node
from ...shared.sizes import divisor_of
from .element_text import block_and_grid, free_name, guard_lines, with_work, work_lines
from .lanes import Interior, Vector, rest_text
from .per_element import PerElement
from .row_alignment import aligned_when
from .strided_text import Strided

BUILT_IN = {
    "float": "float", "double": "double", "int": "int", "int32_t": "int", "unsigned": "uint",
    "unsigned int": "uint", "uint32_t": "uint", "short": "short", "int16_t": "short",
    "unsigned short": "ushort", "uint16_t": "ushort", "char": "char", "signed char": "char",
    "int8_t": "char", "unsigned char": "uchar", "uint8_t": "uchar",
}  # fmt: skip
"""C types with vectors of their own; others move as bits"""
STRIDED = 8
"""elements a thread at most where rows do not begin at whole vectors: with 16, each with an
address of its own, a stencil needs 128 registers (nvcc 13.0, sm_90a) and its vectors 96"""
BITS = {16: "uint4", 8: "uint2", 4: "unsigned", 2: "unsigned short"}


def vector_type(vector: Vector, lanes: int) -> str:
    """The C type in which so many elements move at once."""
    own = BUILT_IN.get(vector.pointer.type)
    if own is not None and lanes in (2, 4):
        return f"{own}{lanes}"
    return BITS[lanes * vector.pointer.itemsize]


@dataclass(frozen=True)
class VectorKernel:
    """The kernel with `lanes` elements in a vector."""

    element: PerElement
    interior: Interior | None
    vectors: tuple[Vector, ...]
    lanes: int
    bound: Form
    spec: KernelSpec

    def source(self, unroll: int) -> str:
        """The whole source."""
        tab = indent_of(self.element.kernel.text, self.element.work.start_byte)
        return with_work(self.element, self._work(unroll, tab))

    def _work(self, unroll: int, tab: str) -> list[str]:
        unrolled, count = self._fresh("kUnroll"), self._fresh("count")
        lines = [
            *guard_lines(self.element, tab),
            f"{tab}constexpr unsigned {unrolled} = {unroll};  "
            f"// vectors of {self.lanes} elements a thread",
            f"{tab}const {self.element.wide} {count} = {text_of(self.element.bound)};",
        ]
        if not self._tests:
            return [*lines, *self._by_vectors(unrolled, count, tab)]
        strided = Strided(self.element, self.interior, self.vectors)
        return [
            *lines,
            f"{tab}if ({' && '.join(self._tests)}) {{",
            *self._by_vectors(unrolled, count, tab + "    "),
            f"{tab}}} else {{",
            *strided.lines(min(unroll * self.lanes, STRIDED), count, tab + "    "),
            f"{tab}}}",
        ]

    def _by_vectors(self, unrolled: str, count: str, tab: str) -> list[str]:
        n, wide = self.lanes, self.element.wide
        start, k, first = (self._fresh(name) for name in ("start", "k", "first"))
        inner, loads = tab + "    ", self._loads(k, first, tab + " " * 12)
        step = f"const {wide} {first} = {start} + {k} * blockDim.x * {n};"
        head = f"#pragma unroll\n{inner}for (unsigned {k} = 0; {k} < {unrolled}; ++{k}) {{"
        block, grid = block_and_grid(wide)
        return [
            f"{tab}for ({wide} {start} = ({block} * blockDim.x * {unrolled} + threadIdx.x) * {n};",
            f"{tab}     {start} < {count};",
            f"{tab}     {start} += {grid} * blockDim.x * {unrolled} * {n}) {{",
            *(f"{inner}{line}" for line in self._declared(unrolled)),
            *self._loading(head, step, (k, first, count), loads, inner),
            head,
            f"{inner}    {step}",
            *self._computed(k, first, count, inner + "    "),
            f"{inner}}}",
            f"{tab}}}",
        ]

    def _loading(
        self, head: str, step: str, names: tuple[str, str, str], loads: list[str], tab: str
    ) -> list[str]:
        """The loop that finds out which vectors are whole, and loads those."""
        k, first, count = names
        if not loads and self.interior is None:
            return []
        lines = [head, f"{tab}    {step}"]
        if self.interior is not None:
            inside, lane = f"{self._inside}[{k}]", self._fresh("lane")
            lines += [
                f"{tab}    {inside} = {self._is_vector(first, count)};",
                f"#pragma unroll\n{tab}    {self._each_lane(lane)} {{",
                f"{tab}        const {self.element.type} {self.element.index} = {first} + {lane};",
                f"{tab}        if ({self.interior.edge}) {inside} = false;",
                f"{tab}    }}",
            ]
        if loads:
            lines += [f"{tab}    if ({self._whole(*names)}) {{", *loads, f"{tab}    }}"]
        return [*lines, f"{tab}}}"]

    def _whole(self, k: str, first: str, count: str) -> str:
        return self._is_vector(first, count) if self.interior is None else f"{self._inside}[{k}]"

    def _each_lane(self, lane: str) -> str:
        return f"for (int {lane} = 0; {lane} < {self.lanes}; ++{lane})"

    def _declared(self, unrolled: str) -> list[str]:
        lines: list[str] = [] if self.interior is None else [f"bool {self._inside}[{unrolled}];"]
        for v in self.vectors:
            kind, nbytes = v.pointer.type, self.lanes * v.pointer.itemsize
            lines.append(f"alignas({nbytes}) {kind} {self._name(v)}[{unrolled}][{self.lanes}];")
            if v.window is not None:
                lines.append(f"{kind} {self._window(v)}[{unrolled}][{self.lanes + sum(v.window)}];")
        return lines

    @property
    def _inside(self) -> str:
        return self._fresh("inside")

    def _window(self, vector: Vector) -> str:
        return self._name(vector).replace("_lanes", "_window")

    def _is_vector(self, first: str, count: str) -> str:
        """When a vector lies within the elements; its addresses are aligned here."""
        return f"{first} < {count}" if self._no_tail else f"{first} + {self.lanes} <= {count}"

    @cached_property
    def _tests(self) -> tuple[str, ...]:
        """When all arrays have vectors at aligned addresses; empty: always."""
        rests = (v.rest for v in self.vectors)
        return aligned_when(rests, self.lanes, self.element, self.spec)

    @cached_property
    def _no_tail(self) -> bool:
        """Whether the elements are whole vectors where the tests hold."""
        left = aligned_when([self.bound], self.lanes, self.element, self.spec)
        return set(left) <= set(self._tests)

    @property
    def _always_whole(self) -> bool:
        return self.interior is None and self._no_tail

    def _loads(self, k: str, first: str, tab: str) -> list[str]:
        lines: list[str] = []
        for v in self.vectors:
            if v.loaded and v.modulo is None:
                lines.append(f"{tab}{self._moved(v, k, first, load=True)}")
                lines += [f"{tab}{line}" for line in self._widened(v, k, first)]
            elif v.modulo is not None:
                lines += self._wrapped(v, k, first, tab)
        return lines

    def _moved(self, vector: Vector, k: str, first: str, *, load: bool) -> str:
        kind, rest = vector_type(vector, self.lanes), rest_text(vector.rest)
        at = f"{vector.pointer.name} + {first}" if not rest else (
            f"{vector.pointer.name} + ({rest} + {first})"
        )  # fmt: skip
        mine = f"{self._name(vector)}[{k}]"
        if load:
            return f"*reinterpret_cast<{kind}*>({mine}) = *reinterpret_cast<const {kind}*>({at});"
        return f"*reinterpret_cast<{kind}*>({at}) = *reinterpret_cast<const {kind}*>({mine});"

    def _widened(self, vector: Vector, k: str, first: str) -> list[str]:
        """The vector and its neighbours in one window."""
        if vector.window is None:
            return []
        (before, behind), lane = vector.window, self._fresh("lane")
        mine, rest = f"{self._window(vector)}[{k}]", rest_text(vector.rest)
        at = f"{rest} + {first}" if rest else first
        name, n = vector.pointer.name, self.lanes
        lines = [f"{mine}[{e}] = {name}[{at} - {before - e}];" for e in range(before)]
        moved = f"{mine}[{lane} + {before}] = {self._name(vector)}[{k}][{lane}];"
        lines += [f"{self._each_lane(lane)} {moved}"]
        return lines + [
            f"{mine}[{before + n + e}] = {name}[{at} + {n + e}];" for e in range(behind)
        ]

    def _access(self, vector: Vector, shift: int, k: str, lane: str) -> str:
        if vector.window is None:
            return f"{self._name(vector)}[{k}][{lane}]"
        at = vector.window[0] + shift
        return f"{self._window(vector)}[{k}][{lane + f' + {at}' if at else lane}]"

    def _wrapped(self, vector: Vector, k: str, first: str, tab: str) -> list[str]:
        """The elements of a row that begins anew: one vector where rows are whole vectors."""
        kind, name, length = vector_type(vector, self.lanes), vector.pointer.name, vector.modulo
        mine, lane = f"{self._name(vector)}[{k}]", self._fresh("lane")
        load = (
            f"*reinterpret_cast<{kind}*>({mine}) = "
            f"*reinterpret_cast<const {kind}*>({name} + {first} % {length});"
        )
        value = self.element.kernel.scalars[str(length)]
        if divisor_of(value, self.spec) % self.lanes == 0:
            return [f"{tab}{load}"]
        return [
            f"{tab}if ({length} % {self.lanes} == 0) {{",
            f"{tab}    {load}",
            f"{tab}}} else {{",
            f"#pragma unroll\n{tab}    {self._each_lane(lane)}",
            f"{tab}        {mine}[{lane}] = {name}[({first} + {lane}) % {length}];",
            f"{tab}}}",
        ]

    def _computed(self, k: str, first: str, count: str, tab: str) -> list[str]:
        element, lane, i = self.element, self._fresh("lane"), self.element.index
        inner = element if self.interior is None else self.interior.element
        changes = [
            replace_node(node, self._access(v, shift, k, lane))
            for v in self.vectors
            for node, shift in v.accesses
        ]
        body = "\n".join(work_lines(inner, tab + "        ", changes))
        used = re.search(rf"\b{i}\b", body) is not None
        stores = [
            f"{tab}    {self._moved(v, k, first, load=False)}" for v in self.vectors if v.stored
        ]
        whole = [
            f"{tab}if ({self._whole(k, first, count)}) {{",
            f"#pragma unroll\n{tab}    {self._each_lane(lane)} {{",
            *([f"{tab}        const {element.type} {i} = {first} + {lane};"] if used else []),
            body,
            f"{tab}    }}",
            *stores,
        ]
        if self._always_whole:
            return [*whole, f"{tab}}}"]
        left = self._fresh("left")
        return [
            *whole,
            f"{tab}}} else {{",
            f"{tab}    for ({element.wide} {left} = {first}; {left} < {count} && "
            f"{left} < {first} + {self.lanes}; ++{left}) {{",
            f"{tab}        const {element.type} {i} = {left};",
            *work_lines(element, tab + "        "),
            f"{tab}    }}",
            f"{tab}}}",
        ]

    def _name(self, vector: Vector) -> str:
        same = [v for v in self.vectors if v.pointer.name == vector.pointer.name]
        number = same.index(vector)
        return self._fresh(f"{vector.pointer.name}_lanes{number + 1 if number else ''}")

    def _fresh(self, name: str) -> str:
        return free_name(self.element, name)
