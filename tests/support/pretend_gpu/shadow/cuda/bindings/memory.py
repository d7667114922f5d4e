"""Memory of the pretended GPU: given out, freed, copied and filled."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from .native import NATIVE, U64, answer, done
from .words import INVALID, CUresult, Memory

GRANULE = 2 << 20
"""of the memory that is mapped"""
MEMORY = int(os.environ.get("PRETEND_GPU_MEMORY", 256 << 20))


def cuMemAlloc(nbytes: int) -> tuple[Any, ...]:
    address = U64()
    code = NATIVE["allocate"](nbytes, ctypes.byref(address))
    return answer(code, address.value)


def cuMemFree(address: int) -> tuple[CUresult]:
    return done(NATIVE["free"](address))


def cuMemGetAllocationGranularity(memory: object, option: object) -> tuple[Any, ...]:
    del memory, option
    return answer(0, GRANULE)


def cuMemAddressReserve(nbytes: int, align: int, wanted: int, flags: int) -> tuple[Any, ...]:
    del align, wanted, flags
    address = U64()
    code = NATIVE["reserve"](nbytes, ctypes.byref(address))
    return answer(code, address.value)


def cuMemAddressFree(address: int, nbytes: int) -> tuple[CUresult]:
    del address, nbytes  # no address is given twice
    return done(0)


def cuMemCreate(nbytes: int, memory: object, flags: int) -> tuple[Any, ...]:
    del memory, flags
    return answer(NATIVE["take"](nbytes), Memory(nbytes))


def cuMemRelease(memory: Memory) -> tuple[CUresult]:
    return done(NATIVE["give"](memory.nbytes))


def cuMemMap(address: int, nbytes: int, offset: int, memory: Memory, flags: int) -> tuple[CUresult]:
    """Nobody may touch it yet, which is told from what nobody has by the next call alone."""
    del offset, flags, address
    return done(0 if nbytes == memory.nbytes else INVALID)


def cuMemSetAccess(address: int, nbytes: int, of: object, count: int) -> tuple[CUresult]:
    del of, count
    return done(NATIVE["map"](address, nbytes))


def cuMemUnmap(address: int, nbytes: int) -> tuple[CUresult]:
    return done(NATIVE["unmap"](address, nbytes))


def cuMemGetInfo() -> tuple[Any, ...]:
    return answer(0, NATIVE["free_bytes"](), MEMORY)


def cuMemHostAlloc(nbytes: int, flags: int) -> tuple[Any, ...]:
    del flags
    return answer(0, NATIVE["host_allocate"](nbytes))


def cuMemHostGetDevicePointer(address: int, flags: int) -> tuple[Any, ...]:
    del flags
    return answer(0, address)


def cuMemcpyHtoDAsync(target: int, source: int, nbytes: int, stream: object) -> tuple[CUresult]:
    del stream
    return done(NATIVE["upload"](target, source, nbytes))


def cuMemcpyDtoH(target: int, source: int, nbytes: int) -> tuple[CUresult]:
    return done(NATIVE["download"](target, source, nbytes))


def cuMemcpyDtoHAsync(target: int, source: int, nbytes: int, stream: object) -> tuple[CUresult]:
    del stream  # the target is memory that is not pinned: done when this returns
    return done(NATIVE["drain"]() or NATIVE["download"](target, source, nbytes))


def cuMemcpyDtoDAsync(target: int, source: int, nbytes: int, stream: object) -> tuple[CUresult]:
    del stream
    return done(NATIVE["copy"](target, source, nbytes))


def _fill(address: int, pitch: int, width: int, value: int, count: int) -> tuple[CUresult]:
    return done(NATIVE["fill"](address, pitch, width, value, count))


def cuMemsetD8Async(at: int, value: int, count: int, stream: object) -> tuple[CUresult]:
    del stream
    return _fill(at, 1, 1, value, count)


def cuMemsetD16Async(at: int, value: int, count: int, stream: object) -> tuple[CUresult]:
    del stream
    return _fill(at, 2, 2, value, count)


def cuMemsetD32Async(at: int, value: int, count: int, stream: object) -> tuple[CUresult]:
    del stream
    return _fill(at, 4, 4, value, count)


def cuMemsetD2D8Async(
    at: int, pitch: int, value: int, width: int, height: int, stream: object
) -> tuple[CUresult]:
    del stream
    return _fill(at, pitch, 1, value, height) if width == 1 else (INVALID,)


def cuMemsetD2D16Async(
    at: int, pitch: int, value: int, width: int, height: int, stream: object
) -> tuple[CUresult]:
    del stream
    return _fill(at, pitch, 2, value, height) if width == 1 else (INVALID,)


def cuMemsetD2D32Async(
    at: int, pitch: int, value: int, width: int, height: int, stream: object
) -> tuple[CUresult]:
    del stream
    return _fill(at, pitch, 4, value, height) if width == 1 else (INVALID,)
