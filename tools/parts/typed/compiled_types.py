"""Types of a kernel's parameters as its compiler knows them: behind typedefs that conditions of the
preprocessor choose, types of templates, and names of other files."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from ....analysis.ptx import read_ptx
from ....runners.building.plain_compiler import compiled_plainly
from ....runners.dtypes import DtypeName

Defines = tuple[tuple[str, int | float | str], ...]

_TABLE: Final = "kernelwright_told_types"
_READER: Final = "kernelwright_reads_types"
_TYPES: Final[Mapping[str, DtypeName]] = {
    "float": "float32", "double": "float64", "bool": "bool", "char": "int8",
    "signed char": "int8", "unsigned char": "uint8", "short": "int16", "unsigned short": "uint16",
    "int": "int32", "unsigned int": "uint32", "long": "int64", "unsigned long": "uint64",
    "long long": "int64", "unsigned long long": "uint64", "__half": "float16",
    "__nv_bfloat16": "bfloat16",
}  # fmt: skip
_CODES: Final = tuple(_TYPES)
_OF_HEADERS: Final = ("__half", "__nv_bfloat16")


def types_of(source: str, entry: str, defines: Defines = ()) -> Sequence[DtypeName | None]:
    """The types of a kernel's parameters in order, for a pointer that of its elements; None for one
    that is no number. Empty where it does not compile for reading."""
    made = compiled_plainly(source + _told(entry), _READER, defines)
    if isinstance(made, str):
        return ()
    held = next((v.initial for v in read_ptx(made[0]).variables if v.name == _TABLE), None)
    if held is None:
        return ()
    codes = struct.unpack(f"<{len(held) // 4}i", held)
    return [None if code < 0 else _TYPES[_CODES[code]] for code in codes[:-1]]


def _told(entry: str) -> str:
    """Code that keeps the numbers of the types in a variable of the program, -1 in the end."""
    lines = [
        "",
        *(f"struct {name};" for name in _OF_HEADERS),
        "template <typename T> struct kernelwright_type { enum { code = -1 }; };",
        *(
            f"template <> struct kernelwright_type<{name}> {{ enum {{ code = {n} }}; }};"
            for n, name in enumerate(_CODES)
        ),
        *(
            f"template <typename T> struct kernelwright_type<T {kind}> : kernelwright_type<T> {{}};"
            for kind in ("const", "volatile", "const volatile", "*")
        ),
        "template <typename... A> struct kernelwright_types {",
        "    int codes[sizeof...(A) + 1] = {int(kernelwright_type<A>::code)..., -1};",
        "};",
        "template <typename... A>",
        "__device__ kernelwright_types<A...> kernelwright_taken(void (*)(A...));",
        f'extern "C" {{ __device__ decltype(kernelwright_taken({entry})) {_TABLE}; }}',
        f"__global__ void {_READER}(int* read) {{ *read = {_TABLE}.codes[0]; }}",
        "",
    ]
    return "\n".join(lines)
