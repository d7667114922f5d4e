"""The text of a contraction in tiles: what a block loads ahead, keeps, combines and stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from string import Template

from ......analysis.lift.expressions import ONE, ZERO, Expr, Load, Name, names_in, walk
from ......analysis.lift.rewriting import substitute
from ......analysis.lift.statements import Dim
from ......analysis.lift.sums import coefficient
from ....shared.lifted.contraction import Contraction
from ....shared.lifted.flat import replaced
from ....shared.lifted.row_program import COLUMN
from ..parts.body_text import BodyWriter
from ..parts.c_text import Writer
from ..parts.columns import step_text
from ..parts.names import Names
from ..parts.plain import Plain

KERNEL = Template(
    """\
    constexpr int $threads = (TILE_M / PER_M) * (TILE_N / PER_N);
    // four floats more a row: rows stay aligned, and columns fall into different banks
$held
    const int $thread = threadIdx.x;
    const int $row_lane = $thread / (TILE_N / PER_N) * 4;
    const int $column_lane = $thread % (TILE_N / PER_N) * 4;
    // eight rows of tiles at a time: their blocks read the same columns
    const int $row_tiles = ($rows + TILE_M - 1) / TILE_M;
    const int $column_tiles = ($columns + TILE_N - 1) / TILE_N;
    const int $tile = $which_tile;
    const int $first_row = $tile / (8 * $column_tiles) * 8;
    const int $grouped = $first_row + 8 < $row_tiles ? 8 : $row_tiles - $first_row;
    const $index $row_begin = ($first_row + $tile % (8 * $column_tiles) % $grouped) * TILE_M;
    const $index $column_begin = ($tile % (8 * $column_tiles) / $grouped) * TILE_N;
$others
    // the place of a thread's m-th row and n-th column: fours, so that they are read at once
    auto $row_of = [=](int n) { return n / 4 * (TILE_M * 4 / PER_M) + $row_lane + n % 4; };
    auto $column_of = [=](int n) { return n / 4 * (TILE_N * 4 / PER_N) + $column_lane + n % 4; };
$ahead
    auto $fetch = [&]($index $k_begin) {
$fetched
    };
    auto $keep = [&](int $buffer) {
$kept
    };
    $kind $sum[PER_M][PER_N];
$begun
    auto $step = [&](int $buffer, int $place$taking) {
$read
#pragma unroll
        for (int $m = 0; $m < PER_M; ++$m) {
#pragma unroll
            for (int $n = 0; $n < PER_N; ++$n) $stepped
        }
    };
    $fetch($start);
    $keep(0);
    __syncthreads();
    int $buffer = 0;
    for ($index $k_begin = $start; $k_begin < $depth; $k_begin += TILE_K, $buffer ^= 1) {
        const bool $more = $k_begin + TILE_K < $depth;
        if ($more) $fetch($k_begin + TILE_K);
        if ($k_begin + TILE_K <= $depth) {
#pragma unroll
            for (int $place = 0; $place < TILE_K; ++$place) $step($buffer, $place$given);
        } else {
            for (int $place = 0; $place < $depth - $k_begin; ++$place) $step($buffer, $place$given);
        }
        // the other buffer was last read before the last meeting
        if ($more) $keep($buffer ^ 1);
        __syncthreads();
    }
$stored
"""
)
_LOCALS = (
    "threads thread row_lane column_lane row_tiles column_tiles tile first_row grouped row_begin "
    "column_begin row_of column_of fetch keep sum step place k m n k_begin buffer more"
).split()
_FETCHED = Template(
    """\
#pragma unroll
        for (int $n = 0; $n < $tile * TILE_K / $threads; ++$n) {
            const int $at = $n * $threads + $thread, $place = $place_text, $k = $k_text;
            const $index $name = $begin + $place, $column = $k_begin + $k;
            const bool $inside = $name < $extent && $column < $depth;
$values
        }"""
)
_KEPT = Template(
    """\
