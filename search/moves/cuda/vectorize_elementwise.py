"""One element a thread becomes several vectors of neighbouring elements a thread."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....runners.inferring.cpp_signature import text_of, walk
from ....runners.model import Candidate
from ....runners.specs.spec import KernelSpec
from ..affine import Form
from ..base import Move, NotApplicable, Proposals, State
from .edits import Edit, edited, indent_of, reindented, whole_lines, with_comments
from .lanes import Vector, rest_text, vectors_of
from .per_element import PerElement, per_element
from .reading import CudaKernel, names_in_code, read_kernels
from .sizes import count_of, divisor_of, is_multiple

if TYPE_CHECKING:
    from tree_sitter import Node

WIDEST = 16
"""bytes that one instruction moves"""
FAMILY = ((16, 1, 0.3), (16, 2, 0.3), (16, 4, 0.15), (8, 2, 0.1), (8, 4, 0.1))
"""bytes of the widest vector, vectors a thread, prior"""
LOOPS = ("for_statement", "while_statement", "do_statement")
BUILT_IN = {
    "float": "float", "double": "double", "int": "int", "int32_t": "int", "unsigned": "uint",
    "unsigned int": "uint", "uint32_t": "uint", "short": "short", "int16_t": "short",
    "unsigned short": "ushort", "uint16_t": "ushort", "char": "char", "signed char": "char",
    "int8_t": "char", "unsigned char": "uchar", "uint8_t": "uchar",
}  # fmt: skip
"""C types with vectors of their own; others move as bits"""
BITS = {16: "uint4", 8: "uint2", 4: "unsigned", 2: "unsigned short"}


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    found: list[Candidate] = []
    reasons = dict[str, None]()
    for kernel in kernels:
        made = _of_kernel(kernel, state.spec, one=len(kernels) == 1)
        if isinstance(made, NotApplicable):
            reasons[made.reason] = None
        else:
            found += made
    return tuple(found) if found else NotApplicable("; ".join(reasons))


def _of_kernel(
    kernel: CudaKernel, spec: KernelSpec, *, one: bool
) -> list[Candidate] | NotApplicable:
    element = per_element(kernel)
    if isinstance(element, NotApplicable):
        return element
    if any(n.type in LOOPS for s in element.body for n in walk(s)):
        return NotApplicable("the work on one element is a loop")
    bound = count_of(element)
    if bound is None:
        return NotApplicable(
            f"the bound `{text_of(element.bound)}` is no product of sizes of the contract"
        )
    vectors = vectors_of(element)
    if not vectors:
        return NotApplicable(
            f"no array is read or written at `{element.index}` (or a row's start + "
            f"`{element.index}`) for every element"
        )
    where = "" if one else f"{kernel.function.name}: "
    found = list[Candidate]()
    for nbytes, unroll, prior in FAMILY:
        lanes = nbytes // max(v.pointer.itemsize for v in vectors)
        fitting = tuple(v for v in vectors if _fits(v, lanes))
        if lanes < 2 or not fitting:
            continue
        vectorised = _Writer(element, fitting, lanes, bound, spec)
        names = ", ".join(dict.fromkeys(v.pointer.name for v in fitting))
        found.append(
            Candidate(
                method=MOVE.method,
                detail=f"{where}{names}: {unroll} x {lanes} elements a thread",
                source=vectorised.source(unroll),
                plan=_plan(kernel, lanes * unroll),
                prior=prior,
            )
        )
    if not found:
        return NotApplicable("the contract promises no alignment of 8 bytes or more")
    return found


def _fits(vector: Vector, lanes: int) -> bool:
    nbytes = lanes * vector.pointer.itemsize
    return nbytes in BITS and vector.pointer.align % nbytes == 0


def _plan(kernel: CudaKernel, elements: int) -> dict[str, object]:
    """Fewer blocks along x, each of which does so many times the elements."""
    x, y, z = kernel.launch.grid
    if isinstance(x, int):
        return kernel.plan_with(grid=(-(-x // elements), y, z))
    simple = re.fullmatch(r"cdiv\(([\w\s*]+), (\d+)\)", x)
    if simple is not None:
        fewer = f"cdiv({simple[1]}, {int(simple[2]) * elements})"
    else:
        fewer = f"cdiv({x}, {elements})"
    return kernel.plan_with(grid=(fewer, y, z))


@dataclass(frozen=True)
class _Writer:
    """The kernel with `lanes` elements in a vector."""

    element: PerElement
    vectors: tuple[Vector, ...]
    lanes: int
    bound: Form
    spec: KernelSpec

    def source(self, unroll: int) -> str:
        """The whole source."""
        element, text = self.element, self.element.kernel.text
        end = element.kernel.body.named_children[-1].end_byte
        start = element.work.start_byte
        lines = "\n".join(self._work(unroll, indent_of(text, start))).lstrip()
        edits = [Edit(start, end, lines)]
        for node in element.gone:
            edits.append(Edit(*whole_lines(text, node.start_byte, node.end_byte), ""))
        return edited(text, edits)

    def _work(self, unroll: int, tab: str) -> list[str]:
        n, wide = self.lanes, self.element.wide
        block = "blockIdx.x" if wide == "unsigned" else f"static_cast<{wide}>(blockIdx.x)"
        unrolled, count, start, k, first = (
            self._fresh(name) for name in ("kUnroll", "count", "start", "k", "first")
        )
        inner, loads = tab + "    ", self._loads(k, first, tab + " " * 12)
        step = f"const {wide} {first} = {start} + {k} * blockDim.x * {n};"
        head = f"#pragma unroll\n{inner}for (unsigned {k} = 0; {k} < {unrolled}; ++{k}) {{"
        return [
            *self._guards(tab),
            f"{tab}constexpr unsigned {unrolled} = {unroll};  // vectors of {n} elements a thread",
            f"{tab}const {wide} {count} = {text_of(self.element.bound)};",
            f"{tab}for ({wide} {start} = ({block} * blockDim.x * {unrolled} + threadIdx.x) * {n};",
            f"{tab}     {start} < {count};",
            f"{tab}     {start} += {block.replace('blockIdx', 'gridDim')} * blockDim.x * "
            f"{unrolled} * {n}) {{",
            *(f"{inner}{line}" for line in self._declared(unrolled)),
            *([head, *self._loading(step, first, count, loads, inner)] if loads else []),
            head,
            f"{inner}    {step}",
            *self._computed(k, first, count, inner + "    "),
            f"{inner}}}",
            f"{tab}}}",
        ]

    def _loading(self, step: str, first: str, count: str, loads: list[str], tab: str) -> list[str]:
        test = f"{tab}    if ({self._whole(first, count)}) {{"
        return [f"{tab}    {step}", test, *loads, f"{tab}    }}", f"{tab}}}"]

    def _guards(self, tab: str) -> list[str]:
        guards = [text_of(g) for g in self.element.guards]
        if not guards:
            return []
        test = " || ".join(guards) if self.element.returns else f"!({' && '.join(guards)})"
        return [f"{tab}if ({test}) return;"]

    def _declared(self, unrolled: str) -> list[str]:
        return [
            f"alignas({self.lanes * v.pointer.itemsize}) {v.pointer.type} "
            f"{self._name(v)}[{unrolled}][{self.lanes}];"
            for v in self.vectors
        ]

    def _whole(self, first: str, count: str) -> str:
        """When a vector lies within the elements and all arrays have it at aligned addresses."""
        tests = [f"{first} < {count}" if self._no_tail else f"{first} + {self.lanes} <= {count}"]
        rests = {rest_text(v.rest): v.rest for v in self.vectors}
        tests += [
            f"({text}) % {self.lanes} == 0"
            for text, rest in rests.items()
            if not is_multiple(rest, self.lanes, self.element.kernel, self.spec)
        ]
        return " && ".join(tests)

    @property
    def _no_tail(self) -> bool:
        return is_multiple(self.bound, self.lanes, self.element.kernel, self.spec)

    @property
    def _always_whole(self) -> bool:
        return self._no_tail and all(
            is_multiple(v.rest, self.lanes, self.element.kernel, self.spec) for v in self.vectors
        )

    def _loads(self, k: str, first: str, tab: str) -> list[str]:
        lines: list[str] = []
        for v in self.vectors:
            if v.loaded and v.modulo is None:
                lines.append(f"{tab}{self._moved(v, k, first, load=True)}")
            elif v.modulo is not None:
                lines += self._wrapped(v, k, first, tab)
        return lines

    def _moved(self, vector: Vector, k: str, first: str, *, load: bool) -> str:
        kind, rest = self._kind(vector), rest_text(vector.rest)
        at = f"{vector.pointer.name} + {first}" if not rest else (
            f"{vector.pointer.name} + ({rest} + {first})"
        )  # fmt: skip
        mine = f"{self._name(vector)}[{k}]"
        if load:
            return f"*reinterpret_cast<{kind}*>({mine}) = *reinterpret_cast<const {kind}*>({at});"
        return f"*reinterpret_cast<{kind}*>({at}) = *reinterpret_cast<const {kind}*>({mine});"

    def _wrapped(self, vector: Vector, k: str, first: str, tab: str) -> list[str]:
        """The elements of a row that begins anew: one vector where rows are whole vectors."""
        kind, name, length = self._kind(vector), vector.pointer.name, vector.modulo
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
            f"#pragma unroll\n{tab}    for (int {lane} = 0; {lane} < {self.lanes}; ++{lane})",
            f"{tab}        {mine}[{lane}] = {name}[({first} + {lane}) % {length}];",
            f"{tab}}}",
        ]

    def _computed(self, k: str, first: str, count: str, tab: str) -> list[str]:
        element, lane, i = self.element, self._fresh("lane"), self.element.index
        body = self._body(
            tab + "        ", {v: f"{self._name(v)}[{k}][{lane}]" for v in self.vectors}
        )
        used = re.search(rf"\b{i}\b", body) is not None
        stores = [
            f"{tab}    {self._moved(v, k, first, load=False)}" for v in self.vectors if v.stored
        ]
        whole = [
            f"{tab}if ({self._whole(first, count)}) {{",
            f"#pragma unroll\n{tab}    for (int {lane} = 0; {lane} < {self.lanes}; ++{lane}) {{",
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
            self._body(tab + "        ", {}),
            f"{tab}    }}",
            f"{tab}}}",
        ]

    def _body(self, tab: str, names: dict[Vector, str]) -> str:
        """The work on one element, its accesses to vectors by name."""
        text, changes = self.element.kernel.text, list[Edit]()
        for vector, name in names.items():
            for node in vector.accesses:
                changes.append(Edit(node.start_byte, node.end_byte, name))
        pieces: list[str] = []
        for start, end in with_comments(text, self.element.body):
            inside = [e for e in changes if start <= e.start and e.end <= end]
            piece = edited(text, inside, start, end)
            pieces.append(reindented(piece, indent_of(text, start), tab))
        return "\n".join(pieces)

    def _kind(self, vector: Vector) -> str:
        own = BUILT_IN.get(vector.pointer.type)
        if own is not None and self.lanes in (2, 4):
            return f"{own}{self.lanes}"
        return BITS[self.lanes * vector.pointer.itemsize]

    def _name(self, vector: Vector) -> str:
        same = [v for v in self.vectors if v.pointer.name == vector.pointer.name]
        number = same.index(vector)
        return self._fresh(f"{vector.pointer.name}_lanes{number + 1 if number else ''}")

    def _fresh(self, name: str) -> str:
        """The name, with underscores where the source has it already."""
        while name in names_in_code(_root(self.element.kernel.body)):
            name += "_"
        return name


def _root(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


MOVE = Move(
    id="vectorize_elementwise",
    method="vectorize_global_loads",
    languages=("cuda",),
    why="Where a thread does one element, it does vectors of 16 or 8 bytes, one or several with "
    "all loads first, in a loop over the grid; what is no whole vector goes element by element. "
    "Pays where memory is not saturated: fewer instructions, more bytes on their way.",
    write=_write,
)
