"""A stored value as the kernel that writes it: a nest of loops in C++, or a thread an element in
CUDA. Plain on purpose: it is what a search starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

from ....runners.languages import language_of
from .cutting import Cut, Kernel, operands
from .pointwise import element, literal
from .sums import FOLDS, PRODUCTS, REDUCTIONS, axes_of
from .views import Indices, Shape, broadcast, is_view, row_major, source_indices

THREADS = "BLOCK"
C_TYPES = {"float32": "float", "int64": "long", "int32": "int", "bool": "bool"}
INCLUDES = {"cpp": "#include <cmath>\n\n", "cuda": ""}


@dataclass(frozen=True)
class Written:
    """A kernel's source; it is called with the values that it reads, then with its own."""

    entry: str
    source: str
    reads: tuple[str, ...]


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

    def summed(self, name: str, indices: Indices) -> tuple[str, str, list[tuple[str, int]]]:
        """Where the sum starts, what follows from `acc`, and the loops that it goes through."""
        node = self.cut.nodes[name]
        if node.op in PRODUCTS:
            return self.multiplied(name, indices)
        (source,) = operands(node)
        shape = self.cut.nodes[source].shape or ()
        axes = axes_of(node, len(shape))
        loops = [(f"r{axis}", shape[axis]) for axis in axes.over]
        at = [
            f"r{axis}" if axis in axes.over else indices[axes.kept[axis]]
            for axis in range(len(shape))
        ]
        at = ["0" if n == 1 else i for n, i in zip(shape, at, strict=True)]
        start, fold = FOLDS[REDUCTIONS[node.op]]
        return start, fold.format(acc="acc", x=self.value(source, tuple(at))), loops

    def multiplied(self, name: str, indices: Indices) -> tuple[str, str, list[tuple[str, int]]]:
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
        return "0.0f", f"acc + {one} * {two}", [("k", depth)]


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
        start, fold, loops = writer.summed(kernel.sum, indices)
        body = [f"float acc = {start};", *_nested(loops, [f"acc = {fold};"])]
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
    return Written(entry, INCLUDES[language] + "\n".join(lines) + "\n", tuple(writer.reads))


def elements_of(cut: Cut, kernel: Kernel) -> int:
    """How many elements a kernel writes."""
    return prod(cut.nodes[kernel.name].shape or ())


def operations_of(cut: Cut, kernel: Kernel) -> int:
    """About how many steps it takes: elements by what each sums over."""
    writer = _Writer(cut, kernel)
    indices = ("0",) * len(cut.nodes[kernel.name].shape or ())
    if kernel.sum is None:
        return elements_of(cut, kernel)
    loops = writer.summed(kernel.sum, indices)[2]
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
