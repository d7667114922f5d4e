"""A lift is executed before anything is written from it: at a small shape, on random inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from .....analysis.lift import Lifted
from .....analysis.lift.expressions import Unreadable
from .....analysis.lift.interpreting import Disagrees, run
from .....analysis.lift.operations import brain
from .....runners.dtypes import DTYPES
from .....runners.errors import ExpressionError
from .....runners.specs.expressions import evaluate, evaluate_int
from .....runners.specs.part import Expression
from .....runners.specs.spec import KernelSpec
from .memory import Memory

SMALL = (3, 5, 7, 2, 6, 9)
"""sizes of symbols, as far as their domains allow them: different ones, so that two that are
exchanged do not agree by chance"""
MOST_ELEMENTS = 1 << 16
MOST_SIZE = 64
"""of a symbol: folds within loops take the square of it, and more"""
MOST_WORK = 1 << 30
"""operations on single elements, some seconds: what nests deeper is not tried to the end"""


def refuted(
    lifted: Lifted,
    spec: KernelSpec,
    arrays: Mapping[str, Memory],
    sizes: Mapping[str, Expression],
) -> str:
    """Why a lift cannot be what a legal kernel computes, "" where nothing speaks against it: it
    reads or writes beyond an array. Sizes that make arrays too large to be tried are not tried."""
    symbols = small_symbols(spec)
    try:
        scalars = dict[str, int | float](
            {name: evaluate_int(size, symbols) for name, size in sizes.items()}
        )
        scalars |= _scalars(spec, symbols, scalars)
        counts = {n: elements(each.elements, symbols) for n, each in arrays.items()}
        longest = max([*symbols.values(), *scalars.values()], default=0)
        if max(counts.values(), default=0) > MOST_ELEMENTS or longest > MOST_SIZE:
            return ""
        if min(counts.values(), default=0) < 0:
            return ""  # no sizes of a call: a window is longer than what it goes over
        made = {n: _values(spec, n, each.dtype, counts[n]) for n, each in arrays.items()}
        for each in lifted.tables:
            if each.initial is None:  # set by the plan, to whatever
                made[each.name] = _values(spec, "", each.dtype, each.elements)
        run(lifted, scalars, made, most_work=MOST_WORK)
    except Disagrees as error:
        return str(error)
    except (Unreadable, ExpressionError):
        return ""  # what is not interpreted is not refuted; gates judge what is written
    return ""


def small_symbols(spec: KernelSpec) -> dict[str, int]:
    """A small legal value for each symbol; a workload's where no domain is declared."""
    found = dict[str, int]()
    for at, (name, domain) in enumerate(spec.symbols.items()):
        if domain is None:
            return dict(min((w.symbols for w in spec.workloads), key=lambda s: prod(s.values())))
        step = domain.multiple_of
        wanted = SMALL[at % len(SMALL)]
        value = max(domain.min, wanted * step if step > 1 else wanted)
        found[name] = min(-(-value // step) * step, domain.max // step * step)
    return found


def elements(sizes: Sequence[Expression], symbols: Mapping[str, int]) -> int:
    """The number of elements of an array."""
    return prod(evaluate_int(size, symbols) for size in sizes)


def _scalars(
    spec: KernelSpec, symbols: Mapping[str, int], known: Mapping[str, int | float]
) -> dict[str, int | float]:
    """Scalars of the contract that are no sizes, by their names there."""
    return {
        a.name: evaluate(a.value, symbols)
        for a in spec.io.arguments
        if a.role == "scalar" and a.value is not None and a.name not in known
    }


def _values(spec: KernelSpec, name: str, dtype: str, count: int) -> npt.NDArray[Any]:
    """Random values as the contract draws them, where it says how."""
    random = np.random.default_rng(7)
    init = next(
        (a.filled for a in spec.io.arguments if a.name == name and a.role != "scalar"), None
    )
    if dtype == "bfloat16":
        return brain(random.standard_normal(count))  # interpreted as float32
    if DTYPES[dtype].floor is not None:
        return random.standard_normal(count).astype(dtype)
    if init is not None and init.kind == "randint":
        low, high = int(init.low), int(init.high)
        # they may be indices, and the sizes are smaller here than where the contract draws them
        return random.integers(low, min(max(high, low + 1), low + 2), count).astype(dtype)
    return np.zeros(count, dtype=dtype)
