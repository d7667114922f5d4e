"""What is computed place by place, written anew: neighbouring places as vectors, several a thread.

The places of all parallel dimensions become one index `e`, ordered as the output lies in memory,
whatever the source's threads were ordered like. A thread does ITEMS vectors of neighbouring
elements: all their loads first, then the arithmetic. Quotients and rests of `e` that the places of
other dimensions are made of are taken once a vector, where rows are whole vectors; where a size is
none, and at the end, elements go one by one through the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ......analysis.lift.expressions import ONE, Expr, Fold, Load, names_in, walk
from ......analysis.lift.statements import (
    Body,
    Each,
    Let,
    Scatter,
    Statement,
    Store,
    When,
    changed,
    expressions_in,
    statements_in,
)
from ......analysis.lift.sums import coefficient
from ......runners.dtypes import DTYPES
from ......runners.model import Candidate
from ....shared.base import Proposals, State
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.domains import fits_int
from ....shared.lifted.flat import Flat, flattened
from .body_text import BodyWriter, loads_in
from .c_text import TYPES, Writer
from .helpers import Vectors
from .lanes import LANE, Lanes
from .names import names_for
from .plain import Plain, written_from
from .writing import condition, handed, parameters, plan_text, plan_with, source_with, written

METHOD = "vectorize_global_loads"
"""of the catalogue, that the schedule is a candidate of"""
THREADS, ITEMS = "THREADS", "ITEMS_A_THREAD"
KNOBS = {ITEMS: (1, 2, 4, 8), THREADS: (128, 256, 512)}
FAMILY = ((16, 2, 0.4), (8, 2, 0.15))
"""bytes of the widest vector, vectors a thread to begin with, prior"""
LOOPED = 0.12
"""prior where an element is a loop: neighbouring places of the output for neighbouring threads"""


class RaggedRows(Unwritable):
    """Rows of which no size makes whole vectors, as those of inner points."""


def places(state: State) -> Proposals:
    """Candidates of the schedule, or why there are none."""
    return written_from(state, _of, "element")


def _of(plain: Plain) -> Proposals:
    exprs = list(expressions_in(plain.lifted.body))
    folds = [each for expr in exprs for each in walk(expr) if isinstance(each, Fold)]
    if folds:
        _of_its_own(plain, folds)
        return (_candidate(plain, 1, 1, LOOPED),)
    found = dict[int, Candidate]()
    for nbytes, items, prior in FAMILY:
        lanes = nbytes // max(DTYPES[each.dtype].itemsize for each in plain.arrays.values())
        if lanes in found or not lanes:
            continue
        try:
            found[lanes] = _candidate(plain, lanes, items, prior)
        except RaggedRows:  # each thread has a place, and neighbours read neighbours all the same
            found.setdefault(1, _candidate(plain, 1, 1, prior))
    return tuple(found.values())


def _of_its_own(plain: Plain, folds: list[Fold]) -> None:
    """Raises Unwritable where places share what they fold, or no neighbours read neighbours."""
    dims = {d.name for d in plain.lifted.dims}
    if any(isinstance(each, Each) for each in plain.lifted.body):
        raise Unwritable("what is folded is shared by the places of a row")
    if any(not dims <= names_in(each) for each in folds if not _inner(each, folds)):
        raise Unwritable("what is folded is shared by several places")
    strides = [
        coefficient(load.index, dim)
        for fold in folds
        for load in walk(fold)
        if isinstance(load, Load)
        for dim in dims
    ]
    if not any(stride is not None and stride[0] == ONE for stride in strides):
        raise Unwritable("no neighbouring places read neighbouring elements")


def _inner(fold: Fold, folds: list[Fold]) -> bool:
    """Whether a fold stands within another one."""
    return any(each is not fold and fold in set(walk(each)) for each in folds)


@dataclass
class Places:
    """Neighbouring places as lanes: what is loaded and stored as vectors."""

    plain: Plain
    lanes: int
    own: tuple[str, ...] = (THREADS, ITEMS)
    """macros that the schedule brings"""
    updates: bool = False
    """whether there may be nothing but atomic updates"""

    def __post_init__(self) -> None:
        plain = self.plain
        self.names = names_for(plain, self.own)
        self.flat: Flat = flattened(plain, self.names, self.lanes, updates=self.updates)
        rows = {c.row: None for c in self.flat.coordinates}
        moving = {self.flat.index, *(c.name for c in self.flat.coordinates if c.moving)}
        self.split = Lanes(plain, self.lanes, frozenset(moving))
        for row in rows:
            needs = self.split.whole(row)
            if needs is None:
                raise RaggedRows("its rows are never whole vectors")
            self.split.needs |= dict.fromkeys(needs)
        self.body = changed(self.flat.body, self.split.split)
        self.written = written(plain)
        self.wide = not fits_int(plain, self.flat.count)
        self.vectors = Vectors.named(self.names)
        self._find_vectors()

    def _find_vectors(self) -> None:
        """Loads and stores of all lanes as one: those that always happen, of arrays that are not
        written before they are read."""
        again = set(_read_anew(self.body, frozenset()))
        self.loads = dict[Load, Expr]()
        for each in self.body:
            for load in loads_in(_at_once(each)):
                start = self.split.vector(load.array, load.index)
                if start is not None and load not in again:
                    self.loads[load] = start
        counts = [s.array for s in statements_in(self.body) if isinstance(s, Store)]
        self.stores = dict[Store, Expr]()
        for at, each in enumerate(self.body):
            if not isinstance(each, Store) or counts.count(each.array) != 1:
                continue
            later = {
                load.array
                for expr in expressions_in(self.body[at + 1 :])
                for load in walk(expr)
                if isinstance(load, Load)
            }
            start = None if each.array in later else self.split.vector(each.array, each.index)
            if start is not None:
                self.stores[each] = start


def _at_once(each: Statement) -> list[Expr]:
    """What a statement reads at every place, whatever holds there."""
    match each:
        case Let(_, value):
            return [value]
        case Store(_, index, value) | Scatter(_, _, index, value):
            return [index, value]
        case When(condition):
            return [condition]
        case _:
            return []


def _read_anew(body: Body, stored: frozenset[str]) -> Iterator[Load]:
    """Elements that are read when something may have been stored in their array: in a statement
    before, or in another turn of a loop around."""
    for each in body:
        mine = {s.array for s in statements_in((each,)) if isinstance(s, Store | Scatter)}
        if isinstance(each, When):
            exprs, inner = [each.condition], (each.yes, each.no)
            yield from (load for part in inner for load in _read_anew(part, stored))
        elif isinstance(each, Each):
            exprs = list(expressions_in((each,)))
            stored = stored | mine
        else:
            exprs = list(expressions_in((each,)))
        for expr in exprs:
            for load in walk(expr):
                if isinstance(load, Load) and load.array in stored:
                    yield load
        stored = stored | mine


def _candidate(plain: Plain, lanes: int, items: int, prior: float) -> Candidate:
    made = Places(plain, lanes)
    if lanes > 1 and not made.stores and not made.loads:
        raise Unwritable("no array is read or written at neighbouring elements")
    told = (
        f"neighbouring places of the output, {lanes} elements at a time"
        if lanes > 1
        else "neighbouring places of the output"
    )
    function = made.names.fresh(f"{plain.function.name}_places")
    index = "long long" if made.wide else "int"
    prelude = f"{made.vectors.text}\n\n{function_of(made, function, index)}"
    declared = parameters(plain, made.written)
    count = plan_text(made.flat.count, plain)
    return Candidate(
        method=METHOD,
        detail=f"written from what it computes: {told}",
        source=source_with(plain, told, prelude, declared, _kernel(made, function, index)),
        plan=plan_with(
            plain,
            [f"cdiv({count}, {lanes} * {ITEMS} * {THREADS})"],
            [THREADS],
            defines={ITEMS: items, THREADS: 256},
        ),
        knobs={n: v for n, v in KNOBS.items() if lanes > 1 or n == THREADS},
        prior=prior,
    )


def function_of(
    made: Places,
    function: str,
    index: str,
    more: Sequence[str] = (),
    target: Callable[[Scatter, str], str | None] = lambda _, __: None,
) -> str:
    """Places of one thread, as many neighbouring ones as there are lanes, several times. `more`:
    further parameters; `target`: what an atomic update of the element at an index goes to, None:
    memory."""
    names, vectors, e = made.names, made.vectors, made.flat.index
    lanes, times, item, lane = (names.fresh(n) for n in ("LANES", "TIMES", "item", "lane"))
    first, step = names.fresh("first"), names.fresh("step")
    dtypes = made.plain.dtypes
    writer = Writer({LANE: lane}, dtypes, wide=made.wide)
    loaded = {load: names.fresh(f"{load.array}_lanes") for load in made.loads}
    stored = {store: names.fresh(f"{store.array}_lanes") for store in made.stores}
    unrolled = f"#pragma unroll\n    for (int {item} = 0; {item} < {times}; ++{item}) {{"
    place = [f"        const {index} {e} = {first} + {item} * {step};"]
    for each in made.flat.coordinates:
        place.append(f"        const {index} {each.name} = {writer.text(each.value)};")
    lines = [
        f"    {vectors.type(TYPES[dtypes[load.array]], lanes)} {name}[{times}];"
        for load, name in loaded.items()
    ]
    if loaded:
        head = [unrolled, *_used(place, made.loads.values(), made, e)]
        lines += [*head, *_loads(made, writer, loaded, lanes, item), "    }"]
    writer.load = lambda load: f"{loaded[load]}[{item}].at[{lane}]" if load in loaded else None
    body = BodyWriter(
        writer, names, index, lambda s: f"{stored[s]}.at[{lane}]" if s in stored else None, target
    )
    inner = list(body.lines(made.body, "            "))
    lines += [unrolled, *place]
    for store, name in stored.items():
        lines.append(f"        {vectors.type(TYPES[dtypes[store.array]], lanes)} {name};")
    lines += [
        "#pragma unroll",
        f"        for (int {lane} = 0; {lane} < {lanes}; ++{lane}) {{",
        *inner,
        "        }",
    ]
    for store, name in stored.items():
        at = f"{store.array} + {writer.text(made.stores[store], inside=True)}"
        lines.append(f"        {vectors.store(TYPES[dtypes[store.array]], lanes, at, name)}")
    lines.append("    }")
    given = ", ".join(
        [*parameters(made.plain, made.written), *more, f"{index} {first}", f"{index} {step}"]
    )
    return "\n".join(
        [
            f"// {times} times {lanes} neighbouring places from `{first}` on, `{step}` apart: loads"
            " first",
            f"template <int {lanes}, int {times}>",
            f"__device__ __forceinline__ void {function}({given}) {{",
            *lines,
            "}",
        ]
    )


def _loads(
    made: Places, writer: Writer, loaded: Mapping[Load, str], lanes: str, item: str
) -> list[str]:
    """All that one turn loads, as vectors."""
    lines = list[str]()
    for load, name in loaded.items():
        at = f"{load.array} + {writer.text(made.loads[load], inside=True)}"
        value = made.vectors.load(TYPES[made.plain.dtypes[load.array]], lanes, at)
        lines.append(f"        {name}[{item}] = {value};")
    return lines


def _used(place: list[str], exprs: object, made: Places, e: str) -> list[str]:
    """The coordinates that these need, and the flat index."""
    used = {name for expr in made.loads.values() for name in names_in(expr)}
    named = [c.name for c in made.flat.coordinates]
    return [place[0], *(p for n, p in zip(named, place[1:], strict=True) if n in used)]


def _kernel(made: Places, function: str, index: str) -> str:
    """Whole blocks by vectors; the last one, and sizes that are no whole vectors, one by one."""
    names, plain = made.names, made.plain
    count, first, n, e = (names.fresh(n) for n in ("count", "block_first", "n", "place"))
    writer = Writer({}, {}, wide=made.wide)
    cast = "(long long)" if made.wide else "(int)"
    block = f"{made.lanes} * {ITEMS} * {THREADS}"
    whole = condition(made.split.needs, made.lanes, writer)
    mine = f"{first} + (int)threadIdx.x * {made.lanes}"
    test = " && ".join([*whole, f"{first} + {block} <= {count}"])
    return f"""\
    const {index} {count} = {writer.text(made.flat.count)};
    const {index} {first} = {cast}blockIdx.x * ({block});
    if ({test}) {{
        {function}<{made.lanes}, {ITEMS}>({handed(plain)}, {mine}, {THREADS} * {made.lanes});
    }} else {{
        for (int {n} = 0; {n} < {made.lanes} * {ITEMS}; ++{n}) {{
            const {index} {e} = {first} + {n} * {THREADS} + (int)threadIdx.x;
            if ({e} < {count}) {function}<1, 1>({handed(plain)}, {e}, 0);
        }}
    }}"""