#pragma unroll
        for (int $n = 0; $n < $tile * TILE_K / $threads; ++$n) {
            const int $at = $n * $threads + $thread;
$values
        }"""
)


class TileText:
    """The text of one kernel."""

    def __init__(self, plain: Plain, found: Contraction, names: Names, index: str) -> None:
        self._found, self._names, self._index = found, names, index
        self._dtypes = plain.dtypes
        self._of = {each: names.fresh(each) for each in _LOCALS}
        sides = (("M", found.rows, found.left), ("N", found.columns, found.right))
        self._sides = tuple(_Side(*side, names) for side in sides)

    def kernel(self) -> str:
        """The body of the kernel."""
        found, of, writer = self._found, self._of, self._writer()
        left, right = self._sides
        reduction = found.reduction
        return KERNEL.substitute(
            of,
            index=self._index,
            kind="float",
            rows=writer.text(found.rows.extent, inside=True),
            columns=writer.text(found.columns.extent, inside=True),
            start=writer.text(reduction.start),
            depth=writer.text(reduction.columns, inside=True),
            held=self._lines(
                f"    alignas(16) __shared__ float {held}[2][TILE_K][TILE_{s.letter} + 4];"
                for s in self._sides
                for held in s.held
            ),
            ahead=self._lines(
                f"    float {ahead}[TILE_{s.letter} * TILE_K / {of['threads']}];"
                for s in self._sides
                for ahead in s.ahead
            ),
            which_tile=self._which_tile(),
            others=self._lines(self._other_places(writer)),
            fetched=self._lines(self._fetched(s) for s in self._sides),
            kept=self._lines(self._kept(s) for s in self._sides),
            begun=self._lines(self._begun(writer)),
            read=self._lines((self._read(left, "row_of"), self._read(right, "column_of"))),
            stepped=self._stepped(),
            taking=f", {self._index} {of['k']}" if self._counts() else "",
            given=f", {of['k_begin']} + {of['place']}" if self._counts() else "",
            stored=self._lines(self._places_of_thread(self._stored(), guarded=True)),
        )

    @staticmethod
    def _lines(lines: Iterable[str]) -> str:
        return "\n".join(lines)

    def _writer(self) -> Writer:
        return Writer({}, self._dtypes, wide=self._index != "int")

    def _which_tile(self) -> str:
        if not self._found.others:
            return "blockIdx.x"
        return f"blockIdx.x % ({self._of['row_tiles']} * {self._of['column_tiles']})"

    def _other_places(self, writer: Writer) -> Iterator[str]:
        """The block's own place of every other dimension, the innermost first."""
        left = f"blockIdx.x / ({self._of['row_tiles']} * {self._of['column_tiles']})"
        others = self._found.others
        for at, dim in enumerate(reversed(others)):
            size = writer.text(dim.extent, inside=True)
            value = left if at == len(others) - 1 else f"{left} % {size}"
            yield f"    const {self._index} {dim.name} = {value};"
            left = f"{left} / {size}"

    def _fetched(self, side: _Side) -> str:
        of, fresh = self._of, self._names.fresh
        column, inside = fresh("column"), fresh("inside")
        writer = self._writer()
        values = list[str]()
        for value, ahead in zip(side.values, side.ahead, strict=True):
            text = writer.text(substitute(value, {COLUMN: Name(column)}), inside=True)
            values.append(f"            {ahead}[{of['n']}] = {inside} ? {text} : 0.0f;")
        fast, slow = "% TILE_K", "/ TILE_K"
        place, k = (slow, fast) if side.along_k else (f"% {side.tile}", f"/ {side.tile}")
        return _FETCHED.substitute(
            of | {"place": fresh("place")},
            tile=side.tile,
            at=(at := fresh("at")),
            place_text=f"{at} {place}",
            k_text=f"{at} {k}",
            index=self._index,
            name=side.dim.name,
            begin=of["row_begin" if side.letter == "M" else "column_begin"],
            column=column,
            inside=inside,
            extent=writer.text(side.dim.extent, inside=True),
            depth=writer.text(self._found.reduction.columns, inside=True),
            values="\n".join(values),
        )

    def _kept(self, side: _Side) -> str:
        of, at = self._of, self._names.fresh("at")
        k, place = ("%", "/") if side.along_k else ("/", "%")
        by = "TILE_K" if side.along_k else side.tile
        return _KEPT.substitute(
            of,
            tile=side.tile,
            at=at,
            values="\n".join(
                f"            {held}[{of['buffer']}][{at} {k} {by}][{at} {place} {by}] = "
                f"{ahead}[{of['n']}];"
                for held, ahead in zip(side.held, side.ahead, strict=True)
            ),
        )

    def _places_of_thread(self, body: Iterator[str], guarded: bool) -> Iterator[str]:
        """Lines for each of the thread's places in the output."""
        of, found, writer = self._of, self._found, self._writer()
        yield "#pragma unroll"
        yield f"    for (int {of['m']} = 0; {of['m']} < PER_M; ++{of['m']}) {{"
        yield "#pragma unroll"
        yield f"        for (int {of['n']} = 0; {of['n']} < PER_N; ++{of['n']}) {{"
        if guarded:
            row, column = found.rows, found.columns
            yield (
                f"            const {self._index} {row.name} = {of['row_begin']} + "
                f"{of['row_of']}({of['m']}), {column.name} = {of['column_begin']} + "
                f"{of['column_of']}({of['n']});"
            )
            yield (
                f"            if ({row.name} >= {writer.text(row.extent, inside=True)} || "
                f"{column.name} >= {writer.text(column.extent, inside=True)}) continue;"
            )
        yield from body
        yield "        }"
        yield "    }"

    def _begun(self, writer: Writer) -> Iterator[str]:
        first = self._found.reduction.first
        target = f"{self._of['sum']}[{self._of['m']}][{self._of['n']}]"
        guarded = any(isinstance(e, Load | Name) for e in walk(first))
        line = f"            {target} = {writer.text(first)};"
        yield from self._places_of_thread(iter((line,)), guarded)

    def _read(self, side: _Side, of_thread: str) -> str:
        of, n, per = self._of, self._of["n"], f"PER_{side.letter}"
        return "\n".join(
            line
            for value, held in zip(side.mine, side.held, strict=True)
            for line in (
                f"        float {value}[{per}];",
                "#pragma unroll",
                f"        for (int {n} = 0; {n} < {per}; ++{n}) {value}[{n}] = "
                f"{held}[{of['buffer']}][{of['place']}][{of[of_thread]}({n})];",
            )
        )

    def _counts(self) -> bool:
        """Whether a step needs to know which one it is, beside its values."""
        known = {value for side in self._sides for value in side.values}
        term = replaced(self._found.reduction.term, lambda e: ZERO if e in known else None)
        return COLUMN in names_in(term)

    def _stepped(self) -> str:
        of, writer = self._of, self._writer()
        for side, lane in zip(self._sides, ("m", "n"), strict=True):
            for value, mine in zip(side.values, side.mine, strict=True):
                writer.known[value] = f"{mine}[{of[lane]}]"
        writer.known[Name(COLUMN)] = of["k"]
        reduction = self._found.reduction
        target = f"{of['sum']}[{of['m']}][{of['n']}]"
        return step_text(reduction, target, writer.text(reduction.term))

    def _stored(self) -> Iterator[str]:
        writer = self._writer()
        fold = self._found.reduction.fold
        writer.known[fold] = f"{self._of['sum']}[{self._of['m']}][{self._of['n']}]"
        body = BodyWriter(writer, self._names, self._index)
        return body.lines(self._found.body, "            ")


class _Side:
    """One side of a contraction: what its tiles hold and what they are called."""

    def __init__(self, letter: str, dim: Dim, values: tuple[Expr, ...], names: Names) -> None:
        called = "left" if letter == "M" else "right"
        self.letter, self.tile, self.dim, self.values = letter, f"TILE_{letter}", dim, values
        self.held = tuple(names.fresh(called) for _ in values)
        self.ahead = tuple(names.fresh(f"{called}_ahead") for _ in values)
        self.mine = tuple(names.fresh(f"{called}_mine") for _ in values)
        loads = [e for value in values for e in walk(value) if isinstance(e, Load)]
        self.along_k = not any(_neighbours(load, dim.name) for load in loads)
        """whether neighbours along k, not along the dimension, lie side by side in memory"""


def _neighbours(load: Load, name: str) -> bool:
    found = coefficient(load.index, name)
    return found is not None and found[0] == ONE
