"""A stored value as the kernel that writes it: a nest of loops in C++, or a thread an element in
CUDA. Plain on purpose: it is what a search starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

from ....runners.languages import language_of
from .by_place import is_by_place, looked_at
from .cutting import Cut, Kernel, operands
from .placed import PLACED, element_of
from .pointwise import element, literal
from .sums import FOLDS, PLACES, PRODUCTS, REDUCTIONS, WINDOWS, axes_of, window_of
from .views import Indices, Shape, broadcast, is_view, row_major, source_indices

THREADS = "BLOCK"
C_TYPES = {"float32": "float", "int64": "long", "int32": "int", "bool": "bool"}
INCLUDES = {"cpp": "#include <cmath>\n\n", "cuda": ""}
UNDEFINED = (("INFINITY", "0x7f800000"), ("NAN", "0x7fffffff"))
"""names of C that NVRTC does not know without a header, with their bits"""


@dataclass(frozen=True)
class Written:
    """A kernel's source; it is called with the values that it reads, then with its own."""

    entry: str
    source: str
    reads: tuple[str, ...]


@dataclass(frozen=True)
class Sum:
    """A sum in `acc`: the lines before its loops, the loops, and the lines within."""

    starts: Sequence[str]
    steps: Sequence[str]
    loops: Sequence[tuple[str, int]]


def folded(start: str, fold: str, loops: Sequence[tuple[str, int]]) -> Sum:
    """One that begins with a number and goes on with an expression of `acc`."""
    return Sum([f"float acc = {start};"], [f"acc = {fold};"], loops)


@dataclass
class _Writer:
    cut: Cut
    kernel: Kernel
    reads: list[str] = field(default_factory=list[str])

    def value(self, name: str, indices: Indices) -> str:
        """An element of a value: computed, or read from memory."""
        node, shape = self.cut.nodes[name], self.cut.nodes[name].shape or ()
        if name == self.kernel.sum and name != self.kernel.name:
            return "acc"
        if name in self.cut.stored and name != self.kernel.name:
            if name not in self.reads:
                self.reads.append(name)
            return f"{name}[{row_major(shape, indices)}]"
        return self.computed(name, node.op, indices)

    def computed(self, name: str, op: str, indices: Indices) -> str:
        """An element as its operator computes it."""
        node = self.cut.nodes[name]
        if is_view(node):
            (source,) = operands(node)
            return self.through(source, node.shape or (), indices, name)
        if op in PLACED:
            return element_of(node, indices, self.value, self.cut.shape)
        if op == "aten.arange.start_step":
            start = node.args[0] if len(node.args) > 1 else 0
            step = node.args[2] if len(node.args) > 2 else 1
            return f"({indices[0]} * {step} + {start})"
        return element(op, node.args, node.kwargs, node.dtype, lambda a: self.read(a, indices))

    def through(self, source: str, shape: Shape, indices: Indices, name: str) -> str:
        """An element of a view; of one that only counts anew, memory is read where it lies."""
        node, inner = self.cut.nodes[name], self.cut.nodes[source].shape or ()
        anew = node.op in ("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default")
        if anew and source in self.cut.stored:
            self.value(source, ("0",) * len(inner))
            return f"{source}[{row_major(shape, indices)}]"
        return self.value(source, source_indices(node, inner, indices))

    def read(self, argument: Any, indices: Indices) -> str:
        """An operand of an elementwise operator: a number, or an element where it is broadcast."""
        if isinstance(argument, dict) and "node" in argument:
            name = str(cast("dict[str, Any]", argument)["node"])
            return self.value(name, broadcast(self.cut.nodes[name].shape or (), indices))
        return literal(argument)

    def summed(self, name: str, indices: Indices) -> Sum:
        """The sum that an element is."""
        node = self.cut.nodes[name]
        if node.op in PRODUCTS:
            return self.multiplied(name, indices)
        if node.op in WINDOWS:
            return self.of_window(name, indices)
        if is_by_place(node):
            return self.by_place(name, indices)
        (source,) = operands(node)
        shape = self.cut.nodes[source].shape or ()
        axes = axes_of(node, len(shape))
        loops = [(f"r{axis}", shape[axis]) for axis in axes.over]
        at = [
            f"r{axis}" if axis in axes.over else indices[axes.kept[axis]]
            for axis in range(len(shape))
        ]
        at = ["0" if n == 1 else i for n, i in zip(shape, at, strict=True)]
        x = self.value(source, tuple(at))
        if node.op in PLACES:
            least, more = PLACES[node.op]
            step = f"if ({x} {more} best) {{ best = {x}; acc = {loops[0][0]}; }}"
            return Sum(["long acc = 0;", f"float best = {least};"], [step], loops)
        start, fold = FOLDS[REDUCTIONS[node.op]]
        return folded(start, fold.format(acc="acc", x=x), loops)

    def of_window(self, name: str, indices: Indices) -> Sum:
        """The same for a pool: places outside of its operand have no say."""
        node, places, inside = self.cut.nodes[name], list(indices), list[str]()
        (source,) = operands(node)
        window, shape = window_of(node), self.cut.shape(source)
        assert window is not None
        loops, lines, first = list[tuple[str, int]](), list[str](), len(shape) - len(window.sizes)
        for at, size in enumerate(window.sizes):
            axis, pad = first + at, window.padding[at]
            loops.append((f"k{at}", size))
            start = f"{indices[axis]} * {window.strides[at]} - {pad}"
            lines.append(f"const int r{at} = {start} + k{at} * {window.dilation[at]};")
            places[axis] = "0" if shape[axis] == 1 else f"r{at}"
            inside += [f"r{at} >= 0 && r{at} < {shape[axis]}"] if pad else []
        start, fold = FOLDS[WINDOWS[node.op]]
        step = f"acc = {fold.format(acc='acc', x=self.value(source, tuple(places)))};"
        step = f"if ({' && '.join(inside)}) {step}" if inside else step
        return Sum([f"float acc = {start};"], [*lines, step], loops)

    def by_place(self, name: str, indices: Indices) -> Sum:
        """The same for what is put where indices say, and for running sums."""
        found = looked_at(self.cut.nodes[name], indices, self.value, self.cut.shape)
        start, fold = FOLDS.get(found.fold, ("", "{x}"))
        step = f"if ({found.where}) acc = {fold.format(acc='acc', x=found.brings)};"
        return Sum([f"float acc = {found.start or start};"], [step], found.loops)

    def multiplied(self, name: str, indices: Indices) -> Sum:
        """The same for a product of matrices."""
        node = self.cut.nodes[name]
        first, second = operands(node) if len(operands(node)) == 2 else operands(node) * 2
        letters = PRODUCTS[node.op]
        free = [x for x in dict.fromkeys("".join(letters)) if x != "k"]
        place = dict(zip(free, indices, strict=True)) | {"k": "k"}
        depth = (self.cut.nodes[first].shape or ())[letters[0].index("k")]
        one, two = (
            self.value(
                operand,
                tuple(
                    "0" if n == 1 else place[x]
                    for x, n in zip(each, self.cut.nodes[operand].shape or (), strict=True)
                ),
            )
            for operand, each in zip((first, second), letters, strict=True)
        )
        return folded("0.0f", f"acc + {one} * {two}", [("k", depth)])


