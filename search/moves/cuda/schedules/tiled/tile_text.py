"""The text of a contraction in tiles: what a block loads ahead, keeps, combines and stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from string import Template

from ......analysis.lift.expressions import ZERO, Load, Name, names_in, walk
from ....shared.lifted.contraction import Contraction
from ....shared.lifted.flat import replaced
from ....shared.lifted.row_program import COLUMN
from ..parts.c_text import Writer
from ..parts.columns import step_text
from ..parts.helpers import Vectors
from ..parts.names import Names
from ..parts.plain import Plain
from ..parts.writing import chosen, condition, handed, parameters, written
from .tile_parts import Parts
from .tile_sides import FOUR, SideText, needs_of, sides_of
from .tile_stores import Stores

KERNEL = Template(
    """\
    constexpr int $threads = (TILE_M / PER_M) * (TILE_N / PER_N);
    const int $thread = threadIdx.x;
    static_assert(TILE_M / PER_M % 4 == 0 && TILE_N / PER_N % 8 == 0, "whole warps of 4 x 8");
    // a warp has 4 x 8 threads: it reads 12 fours of shared memory for a step, the fewest there are
    constexpr int $warps = TILE_N / PER_N / 8;
    const int $row_lane = ($thread / 32 / $warps * 4 + $thread % 32 / 8) * 4;
    const int $column_lane = ($thread / 32 % $warps * 8 + $thread % 8) * 4;
    // eight rows of tiles at a time: their blocks read the same columns
    const int $row_tiles = ($rows + TILE_M - 1) / TILE_M;
    const int $column_tiles = ($columns + TILE_N - 1) / TILE_N;
    const int $tile = $which_tile;
    const int $first_row = $tile / (8 * $column_tiles) * 8;
    const int $grouped = $first_row + 8 < $row_tiles ? 8 : $row_tiles - $first_row;
    const $index $row_begin = ($first_row + $tile % (8 * $column_tiles) % $grouped) * TILE_M;
    const $index $column_begin = ($tile % (8 * $column_tiles) / $grouped) * TILE_N;
$others
$bounds
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
    "threads thread warps row_lane column_lane row_tiles column_tiles tile first_row grouped "
    "row_begin column_begin row_of column_of fetch keep sum step place k m n k_begin buffer more"
).split()


class TileText:
    """The text of one kernel."""

    def __init__(
        self, plain: Plain, found: Contraction, names: Names, index: str, parts: Parts | None
    ) -> None:
        """`parts`: of sums that several blocks share."""
        self._parts = parts
        self._plain, self._found, self._names, self._index = plain, found, names, index
        self._dtypes = plain.dtypes
        self._of = {each: names.fresh(each) for each in _LOCALS}
        self._sides = sides_of(plain, found, names)
        self._vectors = Vectors.named(names)
        self._needs = needs_of(self._sides)
        self._stores = Stores(plain, found, names, parts, index)
        self._function = names.fresh(f"{plain.function.name}_tiles")
        self._lanes = names.fresh("LANES")

    def prelude(self) -> str:
        """What stands before the kernel: the function that does its work, for both ways to load."""
        if not self._needs:
            vectors = self._needs is not None or self._stores.by_fours
            return self._vectors.text if vectors else ""
        tiles = [f"float (&{name}){size}" for name, size in self._tiles()]
        given = ", ".join([*self.parameters(), *tiles])
        head = f"__device__ __forceinline__ void {self._function}({given})"
        body = self._body(self._lanes)
        function = f"template <int {self._lanes}>\n{head} {{\n{body}}}"
        return f"{self._vectors.text}\n\n// {self._lanes} neighbours are loaded as one\n{function}"

    def parameters(self) -> list[str]:
        """Declarations of the kernel's parameters."""
        own = [self._parts.parameter] if self._parts else []
        return [*parameters(self._plain, written(self._plain)), *own]

    def kernel(self) -> str:
        """The body of the kernel."""
        held = [f"    alignas(16) __shared__ float {name}{size};" for name, size in self._tiles()]
        lines = [
            f"    // {FOUR} floats more a row: rows stay aligned, and columns fall into different "
            "banks",
            *held,
        ]
        if not self._needs:
            return self._lines([*lines, self._body("1" if self._needs is None else str(FOUR))])
        own = [self._parts.buffer] if self._parts else []
        given = ", ".join([handed(self._plain), *own, *(name for name, _ in self._tiles())])
        tests = condition(self._needs, FOUR, self._writer())
        calls = chosen(tests, lambda lanes: [f"{self._function}<{lanes}>({given});"], FOUR)
        return self._lines([*lines, *calls])

    def _tiles(self) -> list[tuple[str, str]]:
        """Names and extents of what is in shared memory."""
        return [(held, side.held_type()) for side in self._sides for held in side.held]

    def _body(self, lanes: str) -> str:
        found, of, writer = self._found, self._of, self._writer()
        sides = [
            SideText(side, found, self._names, of, self._vectors, lanes) for side in self._sides
        ]
        left, right = sides
        reduction, parts = found.reduction, self._parts
        return KERNEL.substitute(
            of,
            index=self._index,
            kind="float",
            rows=writer.text(found.rows.extent, inside=True),
            columns=writer.text(found.columns.extent, inside=True),
            start=parts.first if parts else writer.text(reduction.start),
            depth=parts.last if parts else writer.text(reduction.columns, inside=True),
            bounds=self._lines(parts.bounds(writer)) if parts else "",
            which_tile=self._which_tile(),
            others=self._lines(self._other_places(writer)),
            ahead=self._lines(line for side in sides for line in side.ahead()),
            fetched=self._lines(side.fetched(self._writer(), self._index) for side in sides),
            kept=self._lines(side.kept() for side in sides),
            begun=self._lines(self._begun(writer)),
            read=self._lines((left.read("row_of"), right.read("column_of"))),
            stepped=self._stepped(),
            taking=f", {self._index} {of['k']}" if self._counts() else "",
            given=f", {of['k_begin']} + {of['place']}" if self._counts() else "",
            stored=self._lines(self._stores.lines(of, self._vectors, self._writer())),
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
