"""Legal shapes on which a variant runs before it may become the incumbent.

The smallest one, where loops have no rounds and grids one block; one beside the first workload
that is no multiple of usual tiles, where full tiles meet ragged ends; long ones, where a narrow
index overflows; one of multiples of sixteen that no larger tile divides, where code for vectors
meets a tail, a compiler what it makes of such sizes, and loops over tiles their second round; and
another odd one. On the first and the last, whole tiles reach behind arrays.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..errors import SpecError
from .contract import BoundContract, bind, free_symbols, odd_label, odd_shape, odd_size_at
from .expressions import evaluate
from .spec import KernelSpec, Symbol

NEAR_BYTES = 32 << 20
"""All arrays of the shape beside the first workload: its truth has to be worked out in fp64."""
LONG_TARGET = 70001
"""Beyond what 16 bits count, and what a grid may have along its second and third axis."""
LONG_ALONE = 1_100_003
"""Of a lone symbol: beyond what a thousand blocks of a thousand threads reach, or a second stage of
one block adds up; only where the spec says that this is no more work than MOST_WORK."""
MOST_WORK = 1e9
MOST_LONG = 3
VECTOR = 16
"""Elements of the widest usual vector. Every other further shape is odd, where code for vectors
never comes, and sizes of workloads are mostly multiples of whole tiles, where it has no tail."""
ALONE, BESIDE_OTHERS = 4112, 272
"""Sizes to aim at, of a lone symbol and of each of several: beyond a tile of 256."""
VECTORS_BYTES = 4 << 20
"""All arrays of the shape of vectors."""
DRAWS = 4
"""odd shapes of which one is taken"""
TILE = 64
"""Elements of a usual tile. A size of one less is ragged, yet a tile there ends within what an
array's alignment promises behind it: nobody can tell that it reads there."""
SMALLEST_TARGETS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Sizes to aim at until the arrays have elements: n - 64 wants an n that no domain names."""

Symbols = Mapping[str, int]


def gate_shapes(spec: KernelSpec, seed: int, known: Sequence[Symbols]) -> tuple[BoundContract, ...]:
    """The shapes that differ from each other, from all workloads and from `known`, with their
    labels: `smallest`, `near`, `long_n` for a symbol n, `vectors` and `other`."""
    taken = [dict(symbols) for symbols in known] + [w.symbols for w in spec.workloads]
    rng, found, odd = random.Random(seed), list[BoundContract](), odd_label(spec)
    draws = [
        smallest_shape(spec),
        near_shape(spec),
        *long_shapes(spec),
        vector_shape(spec, random.Random(~seed)),
    ]
    odd_draws = [odd_shape(spec, rng.getrandbits(32)) for _ in range(DRAWS)]
    draws += sorted(odd_draws, key=lambda shape: _room(spec, shape), reverse=True)
    for shape in draws:
        others = sum(each.label == "other" for each in found)
        if shape is None or dict(shape.symbols) in taken or others:
            continue
        taken.append(dict(shape.symbols))
        found.append(replace(shape, label="other") if shape.label == odd else shape)
    return tuple(found)


def smallest_shape(spec: KernelSpec) -> BoundContract | None:
    """The least legal sizes, 1 where that is one, with elements in every array.

    Symbols without a domain keep the first workload's values. None: nothing is free.
    """
    free, first = free_symbols(spec), spec.workloads[0].symbols
    for target in SMALLEST_TARGETS if free else ():
        sizes = {name: _least(domain, target) for name, domain in free.items()}
        shape = _bound(spec, {**first, **sizes}, "smallest")
        if shape is not None and all(array.nbytes for array in shape.arrays):
            return shape
    return None


def near_shape(spec: KernelSpec) -> BoundContract | None:
    """Sizes just below the first visible workload's, odd multiples of what domains ask for; the
    largest is halved until all arrays fit in NEAR_BYTES. None: nothing is free, or small enough."""
    free = free_symbols(spec)
    first = next(w.symbols for w in spec.workloads if not w.held_out)
    targets = {name: first[name] - domain.multiple_of for name, domain in free.items()}
    while targets and max(targets.values()) > 0:
        sizes = {name: odd_size_at(domain, targets[name]) for name, domain in free.items()}
        shape = _bound(spec, {**first, **sizes}, "near")
        if shape is not None and shape.nbytes <= NEAR_BYTES:
            return shape
        largest = max(targets, key=lambda name: targets[name])
        targets[largest] //= 2
    return None


def long_shapes(spec: KernelSpec) -> list[BoundContract]:
    """A shape for each of the first free symbols that is longer in it than every workload, up to
    LONG_TARGET (a lone one to LONG_ALONE) or by a quarter where one is as long, and short in the
    others."""
    found, free = list[BoundContract](), free_symbols(spec)
    for name in list(free)[:MOST_LONG]:
        sizes = {other: odd_size_at(free[other], 3) for other in free if other != name}
        longest = max(workload.symbols[name] for workload in spec.workloads)
        target = LONG_ALONE if _lone_and_cheap(spec, free, name) else LONG_TARGET
        target = target if longest < target else longest + longest // 4
        sizes[name] = odd_size_at(free[name], target)
        if longest >= sizes[name]:
            continue
        shape = _bound(spec, {**spec.workloads[0].symbols, **sizes}, f"long_{name}")
        if shape is not None and shape.nbytes <= NEAR_BYTES:
            found.append(shape)
    return found


def _lone_and_cheap(spec: KernelSpec, free: Mapping[str, Symbol], name: str) -> bool:
    """Whether a symbol is the only free one, and LONG_ALONE of it declared to be little work."""
    if len(free) > 1 or spec.io.flops is None:
        return False
    sizes = {**spec.workloads[0].symbols, name: odd_size_at(free[name], LONG_ALONE)}
    shape = _bound(spec, sizes, name)
    return (
        shape is not None
        and shape.nbytes <= NEAR_BYTES
        and evaluate(spec.io.flops, sizes) <= MOST_WORK
    )


def vector_shape(spec: KernelSpec, rng: random.Random) -> BoundContract | None:
    """Sizes that vectors divide and no usual tile does: odd multiples of VECTOR that are drawn, the
    largest halved until all arrays fit in VECTORS_BYTES; as odd as they can be where a domain has
    none. None: nothing is free, no size has such a multiple, or the arrays are never small."""
    free, first = free_symbols(spec), spec.workloads[0].symbols
    least = ALONE if len(free) == 1 else BESIDE_OTHERS
    targets = {name: rng.randrange(least, least + least // 2) for name in free}
    while targets and max(targets.values()) >= VECTOR:
        sizes = {name: _of_vectors(domain, targets[name]) for name, domain in free.items()}
        if not any(size % VECTOR == 0 for size in sizes.values()):
            return None
        shape = _bound(spec, {**first, **sizes}, "vectors")
        if shape is not None and shape.nbytes <= VECTORS_BYTES:
            return shape
        largest = max(targets, key=lambda name: targets[name])
        targets[largest] //= 2
    return None


def _of_vectors(domain: Symbol, target: int) -> int:
    """An odd multiple of VECTOR near a target, as far as the domain has one."""
    step = math.lcm(domain.multiple_of, VECTOR)
    if -(-domain.min // step) * step > domain.max:
        return odd_size_at(domain, target)
    return odd_size_at(domain.model_copy(update={"multiple_of": step}), target)


def _room(spec: KernelSpec, shape: BoundContract | None) -> int:
    """Elements from the sizes to where tiles end, the fewest of all free ones; the room that is
    left for a tile to be seen in."""
    sizes = [] if shape is None else [shape.symbols[name] for name in free_symbols(spec)]
    return min((-size % TILE for size in sizes), default=0)


def _least(domain: Symbol, target: int) -> int:
    step = domain.multiple_of
    least, most = -(-domain.min // step), domain.max // step
    return min(max(1, least, target // step), most) * step


def _bound(spec: KernelSpec, symbols: Symbols, label: str) -> BoundContract | None:
    try:
        return bind(spec.io, symbols, label)
    except SpecError:
        return None