def written(
    cut: Cut, kernel: Kernel, entry: str, language: str, rows: str | None = None
) -> Written:
    """The kernel of a stored value, in `cpp` or `cuda`. `rows`: a macro that bounds its outermost
    dimension in place of its size."""
    writer, launched = _Writer(cut, kernel), language_of(language).launch is not None
    shape = cut.shape(kernel.name)
    if launched:
        indices, before = _of_thread(shape, rows)
    else:
        indices, before = tuple("0" if n == 1 else f"i{axis}" for axis, n in enumerate(shape)), []
    body = list[str]()
    if kernel.sum is not None:
        found = writer.summed(kernel.sum, indices)
        body = [*found.starts, *_nested(found.loops, found.steps)]
    own = (
        "acc"
        if kernel.sum == kernel.name
        else writer.computed(kernel.name, cut.nodes[kernel.name].op, indices)
    )
    body.append(f"out[{row_major(shape, indices)}] = {own};")
    if not launched:
        body = _nested([(f"i{a}", n) for a, n in enumerate(shape)], body)
        if rows is not None:
            body[0] = body[0].replace(f"i0 < {shape[0]};", f"i0 < {rows};")
    parameters = [f"const {_c_type(cut, name)}* {name}" for name in writer.reads]
    parameters.append(f"{_c_type(cut, kernel.name)}* out")
    head = f"void {entry}({', '.join(parameters)})"
    head = f'extern "C" __global__ {head}' if launched else head
    lines = [f"{head} {{", *(f"    {line}" for line in [*before, *body]), "}"]
    text = "\n".join(lines) + "\n"
    head = _defined(text) if launched else INCLUDES[language]
    return Written(entry, head + text, tuple(writer.reads))


def _defined(text: str) -> str:
    """Lines before a CUDA source for the names that it has and NVRTC has not."""
    lines = [
        f"#ifndef {name}\n#define {name} __int_as_float({bits})\n#endif\n"
        for name, bits in UNDEFINED
        if name in text
    ]
    return "".join([*lines, "\n"]) if lines else ""


def elements_of(cut: Cut, kernel: Kernel) -> int:
    """How many elements a kernel writes."""
    return prod(cut.nodes[kernel.name].shape or ())


def operations_of(cut: Cut, kernel: Kernel) -> int:
    """About how many steps it takes: elements by what each sums over."""
    writer = _Writer(cut, kernel)
    indices = ("0",) * len(cut.nodes[kernel.name].shape or ())
    if kernel.sum is None:
        return elements_of(cut, kernel)
    loops = writer.summed(kernel.sum, indices).loops
    return elements_of(cut, kernel) * prod(size for _, size in loops)


def _c_type(cut: Cut, name: str) -> str:
    return C_TYPES[cut.nodes[name].dtype]


def _nested(loops: Sequence[tuple[str, int]], body: Sequence[str]) -> list[str]:
    wide = [(name, size) for name, size in loops if size > 1]
    zero = [f"const int {name} = 0;" for name, size in loops if size == 1 and name[0] in "rk"]
    lines = [*zero, *body]
    for name, size in reversed(wide):
        lines = [f"for (int {name} = 0; {name} < {size}; ++{name}) {{",
                 *(f"    {line}" for line in lines), "}"]  # fmt: skip
    return lines


def _of_thread(shape: Shape, rows: str | None) -> tuple[Indices, list[str]]:
    """Indices of the element that a thread computes, and the lines that find them."""
    count = prod(shape)
    kind = "long long" if count >= 1 << 31 else "int"
    lines = [
        f"{kind} at = ({kind})blockIdx.x * blockDim.x + threadIdx.x;",
        f"if (at >= {count if rows is None else f'{rows} * {prod(shape[1:])}'}) return;",
    ]
    indices = list[str]()
    for axis, size in enumerate(shape):
        if size == 1:
            indices.append("0")
            continue
        stride, outer = prod(shape[axis + 1 :]), prod(shape[:axis])
        found = "at" if stride == 1 else f"at / {stride}"
        found = f"{found} % {size}" if outer > 1 else found
        lines.append(f"{kind} i{axis} = {found};")
        indices.append(f"i{axis}")
    return tuple(indices), lines
