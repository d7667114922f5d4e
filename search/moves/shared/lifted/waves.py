"""Tiles of an output on a device: what the multiprocessor has to do that gets most of them."""

from __future__ import annotations

from math import ceil, prod

from .....runners.errors import SpecError
from .....runners.specs.devices import device_for
from .....runners.specs.spec import KernelSpec
from .c_expressions import Unwritable
from .computed import Computed
from .contraction import Contraction
from .domains import workload_values

Sizes = tuple[int, ...]
"""of a contraction: how many places it folds, rows, columns, and of every other dimension"""


def workload_sizes(found: Contraction, plain: Computed) -> list[Sizes]:
    """Those of the visible workloads; empty: not known."""
    dims = (found.rows, found.columns, *found.others)
    extents = [found.reduction.columns, *(each.extent for each in dims)]
    known = (workload_values(each, plain) for each in extents)
    return list(zip(*known, strict=False))


def multiprocessors(spec: KernelSpec) -> int:
    """Of the device that a spec names, or of the usual one. Raises Unwritable for an unknown."""
    try:
        return device_for(spec.device_profile, ()).sm_count
    except SpecError as error:
        raise Unwritable(error.message) from error


def busiest_area(sizes: Sizes, tile: tuple[int, int], many: int, parts: int = 1) -> int:
    """Elements of the output that the busiest of so many multiprocessors computes, those beyond
    its end counted; `parts`: blocks that share a tile, which each count as one."""
    _, rows, columns, *others = sizes
    count = ceil(rows / tile[0]) * ceil(columns / tile[1]) * prod(others)
    return ceil(count * parts / many) * tile[0] * tile[1]
