"""The sides of a contraction in tiles: what a block loads ahead of each, keeps and reads again.

What lies side by side in memory is loaded by fours where the array and the sizes of a call allow
it; the text of both ways is one, of `LANES` neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from string import Template

from ......analysis.lift.expressions import ONE, Expr, Load, Name, walk
from ......analysis.lift.rewriting import substitute
from ......analysis.lift.statements import Dim
from ......analysis.lift.sums import coefficient
from ....shared.lifted.contraction import Contraction
from ....shared.lifted.row_program import COLUMN
from ..parts.c_text import Writer
from ..parts.helpers import Vectors
from ..parts.lanes import Lanes
from ..parts.names import Names
from ..parts.plain import Plain
from ..parts.writing import written

FOUR = 4
"""floats of 16 bytes, the widest load there is"""
_FETCHED = Template(
    """\
        static_assert($each % $threads == 0, "every thread loads as many of a tile");
#pragma unroll
        for (int $n = 0; $n < $each / $threads; ++$n) {
            const int $at = $n * $threads + $thread, $place = $place_text, $k = $k_text;
            const $index $name = $begin + $place, $column = $k_begin + $k;
            const bool $inside = $name < $extent && $column < $depth;
$values
        }"""
)
_KEPT = Template(
    """\
#pragma unroll
        for (int $n = 0; $n < $each / $threads; ++$n) {
            const int $at = $n * $threads + $thread, $place = $place_text, $k = $k_text;
$values
        }"""
)


class Side:
    """One side of a contraction: what its tiles hold and what they are called."""

    def __init__(self, letter: str, plain: Plain, found: Contraction, names: Names) -> None:
        left = letter == "M"
        called = "left" if left else "right"
        self.letter, self.tile = letter, f"TILE_{letter}"
        self.dim: Dim = found.rows if left else found.columns
        self.values: tuple[Expr, ...] = found.left if left else found.right
        self.held = tuple(names.fresh(called) for _ in self.values)
        self.ahead = tuple(names.fresh(f"{called}_ahead") for _ in self.values)
        self.mine = tuple(names.fresh(f"{called}_mine") for _ in self.values)
        loads = [e for value in self.values for e in walk(value) if isinstance(e, Load)]
        self.along_k = not any(_neighbours(load, self.dim.name) for load in loads)
        """whether neighbours along k, not along the dimension, lie side by side in memory"""
        self.needs = self._fours(plain, found)
        """sizes that must be multiples of four for loads by fours; None: it has none of those"""

    def _fours(self, plain: Plain, found: Contraction) -> tuple[Expr, ...] | None:
        moving = COLUMN if self.along_k else self.dim.name
        lanes = Lanes(plain, FOUR, frozenset((moving,)))
        if lanes.whole(found.reduction.start) != ():
            return None
        size = lanes.whole(found.reduction.columns if self.along_k else self.dim.extent)
        if size is None:
            return None
        lanes.needs |= dict.fromkeys(size)
        for value in self.values:
            if not isinstance(value, Load) or value.array in written(plain):
                return None
            if lanes.vector(value.array, lanes.split(value.index)) is None:
                return None
        return tuple(lanes.needs)

    def held_type(self) -> str:
        """Of the tiles that a block keeps: two, of which one is read while the other is filled.
        Four floats more a row: rows stay aligned, and columns fall into different banks."""
        return f"[2][TILE_K][{self.tile} + {FOUR}]"


class SideText:
    """The text of one side, `lanes` neighbours at a time: a number, or what a template calls it."""

    def __init__(
        self, side: Side, found: Contraction, names: Names, of: dict[str, str], vectors: Vectors,
        lanes: str,
    ) -> None:  # fmt: skip
        self.side = side
        self._found, self._names, self._of, self._vectors = found, names, of, vectors
        self._lanes = lanes if side.needs is not None else "1"

    @property
    def _single(self) -> bool:
        return self._lanes == "1"

    @property
    def _each(self) -> str:
        """How many loads a tile takes."""
        over = "" if self._single else f" / {self._lanes}"
        return f"{self.side.tile} * TILE_K{over}"

    def ahead(self) -> Iterator[str]:
        """Declarations of what a thread has loaded and not yet kept."""
        kind = "float" if self._single else self._vectors.type("float", self._lanes)
        for name in self.side.ahead:
            yield f"    {kind} {name}[{self._each} / {self._of['threads']}];"

    def fetched(self, writer: Writer, index: str) -> str:
        """Lines that load the next tile."""
        of, side, fresh = self._of, self.side, self._names.fresh
        column, inside = fresh("column"), fresh("inside")
        values = list[str]()
        for value, ahead in zip(side.values, side.ahead, strict=True):
            there = substitute(value, {COLUMN: Name(column)})
            if self._single:
                text, none = writer.text(there, inside=True), "0.0f"
            else:
                assert isinstance(there, Load)
                at = f"&{there.array}[{writer.text(there.index)}]"
                text = self._vectors.load("float", self._lanes, at)
                none = f"{self._vectors.type('float', self._lanes)}{{}}"
            values.append(f"            {ahead}[{of['n']}] = {inside} ? {text} : {none};")
        return _FETCHED.substitute(
            self._places(),
            index=index,
            name=side.dim.name,
            begin=of["row_begin" if side.letter == "M" else "column_begin"],
            k_begin=of["k_begin"],
            column=column,
            inside=inside,
            extent=writer.text(side.dim.extent, inside=True),
            depth=writer.text(self._found.reduction.columns, inside=True),
            values="\n".join(values),
        )

    def _places(self) -> dict[str, str]:
        """Which place of the tile a load of a thread is, or the first of its neighbours."""
        of, side, fresh = self._of, self.side, self._names.fresh
        at, place, lanes = fresh("at"), fresh("place"), self._lanes
        fast = "TILE_K" if side.along_k else side.tile
        over, times = ("", "") if self._single else (f"({fast} / {lanes})", f" * {lanes}")
        quick, slow = f"{at} % {over or fast}{times}", f"{at} / {over or fast}"
        place_text, k_text = (slow, quick) if side.along_k else (quick, slow)
        return {
            "n": of["n"], "threads": of["threads"], "thread": of["thread"], "k": of["k"],
            "each": self._each, "at": at, "place": place, "place_text": place_text,
            "k_text": k_text,
        }  # fmt: skip

    def kept(self) -> str:
        """Lines that put what was loaded into shared memory."""
        of, side = self._of, self.side
        places = self._places()
        k, place = places["k"], places["place"]
        values = list[str]()
        for held, ahead in zip(side.held, side.ahead, strict=True):
            into, value = f"{held}[{of['buffer']}]", f"{ahead}[{of['n']}]"
            if self._single:
                values.append(f"{into}[{k}][{place}] = {value};")
            elif side.along_k:
                lane = self._names.fresh("lane")
                values += [
                    "#pragma unroll",
                    f"for (int {lane} = 0; {lane} < {self._lanes}; ++{lane}) "
                    f"{into}[{k} + {lane}][{place}] = {value}.at[{lane}];",
                ]
            else:
                to = f"&{into}[{k}][{place}]"
                values.append(self._vectors.store("float", self._lanes, to, value))
        lines = (v if v.startswith("#") else f"            {v}" for v in values)
        return _KEPT.substitute(places, values="\n".join(lines))

    def read(self, of_thread: str) -> str:
        """Lines that read what a thread needs for one step."""
        of, n, per = self._of, self._of["n"], f"PER_{self.side.letter}"
        return "\n".join(
            line
            for value, held in zip(self.side.mine, self.side.held, strict=True)
            for line in (
                f"        float {value}[{per}];",
                "#pragma unroll",
                f"        for (int {n} = 0; {n} < {per}; ++{n}) {value}[{n}] = "
                f"{held}[{of['buffer']}][{of['place']}][{of[of_thread]}({n})];",
            )
        )


def sides_of(plain: Plain, found: Contraction, names: Names) -> tuple[Side, Side]:
    """Both sides."""
    return Side("M", plain, found, names), Side("N", plain, found, names)


def needs_of(sides: Iterable[Side]) -> tuple[Expr, ...] | None:
    """Sizes that must be multiples of four for loads by fours on all sides that have them; None:
    no side has."""
    found = [side.needs for side in sides if side.needs is not None]
    if not found:
        return None
    return tuple(dict.fromkeys(each for needs in found for each in needs))


def _neighbours(load: Load, name: str) -> bool:
    found = coefficient(load.index, name)
    return found is not None and found[0] == ONE
