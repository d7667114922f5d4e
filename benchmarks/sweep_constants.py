"""Constants of the sweep that could have been fitted to the measured spaces, at other values.

Which ones: what the sweep begins with and what it expects before anything was measured, since no
formula gives them and few measurements overrule them. All others follow from a formula, bound the
cost of an ask, or do not matter in spaces of this size (`docs/search.md` lists them).
"""

from __future__ import annotations

import statistics
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from itertools import product
from unittest.mock import patch

Constants = tuple[float, ...]
"""one value of each constant, in the order of `VALUES`"""

VALUES = {"BEYOND_FEATURES": (-4, 2, 8), "FAR": (0.25, 0.5, 1.0), "TRIED": (8, 32, 128)}
"""of each constant: its own value, and one to each side, at about half or twice as much of what it
steers (at ten features it begins with 6, 12 or 18 configurations), a factor of four for `TRIED`"""
PLACES = {"BEYOND_FEATURES": "sweep", "FAR": "kernel", "TRIED": "design"}
"""the module of `search/sweep/` that each one is in"""
OWN: Constants = tuple(values[1] for values in VALUES.values())
GRID: tuple[Constants, ...] = tuple(dict.fromkeys((OWN, *product(*VALUES.values()))))
"""what is chosen from; the sweep's own come first, so that they win a tie"""


@contextmanager
def in_force(constants: Constants) -> Generator[None]:
    """The sweeps of this process have these constants."""
    with ExitStack() as stack:
        for name, value in zip(VALUES, constants, strict=True):
            module = import_module(f"kernelwright.search.sweep.{PLACES[name]}")
            stack.enter_context(patch.object(module, name, value))
        yield


def left_out(spaces: Sequence[str]) -> list[tuple[str, ...]]:
    """What is left out in turn: each space, then all spaces of each kernel that has several.

    The name of a space begins with that of its kernel, `convolution_A100`. On another GPU the same
    kernel is no stranger, so that only leaving all of its spaces out makes it one.
    """
    kernels = dict.fromkeys(name.partition("_")[0] for name in spaces)
    of_one = [tuple(n for n in spaces if n.partition("_")[0] == kernel) for kernel in kernels]
    return [*((name,) for name in spaces), *(own for own in of_one if 1 < len(own) < len(spaces))]


def chosen(scores: Mapping[tuple[Constants, str], float], on: Iterable[str]) -> Constants:
    """The constants with the largest mean score on some spaces. `scores`: by both."""
    names = tuple(on)
    return max(GRID, key=lambda constants: statistics.fmean(scores[constants, n] for n in names))
