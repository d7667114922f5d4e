"""Tensor descriptors that a kernel makes: blocks of an array by the place of their first element,
with zeros beyond the array's ends, where nothing is stored either."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..accesses import value_type
from ..expressions import FLOATS, TRUE, DType, Expr, Load, Number, Pointer, Unreadable, call
from ..statements import Store
from ..sums import product, total
from .blocks import axes_of
from .execution import Blocks, Reader, put, read_now
from .parsing import Operation
from .tables import shape_of


@dataclass(frozen=True)
class Descriptor:
    """An array as a descriptor has it: elements from one axis's place to the next, and how many."""

    array: Pointer
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]


def _made(reader: Reader, each: Operation) -> Blocks:
    lists = re.findall(r"\[([^\]]*)\]", each.text)
    base = reader.block(each.operands[0]).expr
    if not isinstance(base, Pointer) or len(lists) < 2:
        raise Unreadable("a descriptor of another form")
    shape, strides = (
        tuple(reader.block(name.strip()).expr for name in listed.split(",")) for listed in lists[:2]
    )
    reader.descriptors[each.results[0]] = Descriptor(base, shape, strides)
    return []


def _place(
    reader: Reader, each: Operation, shape: Sequence[int]
) -> tuple[Descriptor, Pointer, Expr]:
    """The descriptor, the address of every element of a block of it, and whether it is in."""
    found = reader.descriptors.get(each.operands[0])
    if not isinstance(found, Descriptor):
        raise Unreadable("a descriptor that the kernel did not make")
    first = [reader.block(n).expr for n in each.operands[1 : 1 + len(found.shape)]]
    missing = len(first) - len(shape)  # axes of one element, which the block does not have
    axes: list[Expr] = [*[Number(0)] * missing, *axes_of(len(shape))]
    places = [total((one, axis)) for one, axis in zip(first, axes, strict=True)]
    steps = (product(p, stride) for p, stride in zip(places, found.strides, strict=True))
    inside: Expr = TRUE
    for place, size in zip(places, found.shape, strict=True):
        low = call("ge", place, Number(0), dtype="bool")
        high = call("lt", place, size, dtype="bool")
        inside = call("and", inside, call("and", low, high, dtype="bool"), dtype="bool")
    return found, Pointer(found.array.array, total((found.array.offset, *steps))), inside


def _loaded(reader: Reader, each: Operation) -> Blocks:
    shape = shape_of(each.result_type)
    _, address, inside = _place(reader, each, shape)
    dtype: DType = next(value_type(a.dtype) for a in reader.arguments if a.name == address.array)
    nothing = Number(0.0 if dtype in FLOATS else 0, dtype)
    read = Load(address.array, address.offset, dtype)
    return read_now(
        reader, address.array, call("select", inside, read, nothing, dtype=dtype), shape
    )


def _stored(reader: Reader, each: Operation) -> Blocks:
    value = reader.block(each.operands[-1])
    _, address, inside = _place(reader, each, value.shape)
    reader.stores.add(address.array)
    put(reader, Store(address.array, address.offset, value.expr), inside, value.shape)
    return []


DESCRIPTORS = {
    "tt.make_tensor_descriptor": _made,
    "tt.descriptor_load": _loaded,
    "tt.descriptor_store": _stored,
}
