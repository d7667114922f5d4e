"""Candidates of running sums along rows: `tl.cumsum` over the whole row, or over wide blocks with
what came before them carried along."""

from __future__ import annotations

from collections.abc import Iterator

from ......analysis.lift.expressions import Expr, Fold, Load
from ......runners.model import Candidate
from ......runners.specs.expressions import next_pow2
from ....shared.base import Proposals, State
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.domains import workload_values
from ....shared.lifted.prefixes import PrefixRows, prefix_rows
from .candidates import candidate_of
from .grids import Tile
from .kernel_text import KernelText
from .plain import Plain, written_from
from .rows import A_THREAD, LOOPED, MOST_WARPS, WARP, is_held
from .tile_text import Index

METHOD = "coalesce_global_accesses"
"""of the catalogue"""
WIDE = 4096


def scans(state: State) -> Proposals:
    """Candidates of the schedule, or why there are none."""
    return written_from(state, lambda plain: tuple(_candidates(plain)), "running sum")


def _candidates(plain: Plain) -> Iterator[Candidate]:
    found = prefix_rows(plain)
    if any(fold.dtype != "f32" for fold in found.terms):
        raise Unwritable("a running sum of another type than float32")
    usual = max(workload_values(found.columns, plain), default=LOOPED)
    if is_held(plain, found.columns):
        warps = max(1, min(MOST_WARPS, next_pow2(usual) // (WARP * A_THREAD)))
        yield _candidate(plain, found, 0, warps, 0.55)
    if usual > LOOPED or not is_held(plain, found.columns):
        yield _candidate(plain, found, LOOPED, 4, 0.4)
        yield _candidate(plain, found, WIDE, 8, 0.3)


def _candidate(plain: Plain, found: PrefixRows, block: int, warps: int, prior: float) -> Candidate:
    """`block`: columns at a time; 0: all of them."""
    text = KernelText(plain, rank=1)
    last = len(found.outer) - 1
    tiles = [
        Tile(d, text.names.fresh("row" if at == last else "outer"))
        for at, d in enumerate(found.outer)
    ]
    text.begun(tiles)
    if block:
        told = f"running sums of a row in blocks of {block}"
        _looped(text, found, text.constant("BLOCK", block))
    else:
        told = "running sums of a row in one block"
        _at_once(text, found)
    return candidate_of(text, tiles, told, method=METHOD, prior=prior, warps=warps)


def _at_once(text: KernelText, found: PrefixRows) -> None:
    _columns(text, found, f"tl.arange(0, {text.held(found.columns)})")
    for fold, term in found.terms.items():
        called = text.names.fresh("so_far")
        text.lines.add(f"{called} = tl.cumsum({_added(text, found, term)}, axis=0)")
        text.writer.known[fold] = called
    text.lines.statements(found.body)


def _looped(text: KernelText, found: PrefixRows, block: str) -> None:
    before = dict[Fold, str]()
    for fold in found.terms:
        before[fold] = text.names.fresh("before")
        text.lines.add(f"{before[fold]} = 0.0")
    start, known = text.names.fresh("start"), dict(text.writer.known)
    text.lines.inside(f"for {start} in range(0, {text.size(found.columns)}, {block}):")
    _columns(text, found, f"{start} + tl.arange(0, {block})")
    for fold, term in found.terms.items():
        here, called = text.names.fresh("here"), text.names.fresh("so_far")
        text.lines.add(
            f"{here} = {_added(text, found, term)}",
            f"{called} = {before[fold]} + tl.cumsum({here}, axis=0)",
            f"{before[fold]} += tl.sum({here}, axis=0)",
        )
        text.writer.known[fold] = called
    text.lines.statements(found.body)
    text.lines.ended(known)


def _columns(text: KernelText, found: PrefixRows, places: str) -> None:
    column = text.names.fresh("column")
    text.lines.add(f"{column} = {places}")
    inside = f"{column} < {text.size(found.columns, least=2)}"
    text.writer.indices[found.column] = Index(column, inside, 0)


def _added(text: KernelText, found: PrefixRows, term: Expr) -> str:
    """What each column adds, nothing beyond the row."""
    if isinstance(term, Load):
        text.lines.values([term], {term: "0.0"})
        return text.writer.text(term)
    text.lines.values([term])
    return f"tl.where({text.writer.indices[found.column].inside}, {text.writer.text(term)}, 0.0)"
