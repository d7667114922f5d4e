"""The C++ half of the pretended driver (`runtime/driver.cpp`), called with numbers."""

from __future__ import annotations

import ctypes
from typing import Any

from .words import CUresult

_LIBRARY = ctypes.CDLL("libcuda.so.1")
U64, U32, PTR = ctypes.c_uint64, ctypes.c_uint, ctypes.c_void_p
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "init": (ctypes.c_int, (U64,)),
    "broken": (ctypes.c_int, ()),
    "allocate": (ctypes.c_int, (U64, PTR)),
    "free": (ctypes.c_int, (U64,)),
    "reserve": (ctypes.c_int, (U64, PTR)),
    "take": (ctypes.c_int, (U64,)),
    "give": (ctypes.c_int, (U64,)),
    "map": (ctypes.c_int, (U64, U64)),
    "unmap": (ctypes.c_int, (U64, U64)),
    "free_bytes": (U64, ()),
    "host_allocate": (U64, (U64,)),
    "upload": (ctypes.c_int, (U64, PTR, U64)),
    "download": (ctypes.c_int, (PTR, U64, U64)),
    "copy": (ctypes.c_int, (U64, U64, U64)),
    "fill": (ctypes.c_int, (U64, U64, U32, U32, U64)),
    "launch": (ctypes.c_int, (U64, PTR, U32, ctypes.c_int, PTR, PTR, U32)),
    "event_create": (PTR, ()),
    "event_destroy": (None, (PTR,)),
    "event_record": (ctypes.c_int, (PTR,)),
    "event_query": (ctypes.c_int, (PTR,)),
    "elapsed": (ctypes.c_int, (PTR, PTR, PTR)),
    "drain": (ctypes.c_int, ()),
    "capture_begin": (None, ()),
    "capture_spoil": (None, ()),
    "capture_end": (ctypes.c_int, (PTR,)),
    "graph_launch": (ctypes.c_int, (PTR,)),
    "graph_destroy": (None, (PTR,)),
}


def _native(name: str) -> Any:
    function = getattr(_LIBRARY, f"pretend_{name}")
    function.restype, function.argtypes = _SIGNATURES[name]
    return function


NATIVE = {name: _native(name) for name in _SIGNATURES}


def done(code: int) -> tuple[CUresult]:
    """What a call answers; once a kernel has broken the context, that, whatever was asked."""
    return (CUresult(NATIVE["broken"]() or code),)


def answer(code: int, *values: object) -> tuple[Any, ...]:
    (status,) = done(code)
    return (status, *values)
