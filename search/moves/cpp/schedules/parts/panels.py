"""Sums of terms whose elements many places share, as in products of matrices: a tile of sums in
registers, and the elements that its columns share packed into a panel, in the order in which they
are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ......analysis.lift.expressions import Call, Fold, Load, names_in, walk
from ......analysis.lift.statements import Dim, Store
from .c_text import VALUES
from .loops_text import Loops
from .nests import Nest, is_zero, whole_folds
from .reductions import Reduction
from .scope import STEP

ROWS, COLUMNS, BLOCK = 6, 16, 96
"""sums of a tile, of float; rows of places for which a panel is packed"""
CALLS = frozenset("exp exp2 expm1 log log2 log10 log1p sin cos tan tanh pow erf erfc powi".split())


@dataclass(frozen=True)
class Product:
    """One sum over a loop for each place of two dimensions, and loops around them."""

    around: tuple[Dim, ...]
    rows: Dim
    columns: Dim
    sum: Reduction
    store: Store
    panels: tuple[Load, ...]
    """what moves with the columns, and not with the rows"""


def panels(loops: Loops, nest: Nest, tab: str, team: bool) -> list[str] | None:
    """The nest in tiles of two of its dimensions; None where its places share nothing."""
    product = _product(nest)
    if product is None or any(e in loops.writer.known for e in (product.sum.fold,)):
        return None
    loops.told["tiles of sums in registers, what they share packed into panels"] = None
    return list(_written(loops, product, tab, team=team))


def _product(nest: Nest) -> Product | None:
    store, found = nest.store, whole_folds(nest)
    if store is None or not found or len(found) != 1 or len(nest.dims) < 2:
        return None
    one, columns = found[0], nest.dims[-1]
    every = [part for part in walk(store.value) if isinstance(part, Fold)]
    if one.kind != "sum" or one.fold.dtype == "int" or len(one.loops) != 1 or len(set(every)) != 1:
        return None
    if any(isinstance(part, Call) and part.op in CALLS for part in walk(one.term)):
        return None
    if any(isinstance(part, Load) and part.array == store.array for part in walk(one.term)):
        return None
    loads = list(dict.fromkeys(part for part in walk(one.term) if isinstance(part, Load)))
    index = one.loops[0][0]
    for rows in reversed(nest.dims[:-1]):
        along = [load for load in loads if rows.name in names_in(load.index)]
        shared = [load for load in loads if columns.name in names_in(load.index)]
        plain = not (names_in(one.term) - {n for load in loads for n in names_in(load.index)}) & {
            rows.name,
            columns.name,
        }
        if along and shared and plain and not set(along) & set(shared):
            if all(index in names_in(load.index) for load in (*along, *shared)):
                around = tuple(each for each in nest.dims[:-1] if each is not rows)
                return Product(around, rows, columns, one, store, tuple(shared))
    return None


@dataclass(frozen=True)
class _Text:
    """What things are called in the text of a product."""

    rows: str
    columns: str
    """constants: sums of a tile in both directions"""
    height: str
    width: str
    """extents"""
    i: str
    j: str
    k: str
    i_tile: str
    j_tile: str
    i_end: str
    j_end: str
    panels: Mapping[Load, str]


def _written(loops: Loops, product: Product, tab: str, *, team: bool) -> Iterator[str]:
    writer, names = loops.writer, loops.names
    writer.headers |= {"<algorithm>", "<type_traits>", "<vector>"}
    is_double = product.sum.fold.dtype == "f64"
    rows = writer.constant("kTileRows", ROWS)
    columns = writer.constant("kTileColumns", COLUMNS // 2 if is_double else COLUMNS)
    block = writer.constant("kBlockRows", BLOCK)
    terms = writer.text(product.sum.loops[0][1], inside=True)
    held = {load: names.fresh(f"{load.array}_panel") for load in product.panels}
    at = tab
    if team:
        loops.told["a team of threads outside"] = None
        yield f"{tab}#pragma omp parallel"
        yield f"{tab}{{"
        at += STEP
    for load, name in held.items():
        yield f"{at}std::vector<{VALUES[load.dtype]}> {name}({terms} * {columns});"
    if team:
        yield f"{at}#pragma omp for schedule(dynamic) collapse({len(product.around) + 2})"
    for dim in product.around:
        yield f"{at}{loops.opened(dim.name, '0', writer.text(dim.extent), loops.place())} {{"
        at += STEP
    i, j, k = loops.place(), loops.place(), names.fresh("k")
    index = product.sum.loops[0][0]
    writer.loops |= {index: k, product.rows.name: i, product.columns.name: j}
    height, width = writer.text(product.rows.extent), writer.text(product.columns.extent)
    tiles = (names.fresh(f"{i}_tile"), names.fresh(f"{j}_tile"))
    ends = (names.fresh(f"{i}_end"), names.fresh(f"{j}_end"))
    text = _Text(rows, columns, height, width, i, j, k, *tiles, *ends, held)
    i_block = names.fresh(f"{i}_block")
    first = text.j_tile
    yield f"{at}for (long {first} = 0; {first} < {width}; {first} += {columns}) {{"
    at += STEP
    yield f"{at}for (long {i_block} = 0; {i_block} < {height}; {i_block} += {block}) {{"
    at += STEP
    yield f"{at}const long {text.i_end} = std::min<long>({i_block} + {block}, {height});"
    yield f"{at}const long {text.j_end} = std::min<long>({text.j_tile} + {columns}, {width});"
    yield from _packed(loops, product, text, at)
    yield from _tiles(loops, product, text, i_block, at)
    while at != tab:
        at = at.removesuffix(STEP)
        yield f"{at}}}"


def _packed(loops: Loops, product: Product, text: _Text, at: str) -> Iterator[str]:
    """The panels of the columns of a tile; beyond the last one stays what was there, and is not
    stored."""
    j, k, first = text.j, text.k, text.j_tile
    count = loops.writer.text(product.sum.loops[0][1])
    yield f"{at}for (long {k} = 0; {k} < {count}; ++{k}) {{"
    yield f"{at}{STEP}for (long {j} = {first}; {j} < {text.j_end}; ++{j}) {{"
    for load, name in text.panels.items():
        place = f"{name}[{k} * {text.columns} + {j} - {first}]"
        yield f"{at}{STEP * 2}{place} = {loops.writer.text(load)};"
    yield f"{at}{STEP}}}"
    yield f"{at}}}"


def _tiles(loops: Loops, product: Product, text: _Text, i_block: str, at: str) -> Iterator[str]:
    """A tile as a function of its height, which is a constant for all but the last one of a block,
    and the loop over tiles."""
    writer, names, k = loops.writer, loops.names, text.k
    tile, height, r, c = (names.fresh(n) for n in ("tile", "height", "r", "c"))
    sums, inner = names.fresh("totals"), at + STEP
    place = f"{sums}[{r}][{text.j} - {text.j_tile}]"

    def begun(tab: str) -> Iterator[str]:
        yield from loops.values([product.sum.first], tab)
        yield f"{tab}{place} = {writer.text(product.sum.first)};"

    def stored(tab: str) -> Iterator[str]:
        writer.known[product.sum.fold] = place
        yield from loops.lines((product.store,), tab, team=False)

    count = writer.text(product.sum.loops[0][1])
    yield f"{at}const auto {tile} = [&](long {text.i_tile}, auto {height}) {{"
    kind = VALUES[product.sum.fold.dtype]
    yield f"{inner}{kind} {sums}[{text.rows}][{text.columns}] = {{}};"
    if not is_zero(product.sum.first):  # terms are added to it in the order of the source
        yield from _each_place(loops, text, (height, r), inner, begun)
    yield f"{inner}for (long {k} = 0; {k} < {count}; ++{k}) {{"
    yield "#pragma GCC unroll 16"
    yield f"{inner}{STEP}for (long {r} = 0; {r} < {height}; ++{r}) {{"
    yield f"{inner}{STEP * 2}const long {text.i} = {text.i_tile} + {r};"
    if loops.simd:
        yield f"{inner}{STEP * 2}#pragma omp simd"
    yield f"{inner}{STEP * 2}for (long {c} = 0; {c} < {text.columns}; ++{c}) {{"
    known = dict(writer.known)
    writer.known |= {
        load: f"{name}[{k} * {text.columns} + {c}]" for load, name in text.panels.items()
    }
    yield from loops.values([product.sum.term], inner + STEP * 3)
    yield f"{inner}{STEP * 3}{sums}[{r}][{c}] += {writer.text(product.sum.term)};"
    writer.known = known
    yield f"{inner}{STEP * 2}}}"
    yield f"{inner}{STEP}}}"
    yield f"{inner}}}"
    yield from _each_place(loops, text, (height, r), inner, stored)
    yield f"{at}}};"
    first, last = text.i_tile, text.i_end
    yield f"{at}long {first} = {i_block};"
    yield f"{at}for (; {first} + {text.rows} <= {last}; {first} += {text.rows}) {{"
    yield f"{at}{STEP}{tile}({first}, std::integral_constant<long, {text.rows}>{{}});"
    yield f"{at}}}"
    yield f"{at}if ({first} < {last}) {tile}({first}, {last} - {first});"


def _each_place(
    loops: Loops,
    text: _Text,
    names: tuple[str, str],
    tab: str,
    body: Callable[[str], Iterator[str]],
) -> Iterator[str]:
    """Loops over the places of a tile that exist."""
    (height, r), j = names, text.j
    yield f"{tab}for (long {r} = 0; {r} < {height}; ++{r}) {{"
    yield f"{tab}{STEP}const long {text.i} = {text.i_tile} + {r};"
    yield f"{tab}{STEP}for (long {j} = {text.j_tile}; {j} < {text.j_end}; ++{j}) {{"
    known = dict(loops.writer.known)
    yield from body(tab + STEP * 2)
    loops.writer.known = known
    yield f"{tab}{STEP}}}"
    yield f"{tab}}}"
