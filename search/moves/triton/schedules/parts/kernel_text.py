"""A kernel that a schedule wrote, in the place of the source's: its parameters, its programs, and
the launch, which gets another grid where the source has it and stays where the spec has it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from ......analysis.lift.expressions import Call, Expr, Name, Number, Sum
from ......analysis.lift.statements import Dim
from ......analysis.lift.sums import product
from ....shared.edits import Edit
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.domains import fits_int
from ....shared.lifted.names import WORD
from ...parts.kernels import Launch
from ...parts.nodes import walk
from .layout import wrapped
from .named_masks import with_named_masks
from .plain import WRITTEN, Plain
from .statements_text import Lines
from .tile_text import PRODUCT, Index, TileWriter

LIBDEVICE = "from triton.language.extra import libdevice"


@dataclass(frozen=True)
class Tile:
    """A parallel dimension as programs see it: one place of it a program, or a block of places."""

    dim: Dim
    called: str
    block: str = ""
    """the constant that is its length; empty: one place"""
    axis: int | None = None


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
        self.lines = Lines(TileWriter(words=self.plain.words), self.names)
        self.writer = self.lines.writer
        self.wide = False

    def constant(self, wanted: str, value: int) -> str:
        """A constant with a value to begin with, under a name that is free."""
        name = self.names.fresh(wanted)
        self.constants[name] = value
        return name

    def at_launch(self, wanted: str, text: str) -> str:
        """A constant that is worked out at each launch."""
        name = self.names.fresh(wanted)
        self.heuristics[name] = text
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

    def counted(self, tiles: Sequence[Tile], args: str = "") -> list[str]:
        """How many blocks of each there are; `args`: the name by which a launch knows what it is
        given, empty in the kernel."""
        return [self._blocks(each, args) for each in tiles]

    def _blocks(self, tile: Tile, args: str) -> str:
        extent = self.size(tile.dim.extent, args)
        if not tile.block:
            return extent
        block = f'{args}["{tile.block}"]' if args else tile.block
        return f"{'triton' if args else 'tl'}.cdiv({extent}, {block})"

    def size(self, expr: Expr, args: str = "", least: int = 0) -> str:
        """An integer over what the kernel is given. Raises Unwritable."""
        return size_text(expr, self.plain, args, least)

    def begun(self, tiles: Sequence[Tile], group: str = "") -> None:
        """What a program works on: its places of all tiles, the outermost first, are known from
        here on. `group`: the constant that is how many rows of tiles, of the last two, are worked
        through together."""
        places = product(*(t.dim.extent for t in tiles)) if tiles else Number(1)
        self.wide = not fits_int(self.plain, places)
        if self.plain.launch is None:
            for name, axis in self.plain.programs.items():
                self.lines.add(f"{name} = tl.num_programs({axis})")
        if not tiles:
            return
        here = self._program(tiles)
        left = [*zip(tiles, self.counted(tiles), strict=True)]
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

    def _program(self, tiles: Sequence[Tile]) -> str:
        """The number of the tile: of the program, or of a loop over those that are left."""
        launch = self.plain.spec.kernel.launch
        if self.plain.launch is not None or launch is None:
            return self._numbered(tiles, "tl.program_id(0)")
        axes = max((n + 1 for n, size in enumerate(launch.grid) if str(size) != "1"), default=1)
        plain = [t for t in tiles if not t.block]
        if axes == 1 and len(tiles) == len(plain) == 1:
            extent = tiles[0].dim.extent
            if isinstance(extent, Name) and self.plain.programs.get(extent.name) == 0:
                return self._numbered(tiles, "tl.program_id(0)")
        here, many = "tl.program_id(0)", "tl.num_programs(0)"
        if axes > 1:
            here, many = self._linear(axes)
        total = " * ".join(self._factor(c) for c in self.counted(tiles))
        single = len(tiles) == 1 and not tiles[0].block and not self.wide
        tile = tiles[0].called if single else self.names.fresh("tile")
        self.lines.add(
            "# the spec says how many programs there are: each takes every so many tiles"
        )
        self.lines.inside(f"for {tile} in range({here}, {total}, {many}):")
        return tile

    def _linear(self, axes: int) -> tuple[str, str]:
        here, many = self.names.fresh("program"), self.names.fresh("programs")
        text = "tl.program_id(0)"
        counts = [f"tl.num_programs({n})" for n in range(axes)]
        for axis in range(1, axes):
            text += f" + {' * '.join(counts[:axis])} * tl.program_id({axis})"
        self.lines.add(f"{here} = {text}", f"{many} = {' * '.join(counts)}")
        return here, many

    def _factor(self, count: str) -> str:
        return count if "(" in count or count.isidentifier() else f"({count})"

    def _numbered(self, tiles: Sequence[Tile], program: str) -> str:
        if len(tiles) == 1:
            return program
        name = self.names.fresh("tile")
        self.lines.add(f"{name} = {program}")
        return name

    def source(self, told: str, tiles: Sequence[Tile]) -> str:
        """The source with this kernel in place of the old one, and its launch. Raises
        Unwritable."""
        plain = self.plain
        kernel, source = plain.kernel, plain.kernel.source
        added = [*plain.programs] if plain.launch is not None else []
        parameters = [*plain.runtime, *added]
        parameters += [f"{name}: tl.constexpr" for name in self.heuristics]
        parameters += [f"{name}: tl.constexpr = {v}" for name, v in self.constants.items()]
        indent = source.indent(kernel.function)
        head = [f"{WRITTEN}{told}"]
        if self.heuristics:
            each = [f'"{n}": lambda args: {text}' for n, text in self.heuristics.items()]
            head.append(f"@triton.heuristics({{{', '.join(each)}}})")
        head.append(f"@{source.text(kernel.jit)}")
        body = with_named_masks(self._used(), self.writer.masks, self.names)
        body = [each for line in body for each in wrapped(line)]
        text = "\n".join([*head, *_definition(kernel.name, parameters), *body])
        first = min([kernel.function.lineno, *(d.lineno for d in kernel.function.decorator_list)])
        start = source.starts[first - 1] + kernel.function.col_offset
        _, end = source.span(kernel.function)
        edits = [Edit(start, end, text.replace("\n", f"\n{indent}"))]
        if self.writer.library and LIBDEVICE not in source.raw.decode():
            edits.append(_imported(plain))
        if plain.launch is not None:
            edits += self._relaunched(tiles, added)
        return source.edited(edits)

    def _used(self) -> list[str]:
        """The lines without numbers of programs that nothing asks for."""
        words = WORD.findall("\n".join(self.lines.out))
        idle = {f"{n} = tl.num_programs({axis})" for n, axis in self.plain.programs.items()
                if words.count(n) == 1}  # fmt: skip
        return [line for line in self.lines.out if line.strip() not in idle]

    def _relaunched(self, tiles: Sequence[Tile], added: Sequence[str]) -> list[Edit]:
        launch = self.plain.launch
        assert launch is not None
        given = self._given(launch)
        for name in added:
            size = launch.grid[self.plain.programs[name]]
            text = launch.source.text(size)
            if any(isinstance(n, ast.Name) and n.id == launch.meta for n in walk(size)):
                raise Unwritable("its number of programs is made of constants that it loses")
            given.append(f"{name}={_argument(text)}")
        meta = launch.meta or "meta"
        grid = " * ".join(self._factor_of_grid(c) for c in self.counted(tiles, meta)) or "1"
        _, start = launch.source.span(launch.call.func)
        _, end = launch.source.span(launch.call)
        return [launch.regridded(grid), Edit(start, end, f"({', '.join(given)})")]

    def _given(self, launch: Launch) -> list[str]:
        """What a launch hands to the parameters that stay. Raises Unwritable."""
        bound, runtime = launch.bound(self.plain.kernel), self.plain.runtime
        if all(n in bound for n in runtime):
            return [_argument(launch.source.text(bound[n])) for n in runtime]
        named = {*launch.given}
        if self.plain.kernel.constexprs - named:
            raise Unwritable("the launch hands its constants over without their names")
        keywords = [k for k in launch.call.keywords if k.arg in runtime]
        return [_argument(launch.source.text(each)) for each in (*launch.call.args, *keywords)]

    def _factor_of_grid(self, count: str) -> str:
        plain = count.startswith(("triton.cdiv(", "meta[")) or count.isidentifier()
        return count if plain or " " not in count else f"({count})"


def _argument(text: str) -> str:
    """What a launch hands over, without the layout that it had."""
    return " ".join(text.split())


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


def size_text(expr: Expr, plain: Plain, args: str = "", least: int = 0) -> str:
    """An integer over what the kernel is given, in it or at its launch. Raises Unwritable."""
    match expr:
        case Number(value):
            return str(int(value))
        case Name(name) if name in plain.sizes:
            return f'{args}["{name}"]' if args else name
        case Sum(terms):
            words = list[str]()
            for factors, number in terms:
                parts = [size_text(each, plain, args, PRODUCT) for each in factors]
                if abs(number) != 1 or not parts:
                    parts.append(str(abs(number)))
                sign = "-" if number < 0 else "+"
                joined = " * ".join(parts)
                words += [sign, joined] if words else [f"-{joined}" if number < 0 else joined]
            text = " ".join(words)
            return f"({text})" if least and " " in text else text
        case Call("div", (left, right)):
            one, other = (size_text(e, plain, args, PRODUCT) for e in (left, right))
            return f"({one} // {other})" if least else f"{one} // {other}"
        case Call("max" | "min" as op, (left, right)):
            one, other = (size_text(e, plain, args) for e in (left, right))
            return f"{op}({one}, {other})"
        case _:
            raise Unwritable("a number of places that no launch can tell")
