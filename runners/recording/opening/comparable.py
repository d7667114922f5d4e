"""Which kept launches of a kernel one spec can hold as its workloads: those that differ in integers
alone, and in what follows from them. And what a parameter's bytes are as a number."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...device.cuda_driver.launches import CLUSTER, COOPERATIVE
from ...dtypes import is_float, numpy_dtype
from ...errors import SpecError
from ..replaying.kept import KeptLaunch
from .arrays import place_of
from .observed import Observed, Taken

TOLD = frozenset({COOPERATIVE, CLUSTER})


def value_of(kept: KeptLaunch, taken: Taken) -> int | float:
    """A number that is passed by value. Raises SpecError for one that is not finite."""
    assert taken.dtype is not None
    raw = dict(kept.params)[taken.offset]
    value = np.frombuffer(raw, numpy_dtype(taken.dtype))[0].item()
    if isinstance(value, float) and not math.isfinite(value):
        raise SpecError(
            f"`{taken.name}` is {value}: a spec's numbers are finite",
            next_step="write that value into the kernel in place of the parameter",
        )
    return int(value) if isinstance(value, bool) else value


def is_integer(taken: Taken) -> bool:
    """Whether it becomes a symbol."""
    return taken.is_number and not is_float(taken.dtype or "") and taken.dtype != "bool"


def comparable(
    launches: Sequence[Observed], taken: Sequence[Taken]
) -> tuple[tuple[Observed, ...], tuple[str, ...]]:
    """The first launch and those that differ from it in integers alone; labels of the others."""
    first = _fixed(launches[0].kept, taken)
    fits = [_fixed(each.kept, taken) == first for each in launches]
    kept = tuple(each for each, same in zip(launches, fits, strict=True) if same)
    return kept, tuple(
        each.kept.label for each, same in zip(launches, fits, strict=True) if not same
    )


def _fixed(kept: KeptLaunch, taken: Sequence[Taken]) -> tuple[object, ...]:
    """What a spec says once for all workloads."""
    raw = dict(kept.params)
    values = tuple(raw[t.offset] for t in taken if not t.pointers and not is_integer(t))
    nulls = tuple(place_of(kept, t) is None for t in taken if t.pointers)
    variables = tuple((v.name, v.before) for v in kept.variables)
    told = tuple(a for a in kept.attributes if a[0] in TOLD)
    return kept.block, values, nulls, variables, told
