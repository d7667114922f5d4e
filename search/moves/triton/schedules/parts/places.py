"""What is computed place by place, written anew: blocks of neighbouring places, of two dimensions
where there are several, or where what is read lies along another one than what is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ......analysis.lift.expressions import ONE, Expr, Fold, Load, names_in, walk
from ......analysis.lift.statements import Body, Dim, Scatter, Store, expressions_in, statements_in
from ......analysis.lift.sums import coefficient
from ......runners.model import Candidate
from ......runners.specs.expressions import next_pow2
from ....shared.base import Proposals, State
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.domains import workload_values
from ....shared.lifted.flat import all_dims, joined, ordered
from ....shared.lifted.two_places import with_rows
from .candidates import candidate_of
from .grids import Tile
from .kernel_text import KernelText
from .plain import Plain, written_from

ELEMENTS = 1024
"""of a block: eight a thread of four warps"""
SQUARE = 32
"""each way, of a tile that is turned"""
PLACES, TURNED = "vectorize_global_loads", "coalesce_global_accesses"
"""methods of the catalogue"""


@dataclass(frozen=True)
class _Places:
    """Dimensions in the order of what is written, the innermost first, and what is done."""

    dims: tuple[Dim, ...]
    body: Body
    across: Dim | None
    """along which what is read lies side by side, where that is another one than the innermost"""


def places(state: State) -> Proposals:
    """Candidates that move neighbouring elements together, or why there are none."""
    return written_from(state, lambda plain: tuple(_straight(plain)), "block of elements")


def turned(state: State) -> Proposals:
    """Candidates that read along one dimension and write along another one."""
    return written_from(state, lambda plain: tuple(_turned(plain)), "tile that is turned")


def _read(plain: Plain) -> _Places:
    """Raises Unwritable."""
    names = plain.names()
    dims, body = all_dims(plain)
    dims, body = with_rows(dims, joined(body), plain, names)
    stores = [s for s in statements_in(body) if isinstance(s, Store | Scatter)]
    if not stores or any(isinstance(s, Scatter) for s in stores):
        raise Unwritable("it stores nothing, or by atomic updates")
    exprs = [*expressions_in(body)]
    if any(isinstance(part, Fold) for each in exprs for part in walk(each)):
        raise Unwritable("it folds over many elements")
    if not dims:
        raise Unwritable("it has one place alone")
    order, _ = ordered(dims, stores[0].index)
    return _Places(tuple(order), body, _across(order, exprs, stores[0].index))


def _across(dims: Sequence[Dim], exprs: Sequence[Expr], stored: Expr) -> Dim | None:
    """The dimension along which elements are read that do not lie along the innermost one."""
    inner = dims[0]
    if _stride(stored, inner) != ONE:
        return None
    for expr in exprs:
        for load in walk(expr):
            if not isinstance(load, Load) or inner.name not in names_in(load.index):
                continue
            if _stride(load.index, inner) == ONE:
                continue
            for dim in dims[1:]:
                if _stride(load.index, dim) == ONE:
                    return dim
    return None


def _stride(index: Expr, dim: Dim) -> Expr | None:
    found = coefficient(index, dim.name)
    return None if found is None else found[0]


def _straight(plain: Plain) -> Iterator[Candidate]:
    found = _read(plain)
    if found.across is not None:
        raise Unwritable("what it reads lies along another dimension than what it writes")
    inner = found.dims[0]
    usual = max(workload_values(inner.extent, plain), default=ELEMENTS)
    width = min(ELEMENTS, next_pow2(max(16, usual)))
    if len(found.dims) == 1:
        for size, prior in ((ELEMENTS, 0.4), (4 * ELEMENTS, 0.2)):
            yield _candidate(plain, found, None, (1, size), PLACES, prior)
        return
    rows = ELEMENTS // width
    yield _candidate(plain, found, found.dims[1], (rows, width), PLACES, 0.4)
    yield _candidate(plain, found, found.dims[1], (4 * rows, width), PLACES, 0.2)


def _turned(plain: Plain) -> Iterator[Candidate]:
    found = _read(plain)
    if found.across is None:
        raise Unwritable("what it reads and what it writes lie along one dimension")
    for size, prior in ((SQUARE, 0.5), (2 * SQUARE, 0.4)):
        yield _candidate(plain, found, found.across, (size, size), TURNED, prior)


def _candidate(
    plain: Plain,
    found: _Places,
    second: Dim | None,
    sizes: tuple[int, int],
    method: str,
    prior: float,
) -> Candidate:
    text = KernelText(plain, rank=1 if second is None else 2)
    inner = found.dims[0]
    tiles = list[Tile]()
    for dim in reversed(found.dims):
        if dim is inner:
            called = text.names.fresh("at" if second is None else "column")
            block = text.constant("BLOCK" if second is None else "BLOCK_COLUMNS", sizes[1])
            tiles.append(Tile(dim, called, block, 0 if second is None else 1))
        elif dim is second:
            block = text.constant("BLOCK_ROWS", sizes[0])
            tiles.append(Tile(dim, text.names.fresh("row"), block, 0))
        else:
            tiles.append(Tile(dim, text.names.fresh("outer")))
    text.begun(tiles)
    text.lines.statements(found.body)
    told = f"neighbouring places in blocks of {sizes[1]}"
    if second is not None:
        what = "read along one side and written along the other" if method == TURNED else "at once"
        told = f"tiles of {sizes[0]} x {sizes[1]} places, {what}"
    return candidate_of(text, tiles, told, method=method, prior=prior, warps=4)
