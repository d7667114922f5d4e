"""Elements that move from one order of dimensions to another, as in a transpose: in square
tiles, so that lines of both sides are used whole while they are in the first cache."""

from __future__ import annotations

from ......analysis.lift.expressions import ONE, ZERO, Load, walk
from ......analysis.lift.statements import Dim, expressions_in
from ......analysis.lift.sums import coefficient
from .loops_text import Loops
from .nests import Nest, folds_in
from .scope import STEP, TEAM

SIDE = 32


def squares(loops: Loops, nest: Nest, tab: str, team: bool) -> list[str] | None:
    """The nest in tiles over the dimension that is contiguous where it stores and the one that is
    where it loads; None where that is the same one."""
    other = _other(nest)
    if other is None:
        return None
    loops.told["square tiles"] = None
    writer, names = loops.writer, loops.names
    writer.headers.add("<algorithm>")
    size = writer.constant("kSquareTile", SIDE)
    inner = nest.dims[-1]
    lines, at = list[str](), tab
    if team:
        loops.told["a team of threads outside"] = None
        lines.append(f"{tab}{TEAM} collapse({len(nest.dims)})")
    for dim in nest.dims:
        if dim is not other and dim is not inner:
            lines.append(
                f"{at}{loops.opened(dim.name, '0', writer.text(dim.extent), loops.place())} {{"
            )
            at += STEP
    tiles = list[tuple[str, str, str]]()
    for dim in (other, inner):
        i = loops.place()
        writer.loops[dim.name] = i
        tile, extent = names.fresh(f"{i}_tile"), writer.text(dim.extent)
        tiles.append((i, tile, f"std::min<long>({tile} + {size}, {extent})"))
        lines.append(f"{at}for (long {tile} = 0; {tile} < {extent}; {tile} += {size}) {{")
        at += STEP
    ends = [names.fresh(f"{i}_end") for i, _, _ in tiles]
    lines += [
        f"{at}const long {end} = {last};" for end, (_, _, last) in zip(ends, tiles, strict=True)
    ]
    for n, (end, (i, tile, _)) in enumerate(zip(ends, tiles, strict=True)):
        if n == 1 and loops.simd:
            lines.append(f"{at}#pragma omp simd")
        lines.append(f"{at}for (long {i} = {tile}; {i} < {end}; ++{i}) {{")
        at += STEP
    lines += loops.lines(nest.body, at, team=False)
    while at != tab:
        at = at.removesuffix(STEP)
        lines.append(f"{at}}}")
    return lines


def _other(nest: Nest) -> Dim | None:
    """The dimension along which loads are contiguous, where the innermost one makes them jump."""
    exprs = list(expressions_in(nest.body))
    if len(nest.dims) < 2 or nest.store is None or folds_in(exprs):
        return None
    inner = nest.dims[-1]
    for load in (part for expr in exprs for part in walk(expr) if isinstance(part, Load)):
        jump = coefficient(load.index, inner.name)
        if jump is None or jump[0] in (ZERO, ONE):
            continue
        for dim in nest.dims[:-1]:
            moved = coefficient(load.index, dim.name)
            if moved is not None and moved[0] == ONE:
                return dim
    return None
