"""Folds of neighbouring places: a tile of them goes down its columns together, so that the
innermost loop walks along memory and each element is read once."""

from __future__ import annotations

from collections.abc import Iterator

from ......analysis.lift.expressions import ONE, ZERO, Fold, Number, names_in, walk
from ......analysis.lift.statements import Store
from .c_text import VALUES
from .folds_text import combined
from .loops_text import Loops
from .nests import Nest, free_names, whole_folds
from .reductions import Reduction, strides
from .scope import STEP, TEAM

WIDTH = 256
"""places of a tile: their sums stay in the first cache, and each row gives whole lines"""
JAMMED = 4
"""rows that are added at once: a sum is loaded and stored once for all of them"""


def columns(loops: Loops, nest: Nest, tab: str, team: bool) -> list[str] | None:
    """The nest in tiles of its innermost dimension; None where neighbours do not lie side by side
    in what is folded."""
    found = _reductions(nest)
    if not found:
        return None
    loops.told["neighbouring places fold down their columns together"] = None
    return list(_written(loops, nest, found, tab, team=team))


def _reductions(nest: Nest) -> list[Reduction]:
    if not all(isinstance(each, Store) for each in nest.body):
        return []
    found = whole_folds(nest) or []
    inner = nest.dims[-1].name
    whole = {each.fold for each in found}
    for each in found:
        moved = strides(each.term, inner)
        if ONE not in moved or any(stride not in (ZERO, ONE) for stride in moved):
            return []
        index = each.loops[-1][0]
        along = strides(each.term, index)
        if all(s in (ZERO, ONE) for s in along) and moved.count(ONE) <= along.count(ONE) // 2:
            return []
        for part in walk(each.term):
            if isinstance(part, Fold) and part not in whole and _is_inside(part, each, inner):
                return []
    return found


def _is_inside(fold: Fold, reduction: Reduction, inner: str) -> bool:
    """Whether it is another one in each iteration, or at each place."""
    return bool(free_names(fold) & {inner, *(name for name, _ in reduction.loops)})


def _written(
    loops: Loops, nest: Nest, found: list[Reduction], tab: str, *, team: bool
) -> Iterator[str]:
    *outer, inner = nest.dims
    writer, names = loops.writer, loops.names
    writer.headers.add("<algorithm>")
    size = writer.constant("kTile", WIDTH)
    yield from loops.ready(nest.body, nest.names, tab, team=team)
    at = tab
    if team:
        loops.told["a team of threads outside"] = None
        between = _between(nest)
        yield f"{tab}{TEAM}" + (f" collapse({len(nest.dims)})" if outer and not between else "")
    for depth, dim in enumerate(outer):
        yield f"{at}{loops.opened(dim.name, '0', writer.text(dim.extent), loops.place())} {{"
        at += STEP
        later = [each.name for each in nest.dims[depth + 1 :]]
        yield from loops.ready(nest.body, later, at, team=False)
    j = loops.place()
    writer.loops[inner.name] = j
    tile, end = names.fresh(f"{j}_tile"), names.fresh(f"{j}_end")
    extent = writer.text(inner.extent)
    yield f"{at}for (long {tile} = 0; {tile} < {extent}; {tile} += {size}) {{"
    at += STEP
    yield f"{at}const long {end} = std::min<long>({tile} + {size}, {extent});"
    head = f"for (long {j} = {tile}; {j} < {end}; ++{j})"
    for each in found:
        name = names.fresh("totals" if each.kind == "sum" else "values")
        place = f"{name}[{j} - {tile}]"
        yield f"{at}{VALUES[each.fold.dtype]} {name}[{size}];"
        yield from _head(loops, head, at)
        known = dict(writer.known)
        yield from loops.values([each.first], at + STEP)
        yield f"{at}{STEP}{place} = {writer.text(each.first)};"
        writer.known = known
        yield f"{at}}}"
        yield from _folded(loops, each, place, head, at)
        writer.known[each.fold] = place
    yield from _head(loops, head, at)
    yield from loops.lines(nest.body, at + STEP, team=False)
    yield f"{at}}}"
    for depth in reversed(range(len(nest.dims))):
        yield f"{tab}{STEP * depth}}}"


def _between(nest: Nest) -> bool:
    """Whether something is computed between the loops."""
    inner = nest.dims[-1].name
    for each in nest.body:
        assert isinstance(each, Store)
        for part in walk(each.value):
            if isinstance(part, Fold) and inner not in names_in(part):
                return True
    return False


def _head(loops: Loops, head: str, at: str) -> Iterator[str]:
    if loops.simd:
        yield f"{at}#pragma omp simd"
    yield f"{at}{head} {{"


def _folded(loops: Loops, each: Reduction, place: str, head: str, tab: str) -> Iterator[str]:
    """The loops over the terms, several of the innermost one at once, and the rest."""
    writer, at = loops.writer, tab
    for index, count in each.loops[:-1]:
        yield f"{at}{loops.opened(index, '0', writer.text(count))} {{"
        at += STEP
    index, count = each.loops[-1]
    last = writer.text(count)
    if isinstance(count, Number) and count.value < 2 * JAMMED:
        yield f"{at}{loops.opened(index, '0', last)} {{"
        yield from _added(loops, each, place, head, (writer.loops[index],), at + STEP)
        yield f"{at}}}"
    else:
        k = loops.names.fresh("k")
        writer.loops[index] = k
        yield f"{at}long {k} = 0;"
        yield f"{at}for (; {k} + {JAMMED - 1} < {last}; {k} += {JAMMED}) {{"
        rows = tuple(f"({k} + {n})" if n else k for n in range(JAMMED))
        yield from _added(loops, each, place, head, rows, at + STEP)
        writer.loops[index] = k
        yield f"{at}}}"
        yield f"{at}for (; {k} < {last}; ++{k}) {{"
        yield from _added(loops, each, place, head, (k,), at + STEP)
        yield f"{at}}}"
    for depth in reversed(range(len(each.loops) - 1)):
        yield f"{tab}{STEP * depth}}}"


def _added(
    loops: Loops, each: Reduction, place: str, head: str, rows: tuple[str, ...], at: str
) -> Iterator[str]:
    """A loop over the places of a tile that combines each with the terms of some rows, in their
    order."""
    yield from _head(loops, head, at)
    mark, known = loops.names.mark(), dict(loops.writer.known)
    one = place
    if len(rows) > 1:
        one = loops.names.fresh("total" if each.kind == "sum" else "value")
        yield f"{at}{STEP}{VALUES[each.fold.dtype]} {one} = {place};"
    for row in rows:
        loops.writer.loops[each.loops[-1][0]] = row
        yield from loops.values([each.term], at + STEP)
        yield from combined(loops, each, one, each.term, at + STEP)
        loops.writer.known = dict(known)
    if one != place:
        yield f"{at}{STEP}{place} = {one};"
    loops.names.back_to(mark)
    yield f"{at}}}"
