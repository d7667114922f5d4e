"""Programs that take one tile after the other, as so many programs as there are tiles.

`for tile in range(pid, tiles, PROGRAMS)` takes every tile once where a launch has PROGRAMS programs
or, where those are fewer, as many as there are tiles: tried at launches that really occur.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..expressions import Call, Expr, Name, Number, call, names_in
from ..fold_laws import end_of_strided
from ..interpreting import value_of
from ..rewriting import substitute
from ..statements import Body, Each, When, changed, expressions_in
from ..sums import difference, product
from .programs import PROGRAM, PROGRAMS

Launch = Mapping[str, int]


def a_tile_each(
    body: Body, launches: Sequence[Launch]
) -> tuple[Body, Expr, Sequence[Launch]] | None:
    """What is done of one tile, how many tiles there are, and the launches with a program for each;
    None where programs do not go through tiles like that."""
    loop = body[0] if len(body) == 1 else None
    if not isinstance(loop, Each) or loop.carried:
        return None
    for stride in _strides(loop.count):
        end = end_of_strided(loop.count, Name(PROGRAM), stride)
        if end is None or names_in(end) & {PROGRAM, PROGRAMS}:
            continue
        here = difference(Name(PROGRAM), product(stride, Name(loop.index)))
        inner = changed(loop.body, lambda e, at=here: substitute(e, {PROGRAM: at}))
        used = {n for e in expressions_in(inner) for n in names_in(e)}
        tiles = [_tiles(end, stride, each) for each in launches]
        if loop.index in used or PROGRAMS in used or None in tiles:
            continue
        made = [{**each, PROGRAMS: n or 0} for each, n in zip(launches, tiles, strict=True)]
        return inner, end, made
    return None


def under_the_end(body: Body, end: Expr) -> Body:
    """What is done of a tile, of those that there are."""
    return (When(call("lt", Name(PROGRAM), end, dtype="bool"), body, ()),)


def _strides(count: Expr) -> list[Expr]:
    """What a loop's counter may be stepped by, as its number of turns says."""
    if not isinstance(count, Call) or count.op != "div":
        return []
    by = count.args[1]
    return [by] if isinstance(by, Number) or by == Name(PROGRAMS) else []


def _tiles(end: Expr, stride: Expr, launch: Launch) -> int | None:
    """How many tiles a launch has; None where its programs do not take all of them."""
    sizes = {n: np.asarray(v) for n, v in launch.items()}
    tiles, step = int(value_of(end, sizes)), int(value_of(stride, sizes))
    taken = launch.get(PROGRAMS) == min(step, tiles) or stride == Name(PROGRAMS)
    return tiles if tiles > 0 and taken else None
