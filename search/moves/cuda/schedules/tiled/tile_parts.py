"""Long sums of few tiles: several blocks share a tile's sum, and a second launch joins their parts
in order, so that the result is the same each time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ......analysis.lift.expressions import Expr, Name, Number
from ......analysis.lift.sums import product, total
from ....shared.lifted.contraction import Contraction
from ....shared.lifted.names import Names
from ..parts.body_text import BodyWriter
from ..parts.c_text import Writer
from ..parts.columns import step_text
from ..parts.plain import Plain
from ..parts.writing import parameters, plan_text, written

PARTS = "K_PARTS"
"""the macro that says how many blocks share a tile's sum"""
THREADS = 256
"""of a block of the second launch"""


class Parts:
    """The parts of one kernel's sums: `[K_PARTS, others, rows, columns]` in float32."""

    def __init__(self, plain: Plain, found: Contraction, names: Names, index: str) -> None:
        self._plain, self._found, self._names, self._index = plain, found, names, index
        name = plain.function.name
        self.buffer, self.joined = names.fresh(f"parts_{name}"), names.fresh(f"{name}_joined")
        self.first, self.last, self.count = (names.fresh(w) for w in ("k_first", "k_last", "count"))
        self.parameter = f"float* __restrict__ {self.buffer}"

    def bounds(self, writer: Writer) -> Iterator[str]:
        """Lines that tell a block's part of the sum, and how many places the output has."""
        reduction, index, share = self._found.reduction, self._index, self._names.fresh("share")
        depth = writer.text(reduction.columns, inside=True)
        length, first = depth, f"(int)blockIdx.y * {share}"
        if reduction.start != Number(0):
            start = writer.text(reduction.start, inside=True)
            length, first = f"{depth} - {start}", f"{start} + {first}"
        yield "    // a block's part of the sum is as many whole tiles as any other's"
        yield (
            f"    const {index} {share} = ({length} + {PARTS} * TILE_K - 1) / ({PARTS} * TILE_K) * "
            "TILE_K;"
        )
        yield f"    const {index} {self.first} = {first};"
        yield (
            f"    const {index} {self.last} = {self.first} + {share} < {depth} ? "
            f"{self.first} + {share} : {depth};"
        )
        yield self._counted(writer)

    def _counted(self, writer: Writer) -> str:
        return f"    const {self._index} {self.count} = {writer.text(self._places())};"

    def _places(self) -> Expr:
        found = self._found
        return product(*(d.extent for d in (*found.others, found.rows, found.columns)))

    def place(self) -> Expr:
        """Of an element of the output, in the part that a block has of all."""
        found = self._found
        at: Expr = Number(0)
        for dim in (*found.others, found.rows, found.columns):
            at = total((product(at, dim.extent), Name(dim.name)))
        return at

    def target(self, place: str) -> str:
        """Where the block's part for a place goes."""
        return f"{self.buffer}[(int)blockIdx.y * {self.count} + {place}]"

    def second(self) -> str:
        """The kernel that joins the parts, a thread a place, and does what comes behind them."""
        found, index = self._found, self._index
        writer = Writer({}, self._plain.dtypes, wide=index != "int")
        e, part, value = (self._names.fresh(w) for w in ("e", "part", "whole"))
        given = ", ".join(
            [*parameters(self._plain, written(self._plain)), f"const {self.parameter}"]
        )
        lines = [
            "// a thread a place: what its blocks found, in their order",
            f'extern "C" __global__ void __launch_bounds__({THREADS}) {self.joined}({given}) {{',
            self._counted(writer),
            f"    const {index} {e} = ({index})blockIdx.x * {THREADS} + threadIdx.x;",
            f"    if ({e} >= {self.count}) return;",
        ]
        left, dims = e, (*found.others, found.rows, found.columns)
        for at, dim in enumerate(reversed(dims)):
            size = writer.text(dim.extent, inside=True)
            own = left if at == len(dims) - 1 else f"{left} % {size}"
            lines.append(f"    const {index} {dim.name} = {own};")
            left = f"{left} / {size}"
        body = BodyWriter(writer, self._names, index)
        lines += body.values([found.reduction.first], "    ")
        taken = step_text(found.reduction, value, f"{self.buffer}[{part} * {self.count} + {e}]")
        lines += [
            f"    float {value} = {writer.text(found.reduction.first)};",
            "#pragma unroll",
            f"    for (int {part} = 0; {part} < {PARTS}; ++{part}) {taken}",
        ]
        writer.known[found.reduction.fold] = value
        return "\n".join([*lines, *body.lines(found.body, "    "), "}"])

    def buffers(self) -> dict[str, dict[str, Any]]:
        """Of the plan."""
        count = plan_text(self._places(), self._plain)
        return {self.buffer: {"dtype": "float32", "shape": [f"{PARTS} * {count}"]}}

    def with_second(self, plan: dict[str, Any]) -> dict[str, Any]:
        """The plan with the second launch behind the first."""
        steps = list(plan["steps"])
        at = next(n for n, s in enumerate(steps) if s.get("launch") == self._plain.launch.launch)
        grid = [f"cdiv({plan_text(self._places(), self._plain)}, {THREADS})"]
        second = {
            "launch": self.joined,
            "grid": grid,
            "block": [THREADS],
            "args": steps[at]["args"],
        }
        return {**plan, "steps": [*steps[: at + 1], second, *steps[at + 1 :]]}
