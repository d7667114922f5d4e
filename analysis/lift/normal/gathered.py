"""Atomic updates of one element by all places of a dimension, as one update by their fold.

`for all j < n: y[0] add= x[j]` is `y[0] add= sum(j < n: x[j])`, and with it whatever joins what
warps and blocks found by atomic operations: which thread adds what is the schedule's business. Sums
of floats are taken to be associative, as by `fold_laws.py`; atomic ones come in any order anyway.
"""

from __future__ import annotations

from dataclasses import replace

from ..expressions import names_in
from ..fold_laws import merged, plain_fold
from ..folding import neutral
from ..rewriting import numbered
from ..statements import Lifted, Scatter

KINDS = {"add": "sum", "max": "max", "min": "min"}


def gathered(lifted: Lifted) -> Lifted:
    """The kernel with a fold over each dimension on which its one update does not hang. Counts are
    over sizes: what a launch has in them keeps neighbouring folds apart."""
    if len(lifted.body) != 1 or not isinstance(update := lifted.body[0], Scatter):
        return lifted
    kind, dims, value = KINDS.get(update.op), list(lifted.dims), update.value
    nothing = None if kind is None else neutral(kind, value.dtype)
    if kind is None or nothing is None:
        return lifted
    for dim in reversed(lifted.dims):
        if dim.name not in names_in(update.index):
            dims.remove(dim)
            whole = plain_fold(kind, dim.name, dim.extent, nothing, f"all_{dim.name}", value)
            value = merged(whole)
    return numbered(replace(lifted, dims=tuple(dims), body=(replace(update, value=value),)))
