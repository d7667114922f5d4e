"""Shapes at which no rows and columns can be exchanged unnoticed: every size is another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations

from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.specs.expressions import evaluate_int
from kernelwright.runners.specs.spec import KernelSpec

SIZES = ((37, 12, 21, 5, 9, 3, 7, 2), (16, 48, 32, 8, 24, 4, 40, 2), (2, 70, 3, 19, 4, 11, 6, 5))
"""of the symbols in turn; the second are even, for what is written by vectors"""
ORDERS = 24
"""in which each row of them is tried"""


def unequal_shapes(spec: KernelSpec) -> list[dict[str, int]]:
    """For each row of SIZES its first order that is legal, as far as the domains allow."""
    found = list[dict[str, int]]()
    for sizes in SIZES:
        legal = (shape for shape in _orders(spec, sizes) if _is_legal(spec, shape))
        found += [shape for shape in [next(legal, None)] if shape and shape not in found]
    return found


def _orders(spec: KernelSpec, sizes: tuple[int, ...]) -> Iterator[dict[str, int]]:
    domains = {name: each for name, each in spec.symbols.items() if each is not None}
    several = (*sizes, *(2 + at for at in range(len(domains) - len(sizes))))[: len(domains)]
    for _, order in zip(range(ORDERS), permutations(several), strict=False):
        yield {
            name: max(d.min, min(size, d.max) // d.multiple_of * d.multiple_of)
            for (name, d), size in zip(domains.items(), order, strict=True)
        }


def _is_legal(spec: KernelSpec, shape: Mapping[str, int]) -> bool:
    """Whether every array has elements."""
    every = [size for each in spec.io.arguments for size in getattr(each, "shape", ())]
    try:
        return all(evaluate_int(size, shape) > 0 for size in every)
    except KernelwrightError:
        return False
