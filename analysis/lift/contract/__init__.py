"""What a lift says of its kernel's contract: roles and sizes of arrays, ranges, operations.

Sizes and roles are found by running the lift at several small shapes, and an expression counts only
where it is right at all of them; nothing is said where it is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..statements import Lifted
from .compound import compounds, valued
from .constant import constant_roles, constant_shapes
from .counting import operations
from .fitting import covering, fitted, led, steps_of, written
from .indexing import accessed, divisors, index_arrays, placed_by_data, turning
from .sampling import Sample, samples

__all__ = ["Facts", "facts_of"]


@dataclass(frozen=True)
class Facts:
    """Of a kernel's arguments by their names; sizes are expressions over its integers."""

    roles: Mapping[str, str] = field(default_factory=dict[str, str])
    """of arrays: input, output (wholly written, and never read before), or inout"""
    shapes: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """of arrays of which every element up to a largest one may be touched"""
    below: Mapping[str, str] = field(default_factory=dict[str, str])
    """arrays of indices: each is at least 0 and below this"""
    nonzero: frozenset[str] = frozenset()
    """arrays whose elements others are divided by"""
    untouched: frozenset[str] = frozenset()
    """arrays that no call reads or writes, whatever their size"""
    flops: str = ""
    """operations on floats, shared ones counted once; empty: not known"""


def facts_of(lifted: Lifted) -> Facts:
    """The facts of a lift that is whole; none of another one."""
    if lifted.opaque:
        return Facts()
    indices = index_arrays(lifted)
    found = samples(lifted, indices)
    if not found:
        return Facts(roles=constant_roles(lifted), shapes=constant_shapes(lifted))
    left = placed_by_data(lifted, indices)
    shapes, below = _shapes(lifted, found, left), dict[str, str]()
    for array, bound in indices.items():
        if bound.size:
            below[array] = bound.size
        shapes = {
            name: tuple(s.replace(bound.stand_in, bound.size) for s in shape)
            for name, shape in shapes.items()
            if bound.size or bound.stand_in not in " ".join(shape)
        }
    return Facts(
        roles={name: role for name, role in _roles(lifted, found).items() if name not in left},
        shapes=shapes,
        below=below,
        nonzero=divisors(lifted),
        untouched=frozenset(a.name for a in lifted.arguments if a.array)
        - {array for array, _ in accessed(lifted)},
        flops=operations(lifted),
    )


def _roles(lifted: Lifted, found: tuple[Sample, ...]) -> dict[str, str]:
    """A role counts where all samples agree."""
    made = dict[str, str]()
    for name in (a.name for a in lifted.arguments if a.array):
        roles = {each.roles.get(name, "") for each in found}
        if len(roles) == 1 and (role := roles.pop()):
            made[name] = role
    return made


def _shapes(
    lifted: Lifted, found: tuple[Sample, ...], left: frozenset[str]
) -> dict[str, tuple[str, ...]]:
    reached = {
        name: [(each.sizes, each.reached.get(name, -1) + 1) for each in found]
        for name in (a.name for a in lifted.arguments if a.array and a.name not in left)
    }
    compound = compounds(lifted)
    more = [valued(compound, each.sizes) for each in found] if compound else []
    sizes = {name: size for name, at in reached.items() if (size := fitted(at, more)) is not None}
    for name in reached.keys() - sizes.keys():
        if count := turning(lifted, name):
            sizes[name] = ((count,), 1, 0)
    for name, at in reached.items():
        if name not in sizes and (size := covering(at, list(sizes.values()))) is not None:
            sizes[name] = size
    for name, at in reached.items():
        if name not in sizes and (size := led(at, steps_of(lifted, name))) is not None:
            sizes[name] = size
    shapes = {name: written(size, lifted, name) for name, size in sizes.items()}
    return {name: tuple(_bare(size) for size in shape) for name, shape in shapes.items()}


def _bare(size: str) -> str:
    """A size that is one sum, without its parentheses."""
    inner = size[1:-1]
    return inner if size.startswith("(") and size.endswith(")") and "(" not in inner else size
