"""The parameters of a Triton kernel, in the order and width of Triton 3.6's own launcher.

Constexprs, integers that are 1 and None take no parameter; tuples are their members; a host
tensor descriptor is a tensor map followed by its shape and strides.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ..errors import SpecError
from ..plans.plan import Param, PointerParam, ScalarParam, TensorMapParam

INTEGERS: Mapping[str, tuple[str, int]] = {
    "i1": ("bool", 1), "i8": ("int8", 1), "i16": ("int16", 2), "i32": ("int32", 4),
    "i64": ("int64", 8), "u1": ("bool", 1), "u8": ("uint8", 1), "u16": ("uint16", 2),
    "u32": ("uint32", 4), "u64": ("uint64", 8),
}  # fmt: skip
"""Triton's type -> ours and bytes"""
DEVICE_DTYPE_ON_HOST = {8: 10, 9: 8, 10: 9}
"""CUtensorMapDataType differs from the numbers in machine code for these three"""


class Pointers(Protocol):
    """Who knows what lies where."""

    def pointer(self, name: str, value: Any) -> PointerParam:
        """A tensor, an address or None as a parameter."""
        ...

    def known(self, address: int) -> bool:
        """Whether a captured buffer lies there."""
        ...


def _float32(value: float) -> bytes:
    return bytes(ctypes.c_float(value))  # a C cast: too large becomes infinite


def _float16(value: float) -> bytes:
    return struct.pack("<e", value)


def _bfloat16(value: float) -> bytes:
    return _float32(value)[2:]  # truncated, as the launcher does


def _float64(value: float) -> bytes:
    return struct.pack("<d", value)


FLOATS: Mapping[str, tuple[str, Callable[[float], bytes]]] = {
    "fp16": ("float16", _float16),
    "bf16": ("bfloat16", _bfloat16),
    "fp32": ("float32", _float32),
    "f32": ("float32", _float32),
    "fp64": ("float64", _float64),
}


def kernel_params(
    signature: Mapping[str, Any],
    values: Sequence[Any],
    tensor_maps: Sequence[Mapping[str, Any]],
    pointers: Pointers,
) -> tuple[Param, ...]:
    """All parameters but the two scratch pointers that follow them.

    `tensor_maps`: what the compiler says of each tensor descriptor, in order. Raises
    SpecError for what no plan can hold.
    """
    maps = iter(tensor_maps)
    return tuple(
        param
        for (name, kind), value in zip(signature.items(), values, strict=True)
        for param in _params(name, kind, value, maps, pointers)
    )


def _params(
    name: str, kind: Any, value: Any, maps: Iterator[Mapping[str, Any]], pointers: Pointers
) -> Iterator[Param]:
    if isinstance(kind, tuple):
        for index, each in enumerate(kind):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            yield from _params(f"{name}.{index}", each, value[index], maps, pointers)
    elif kind.startswith("*"):
        yield pointers.pointer(name, value)
    elif kind.startswith("tensordesc"):
        yield from _descriptor(name, value, maps, pointers)
    elif kind != "constexpr":
        yield _scalar_or_address(name, kind, value, pointers)


def _scalar_or_address(
    name: str, kind: str, value: Any, pointers: Pointers
) -> PointerParam | ScalarParam:
    if kind in ("i64", "u64") and pointers.known(int(value)):
        return pointers.pointer(name, int(value))
    return scalar(name, kind, value)


def scalar(name: str, kind: str, value: Any) -> ScalarParam:
    """A number as the launcher would copy it. Raises SpecError for an unknown type."""
    if kind in INTEGERS:
        dtype, size = INTEGERS[kind]
        raw = (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        return ScalarParam(arg=name, type=dtype, value=int(value), raw=raw.hex())
    if kind in FLOATS:
        dtype, pack = FLOATS[kind]
        return ScalarParam(arg=name, type=dtype, value=float(value), raw=pack(value).hex())
    raise SpecError(f"argument {name}: scalar type {kind}", valid=", ".join((*INTEGERS, *FLOATS)))


def _descriptor(
    name: str, value: Any, maps: Iterator[Mapping[str, Any]], pointers: Pointers
) -> Iterator[Param]:
    layout = next(maps, None)
    if layout is None or layout.get("is_im2col") or "." in name:
        raise SpecError(f"descriptor {name}: im2col, without TMA, or in a tuple")
    sizes, strides = [int(n) for n in value.shape], [int(n) for n in value.strides]
    if layout["fp4_padded"]:
        sizes[-1] *= 2
    dtype, start = int(layout["elem_type"]), pointers.pointer(name, value.base)
    if start.buffer is None:
        raise SpecError(f"descriptor {name}: no tensor")
    yield TensorMapParam(
        arg=name,
        buffer=start.buffer,
        offset=start.offset,
        dtype=DEVICE_DTYPE_ON_HOST.get(dtype, dtype),
        dims=tuple(sizes[::-1]),
        strides=tuple(layout["elem_size"] * s for s in strides[:-1][::-1]),
        box=tuple(layout["block_size"][::-1]),  # the compiler's: a wide store is split
        swizzle=layout["swizzle"],
        nan_fill=value.padding == "nan",
    )
    for index, size in enumerate(sizes):
        yield scalar(f"{name}.shape{index}", "i32", size)
    for index, stride in enumerate(strides):
        yield scalar(f"{name}.stride{index}", "i64", stride)
