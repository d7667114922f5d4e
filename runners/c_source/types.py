"""Types of numbers as C and CUDA name them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..dtypes import DTYPES, DtypeName

QUALIFIERS = frozenset(
    "const volatile restrict __restrict __restrict__ struct constexpr __grid_constant__".split()
)
_INTEGER_WORDS = frozenset("unsigned signed long short int char".split())
_TYPES: dict[str, DtypeName] = {
    "float": "float32", "double": "float64",
    "__half": "float16", "half": "float16", "_Float16": "float16", "__fp16": "float16",
    "__nv_bfloat16": "bfloat16", "nv_bfloat16": "bfloat16", "__bf16": "bfloat16",
    "__nv_fp8_e4m3": "float8_e4m3fn", "__nv_fp8_e5m2": "float8_e5m2",
    "bool": "bool", "size_t": "uint64", "ptrdiff_t": "int64", "ssize_t": "int64",
    "int8_t": "int8", "int16_t": "int16", "int32_t": "int32", "int64_t": "int64",
    "uint8_t": "uint8", "uint16_t": "uint16", "uint32_t": "uint32", "uint64_t": "uint64",
    "uint": "uint32", "uchar": "uint8",
}  # fmt: skip
_VECTORS: dict[str, DtypeName] = {
    "float": "float32", "double": "float64", "char": "int8", "uchar": "uint8", "short": "int16",
    "ushort": "uint16", "int": "int32", "uint": "uint32", "long": "int64", "ulong": "uint64",
    "longlong": "int64", "ulonglong": "uint64", "half": "float16", "__half": "float16",
    "__nv_bfloat16": "bfloat16", "nv_bfloat16": "bfloat16",
}  # fmt: skip
_VECTOR = re.compile(r"(\w+?)([1-4])")
_WIDE = frozenset({"int32", "uint32", "int64", "uint64"})
_SIGNED = frozenset({"int8", "int16", "int32", "int64"})


@dataclass(frozen=True, slots=True)
class Element:
    """A C type as elements of a contract: float4 is four float32."""

    dtype: DtypeName
    lanes: int = 1

    @property
    def nbytes(self) -> int:
        """Bytes of one value of the C type."""
        return DTYPES[self.dtype].itemsize * self.lanes


def element_type(text: str) -> Element | None:
    """The elements of a C type, qualifiers and `std::` aside; None: not a type of numbers."""
    scalar = scalar_type(text)
    if scalar is not None:
        return Element(scalar)
    vector = _VECTOR.fullmatch(unqualified(text))
    if vector is not None and vector[1] in _VECTORS:
        return Element(_VECTORS[vector[1]], int(vector[2]))
    return None


def scalar_type(text: str) -> DtypeName | None:
    """The one number that a C type is; None: a vector of CUDA (`int4`), or no number."""
    name = unqualified(text)
    words = name.split()
    if words and set(words) <= _INTEGER_WORDS:
        return _integer(words)
    return _TYPES.get(name)


def is_wide_integer(text: str) -> bool:
    """Whether a cast to that type keeps an index as it is: one integer of at least 32 bits.

    Neither a vector (`int4` is four of them) nor a name that is not known, which may be narrow.
    """
    return scalar_type(text) in _WIDE


def may_be_unsigned(text: str) -> bool:
    """Whether values below 0 may wrap: false of integers that are known to have a sign."""
    return scalar_type(text) not in _SIGNED


def unqualified(text: str) -> str:
    """A type without qualifiers and `std::`, its words a blank apart."""
    words = text.replace("::", " ").split()
    return " ".join(w for w in words if w not in QUALIFIERS and w != "std")


def _integer(words: list[str]) -> DtypeName:
    """char is signed and long has 64 bits, as on Linux."""
    unsigned = "unsigned" in words
    if "char" in words:
        return "uint8" if unsigned else "int8"
    if "short" in words:
        return "uint16" if unsigned else "int16"
    if "long" in words:
        return "uint64" if unsigned else "int64"
    return "uint32" if unsigned else "int32"
