"""C++ of a row program: a device function for the threads of one row, and the kernel around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ......analysis.lift.expressions import ZERO, Expr, Fold, Load, Number
from ......analysis.lift.statements import Body
from ....shared.lifted.row_program import COLUMN, Reduction
from . import running
from .body_text import BodyWriter
from .byte_products import ByteProducts
from .c_text import SHORT, TYPES, VALUES, Writer
from .lanes import LANE
from .reduction_names import by_length, each_lane, names_of
from .row_lanes import TEAM, RowLanes, dtype_of
from .team_text import Teams
from .writing import chosen, condition, handed, parameters

WARPS = 4
"""rows of a block where a warp does one"""
_NEUTRAL = {"sum": 0, "product": 1}


class RowText:
    """Texts over one program; what several functions share is written once."""

    def __init__(self, made: RowLanes, index: str, parts: str = "") -> None:
        """`parts`: the macro that says how many blocks share a row; empty: none do."""
        self._made, self._index, self._parts = made, index, parts
        names = self._names = made.names
        self.folded = dict[Fold, list[str]]()
        """what a thread's part of each fold is called, of a place and its value both"""
        self._dtypes = made.plain.dtypes
        self.teams = Teams(made.names)
        self._products = ByteProducts(made.plain, made.names, made.vectors.name)
        self._lanes, self._thread = names.fresh("LANES"), names.fresh("thread")
        self._column, self._lane = names.fresh("column"), names.fresh("lane")
        self._item, self._items = names.fresh("item"), names.fresh("ITEMS")
        self._outer = {d.name: names.fresh(d.name.replace(".", "_")) for d in made.program.outer}

    @property
    def helpers(self) -> list[str]:
        """Device functions that what was written calls."""
        return [self._made.vectors.text, self.teams.text, *self._products.texts]

    def writer(self) -> Writer:
        """For expressions of a row."""
        own = {LANE: self._lane, COLUMN: self._column, **self._outer}
        return Writer(own, self._dtypes, wide=self._index != "int")

    def function(
        self,
        name: str,
        capacity: int,
        kept_by: Callable[[Writer], list[str]] | None = None,
        more: Sequence[str] = (),
    ) -> str:
        """What the threads of a row do; `capacity`: columns that they hold, 0: none. `kept_by`:
        what one of them does in the end in place of the program's; `more`: further parameters."""
        made, writer = self._made, self.writer()
        kept = (
            {load: self._names.fresh(f"{load.array}_row") for load in made.held} if capacity else {}
        )
        lines = [f"    const int {self._thread} = threadIdx.x;"]
        if kept:
            share = f"{TEAM} * {self._lanes}"
            lines.append(
                f"    constexpr int {self._items} = ({capacity} + {share} - 1) / ({share});"
            )
        for load, called in kept.items():
            lines.append(f"    {self._vector(load.array)} {called}[{self._items}];")
        loaded = set[Load]()
        for step, loads in zip(made.terms, made.loads, strict=False):
            lines += self._reduced(step, loads, kept, loaded, writer)
        if made.elements:
            lines += self._elements(kept, loaded, writer)
        ends = self._ends(made.program.ends, writer) if kept_by is None else kept_by(writer)
        if ends:
            lines += [f"    if ({self._thread} == 0) {{", *ends, "    }"]
        outer = [f"{self._index} {each}" for each in self._outer.values()]
        given = ", ".join([*parameters(made.plain, made.written), *more, *outer])
        told = "which hold it" if capacity else "read anew for each pass"
        told = f"// one row by {TEAM} threads, {told}"
        if self._parts:
            told = f"// a block's share of one row, which {self._parts} blocks have"
        return "\n".join(
            [
                told,
                f"template <int {self._lanes}>",
                f"__device__ __forceinline__ void {name}({given}) {{",
                *lines,
                "}",
            ]
        )

    def _vector(self, array: str) -> str:
        return self._made.vectors.type(TYPES[dtype_of(self._made.plain, array)], self._lanes)

    def _load(self, load: Load, start: Expr, writer: Writer) -> str:
        at = f"{load.array} + {writer.text(start, inside=True)}"
        return self._made.vectors.load(TYPES[self._dtypes[load.array]], self._lanes, at)

    def _pass(
        self,
        loads: dict[Load, Expr],
        kept: dict[Load, str],
        loaded: set[Load],
        writer: Writer,
        inner: Callable[[str], list[str]],
        around: tuple[list[str], list[str]] = ([], []),
        whole: Callable[[Callable[[Load], str]], list[str]] | None = None,
    ) -> Iterator[str]:
        """A loop over the thread's vectors; `inner` gives the lines for one lane, `around` those
        before and behind the lanes; `whole`: those for all lanes of a vector in their place."""
        columns = writer.text(self._made.program.columns, inside=True)
        here = {
            load: self._names.fresh(f"{load.array}_lanes") for load in loads if load not in kept
        }
        item = f"for (int {self._item} = 0; {self._item} < {self._items}; ++{self._item}) {{"
        at = f"({self._item} * {TEAM} + {self._thread}) * {self._lanes}"
        place = f"        const {self._index} {self._column} = {at};"
        new = {load: start for load, start in loads.items() if load in kept and load not in loaded}
        if new:
            yield from [
                "#pragma unroll",
                f"    {item}",
                place,
                f"        if ({self._column} < {columns}) {{",
            ]
            for load, start in new.items():
                yield f"            {kept[load]}[{self._item}] = {self._load(load, start, writer)};"
            yield from ["        }", "    }"]
            loaded.update(new)
        tab = "        "
        if kept:
            yield from [
                "#pragma unroll",
                f"    {item}",
                place,
                f"        if ({self._column} < {columns}) {{",
            ]
            tab = "            "
        else:
            first, step = self._stride()
            yield "#pragma unroll 4"
            yield (
                f"    for ({self._index} {self._column} = {first}; "
                f"{self._column} < {columns}; {self._column} += {step}) {{"
            )
        for load, called in here.items():
            value = self._load(load, loads[load], writer)
            yield f"{tab}const {self._vector(load.array)} {called} = {value};"
        texts = {**{load: f"{c}[{self._item}]" for load, c in kept.items()}, **here}
        writer.load = lambda load: f"{texts[load]}.at[{self._lane}]" if load in texts else None
        yield from (f"{tab}{line}" for line in around[0])
        if whole is not None:
            yield from (f"{tab}{line}" for line in whole(texts.__getitem__))
        else:
            yield from each_lane(self._lane, self._lanes, inner, writer, tab)
        yield from (f"{tab}{line}" for line in around[1])
        writer.load = lambda _: None
        yield from ["        }", "    }"] if kept else ["    }"]

    def _stride(self) -> tuple[str, str]:
        """A thread's first column, and how far apart its vectors are."""
        if self._parts:
            first = f"((int)blockIdx.x * {TEAM} + {self._thread}) * {self._lanes}"
            return first, f"{self._parts} * {TEAM} * {self._lanes}"
        return f"{self._thread} * {self._lanes}", f"{TEAM} * {self._lanes}"

    def _reduced(
        self,
        step: list[tuple[Reduction, Expr, Expr]],
        loads: dict[Load, Expr],
        kept: dict[Load, str],
        loaded: set[Load],
        writer: Writer,
    ) -> Iterator[str]:
        body = BodyWriter(writer, self._names, self._index)
        named = [names_of(r, self._names) for r, _, _ in step]
        self.folded |= {r.fold: names for (r, _, _), names in zip(step, named, strict=True)}
        bytewise = self._products.of(step, loads, self._made.program.columns)
        for (reduction, _, _), names in zip(step, named, strict=True):
            yield from body.values([reduction.first, reduction.first_place], "    ")
            begun = [f"int {names[0]} = 0;"] if bytewise else self._begun(reduction, names, writer)
            yield from (f"    {line}" for line in begun)

        def lane(tab: str) -> list[str]:
            lines = list(body.values([t for _, t, _ in step], tab))
            for (reduction, term, place), names in zip(step, named, strict=True):
                lines += [
                    f"{tab}{line}" for line in self._step(reduction, term, place, names, writer)
                ]
            return lines

        whole = partial(self._products.added, named, bytewise) if bytewise else None
        yield from self._pass(loads, kept, loaded, writer, lane, whole=whole)
        for (reduction, _, _), names in zip(step, named, strict=True):
            if reduction.running is not None:
                yield "    " + self.teams.under_maximum(running.scaling(reduction), TEAM, *names)
                yield "    " + running.ended(reduction, names)
                writer.known |= {reduction.fold: names[0], reduction.running.greatest: names[1]}
                continue
            order = names[::-1] if len(names) == 2 else names
            yield "    " + self.teams.joined(reduction.kind, TEAM, *order, later=reduction.later)
            neutral = _NEUTRAL.get(reduction.kind)
            first = reduction.first
            if neutral is not None and not (isinstance(first, Number) and first.value == neutral):
                sign = "+" if reduction.kind == "sum" else "*"
                yield f"    {names[0]} = {_acc(reduction, writer.text(first))} {sign} {names[0]};"
            value = names[0]
            writer.known[reduction.fold] = (
                f"__float2{SHORT[reduction.fold.dtype]}({value})"
                if reduction.fold.dtype in SHORT
                else value
            )

    def _begun(self, reduction: Reduction, names: list[str], writer: Writer) -> list[str]:
        """Declarations of what a thread reduces, with what it starts from."""
        if reduction.running is not None:
            return running.begun(reduction, names, writer.text(reduction.first))
        if len(names) == 2:
            best, place = writer.text(reduction.first), writer.text(reduction.first_place)
            return [
                f"{VALUES[reduction.first.dtype]} {names[1]} = {best};",
                f"{self._index} {names[0]} = {place};",
            ]
        dtype = "f32" if reduction.fold.dtype in SHORT else reduction.fold.dtype
        neutral = _NEUTRAL.get(reduction.kind)
        if neutral is not None:
            first = writer.text(Number(neutral if dtype == "int" else float(neutral), dtype))
        else:
            first = _acc(reduction, writer.text(reduction.first))
        return [f"{VALUES[dtype]} {names[0]} = {first};"]

    def _step(
        self, reduction: Reduction, term: Expr, place: Expr, names: list[str], writer: Writer
    ) -> list[str]:
        """One column's part."""
        value = _acc(reduction, writer.text(term))
        guard = ""
        if reduction.start != ZERO:
            at = f"{self._column} + {self._lane}"
            guard = f"if ({at} >= {writer.text(reduction.start)}) "
        name = names[0]
        match reduction.kind:
            case "running":
                return running.step(reduction, value, names, self._names.fresh("now"))
            case "sum":
                return [f"{guard}{name} += {value};"]
            case "product":
                return [f"{guard}{name} *= {value};"]
            case "max" | "min" as kind:
                dtype = "f32" if term.dtype in SHORT else term.dtype
                if dtype in ("f32", "f64"):
                    suffix = "f" if dtype == "f32" else ""
                    return [f"{guard}{name} = f{kind}{suffix}({name}, {value});"]
                sign = ">" if kind == "max" else "<"
                return [f"{guard}if ({value} {sign} {name}) {name} = {value};"]
            case kind:
                sign = (">" if kind == "argmax" else "<") + ("=" if reduction.later else "")
                test = f"{value} {sign} {names[1]}"
                if reduction.start != ZERO:
                    test = f"{guard[4:-2]} && {test}"
                return [
                    f"if ({test}) {{",
                    f"    {names[1]} = {value};",
                    f"    {name} = {writer.text(place)};",
                    "}",
                ]

    def _elements(self, kept: dict[Load, str], loaded: set[Load], writer: Writer) -> Iterator[str]:
        made = self._made
        stored = {store: self._names.fresh(f"{store.array}_lanes") for store in made.stores}
        body = BodyWriter(
            writer,
            self._names,
            self._index,
            lambda s: f"{stored[s]}.at[{self._lane}]" if s in stored else None,
        )
        before = [f"{self._vector(s.array)} {name};" for s, name in stored.items()]
        behind = list[str]()
        for store, name in stored.items():
            at = f"{store.array} + {writer.text(made.stores[store], inside=True)}"
            behind.append(
                made.vectors.store(TYPES[self._dtypes[store.array]], self._lanes, at, name)
            )
        yield from self._pass(
            made.loads[-1],
            kept,
            loaded,
            writer,
            lambda tab: list(body.lines(made.elements, tab)),
            (before, behind),
        )

    def _ends(self, ends: Body, writer: Writer) -> list[str]:
        return list(BodyWriter(writer, self._names, self._index).lines(ends, "        "))

    def places(self, row: str, writer: Writer) -> list[str]:
        """Lines that name the place of each dimension of a row by its number."""
        lines, rest = list[str](), row
        for at, dim in enumerate(reversed(self._made.program.outer)):
            name = self._outer[dim.name]
            if at == len(self._made.program.outer) - 1:
                lines.append(f"    const {self._index} {name} = {rest};")
                continue
            extent = writer.text(dim.extent, inside=True)
            lines.append(f"    const {self._index} {name} = {rest} % {extent};")
            rest = f"{rest} / {extent}"
        return lines

    @property
    def outer(self) -> list[str]:
        """What the places of the dimensions are called, in order."""
        return [*self._outer.values()]

    def kernel(self, rows: Expr, held: str, streamed: str, capacity: int) -> str:
        """The kernel's body: which row, by which function."""
        made, writer = self._made, Writer({}, {}, wide=self._index != "int")
        row = self._names.fresh("row")
        lines = [
            f"    const {self._index} {row} = ({self._index})blockIdx.x * "
            f"({TEAM} > 32 ? 1 : {WARPS}) + (int)threadIdx.y;",
            "    // a warp or a block leaves as a whole",
            f"    if ({row} >= {writer.text(rows, inside=True)}) return;",
        ]
        lines += self.places(row, writer)
        given = ", ".join([handed(made.plain), *self._outer.values()])
        columns = writer.text(made.program.columns, inside=True)
        fits = f"{columns} <= {capacity}"
        lines += chosen(
            condition(made.split.needs, made.lanes, writer),
            lambda lanes: by_length(held, streamed, fits, f"<{lanes}>({given});"),
            made.lanes,
        )
        return "\n".join(lines)


def _acc(reduction: Reduction, text: str) -> str:
    """Half precision is reduced in single precision."""
    dtype = reduction.fold.carried[0].dtype
    return f"__{SHORT[dtype]}2float({text})" if dtype in SHORT else text
