"""A kernel that a schedule wrote, in the place of the source's: its parameters, its programs, and
the launch, which gets another grid wherever it stands.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ......analysis.lift.expressions import Expr, Number
from ......analysis.lift.sums import product
from ......runners.specs.expressions import next_pow2
from ....shared.edits import Edit
from ....shared.lifted.domains import fits_int
from ....shared.lifted.names import WORD
from .grids import Tile, blocks_of, of_launch, size_text
from .layout import wrapped
from .named_masks import with_named_masks
from .plain import WRITTEN, Plain
from .relaunching import launch_plan, relaunched
from .statements_text import Lines
from .tile_text import Index, TileWriter

LIBDEVICE = "from triton.language.extra import libdevice"


@dataclass
class KernelText:
    """One kernel while it is written."""

    plain: Plain
    rank: int = 1
    """axes of its blocks"""
    constants: dict[str, int] = field(default_factory=dict[str, int])
    """what the kernel is tuned by, with the values to begin with"""
    heuristics: dict[str, str] = field(default_factory=dict[str, str])
    """constants that are worked out at each launch, over `args`"""

    def __post_init__(self) -> None:
        self.names = self.plain.names()
        self.lines = Lines(TileWriter(words=self.plain.words, widths=self.plain.widths), self.names)
        self.writer = self.lines.writer
        self.wide = False

    def constant(self, wanted: str, value: int) -> str:
        """A constant with a value to begin with, under a name that is free."""
        name = self.names.fresh(wanted)
        self.constants[name] = value
        return name

    def held(self, columns: Expr) -> str:
        """The constant that is the length of a block which has all of a row; a launch works it out
        where the row's length is no number. Raises Unwritable."""
        if isinstance(columns, Number):
            return self.constant("COLUMNS_HELD", max(16, next_pow2(int(columns.value))))
        name = self.names.fresh("COLUMNS_HELD")
        size = size_text(columns, self.plain, of_launch("args"))
        self.heuristics[name] = f"triton.next_power_of_2({size})"
        return name

    def spread(self, text: str, axis: int) -> str:
        """A range along an axis of the block."""
        if self.rank == 1:
            return text
        places = ", ".join(":" if n == axis else "None" for n in range(self.rank))
        return f"{text}[{places}]"

    def range_of(self, tile: Tile, start: str) -> str:
        """The places of a block that starts somewhere."""
        spread = self.spread(f"tl.arange(0, {tile.block})", tile.axis or 0)
        return f"{start} + {spread}" if start else spread

    def size(self, expr: Expr, least: int = 0) -> str:
        """An integer over what the kernel is given. Raises Unwritable."""
        return size_text(expr, self.plain, least=least)

    def begun(self, tiles: Sequence[Tile], group: str = "") -> None:
        """What a program works on: its places of all tiles, the outermost first, are known from
        here on. `group`: the constant that is how many rows of tiles, of the last two, are worked
        through together."""
        places = product(*(t.dim.extent for t in tiles)) if tiles else Number(1)
        self.wide = not fits_int(self.plain, places)
        if not tiles:
            return
        here = "tl.program_id(0)"
        if len(tiles) > 1:
            here = self.names.fresh("tile")
            self.lines.add(f"{here} = tl.program_id(0)")
        left = [*zip(tiles, blocks_of(tiles, self.plain), strict=True)]
        if group:
            here = self._in_groups(left[-2:], here, group, alone=len(tiles) == 2)
            del left[-2:]
        while left:
            tile, count = left.pop()
            if not left:
                self._place(tile, here)
                return
            count = self._named_count(tile, count)
            self._place(tile, f"{here} % {count}")
            if len(left) == 1:
                here = f"{here} // {count}"
                continue
            rest = self.names.fresh("rest")
            self.lines.add(f"{rest} = {here} // {count}")
            here = rest

    def _in_groups(
        self, pair: Sequence[tuple[Tile, str]], here: str, group: str, *, alone: bool
    ) -> str:
        """The last two tiles, in groups of rows of tiles; what is left for those before them."""
        (rows, down), (columns, across) = pair
        down, across = self._named_count(rows, down), self._named_count(columns, across)
        rest, tile = "", here
        if not alone:
            rest = self.names.fresh("rest")
            tile = self.names.fresh("tile_here")
            both = f"({down} * {across})"
            self.lines.add(f"{rest} = {here} // {both}", f"{tile} = {here} % {both}")
        first, height, inside = (self.names.fresh(n) for n in ("first", "height", "in_group"))
        self.lines.add(
            "# programs that run together share the tiles of a few rows and columns in L2",
            f"{first} = {tile} // ({group} * {across}) * {group}",
            f"{height} = min({down} - {first}, {group})",
            f"{inside} = {tile} % ({group} * {across})",
        )
        self._place(rows, f"{first} + {inside} % {height}")
        self._place(columns, f"{inside} // {height}")
        return rest

    def _named_count(self, tile: Tile, count: str) -> str:
        if count.isidentifier() or count.isdigit():
            return count
        name = self.names.fresh(f"{tile.called}_tiles")
        self.lines.add(f"{name} = {count}")
        return name

    def _place(self, tile: Tile, index: str) -> None:
        """The name of a place, or of a block of places."""
        single = f"({index})" if " " in index else index
        if self.wide:
            index = single = f"{single}.to(tl.int64)"
        called, text, inside = tile.called, index, ""
        if tile.block:
            text = self.range_of(tile, f"{single} * {tile.block}")
            inside = f"{called} < {self.size(tile.dim.extent, least=2)}"
        self.writer.indices[tile.dim.name] = Index(called, inside, tile.axis)
        if text != called:
            self.lines.add(f"{called} = {text}")

    def definition(self, name: str, comment: str, more: Sequence[str] = ()) -> str:
        """The kernel under a name, below a comment; `more`: parameters that the old one has not."""
        parameters = [*self.plain.runtime, *self._programs(), *more]
        parameters += [f"{name}: tl.constexpr" for name in self.heuristics]
        parameters += [f"{name}: tl.constexpr = {v}" for name, v in self.constants.items()]
        head = [comment]
        if self.heuristics:
            each = [f'"{n}": lambda args: {text}' for n, text in self.heuristics.items()]
            head.append(f"@triton.heuristics({{{', '.join(each)}}})")
        kernel = self.plain.kernel
        head.append(f"@{kernel.source.text(kernel.jit)}")
        body = with_named_masks(self.lines.out, self.writer.masks, self.names)
        body = [each for line in body for each in wrapped(line)]
        return "\n".join([*head, *_definition(name, parameters), *body])

    def source(self, told: str, tiles: Sequence[Tile]) -> str:
        """The source with this kernel in place of the old one, and its launch. Raises
        Unwritable."""
        definition = self.definition(self.plain.written_name, f"{WRITTEN}{told}")
        return self.plain.kernel.source.edited(self.edits(definition, tiles))

    def edits(self, definition: str, tiles: Sequence[Tile], more: Sequence[str] = ()) -> list[Edit]:
        """What changes where the definition takes the old one's place; `more`: further arguments of
        a launch in the source. Raises Unwritable."""
        plain = self.plain
        kernel, source = plain.kernel, plain.kernel.source
        indent = source.indent(kernel.function)
        first = min([kernel.function.lineno, *(d.lineno for d in kernel.function.decorator_list)])
        start = source.starts[first - 1] + kernel.function.col_offset
        _, end = source.span(kernel.function)
        text = definition.replace("\n", f"\n{indent}")
        if plain.written_name != kernel.name:  # others launch the old one, which stays
            start, text = end, f"\n\n\n{text}"
        edits = [Edit(start, end, text)]
        if self.writer.library and LIBDEVICE not in source.raw.decode():
            edits.append(_imported(plain))
        if plain.launch is not None:
            edits += relaunched(plain, plain.launch, tiles, more)
        return edits

    def plan(self, tiles: Sequence[Tile]) -> dict[str, Any] | None:
        """The launch in place of the spec's; None: the source launches it."""
        if self.plain.by_spec is None:
            return None
        return launch_plan(self.plain, tiles, self._programs())

    def _programs(self) -> list[str]:
        """Old numbers of programs that it is given: of a launch in the source all, which its grid
        is made of; else those that it uses."""
        if self.plain.launch is not None:
            return [*self.plain.programs]
        used = {*WORD.findall("\n".join((*self.lines.out, *self.heuristics.values())))}
        return [name for name in self.plain.programs if name in used]


def _definition(name: str, parameters: Sequence[str]) -> list[str]:
    line = f"def {name}({', '.join(parameters)}):"
    if len(line) <= 100:
        return [line]
    return [f"def {name}(", *(f"    {each}," for each in parameters), "):"]


def _imported(plain: Plain) -> Edit:
    """`libdevice`, behind the last import at the top."""
    imports = [
        n for n in plain.kernel.source.tree.body if isinstance(n, ast.Import | ast.ImportFrom)
    ]
    return plain.kernel.source.after(imports[-1], LIBDEVICE)
