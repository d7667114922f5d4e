"""Machine code on a pretended GPU: its twin is loaded, and asked for kernels and variables."""

from __future__ import annotations

import _ctypes
import ctypes
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

from kernelwright.runners.errors import SpecError
from kernelwright.runners.machine_code.cubin import CubinInfo, read_cubin

from .devices import DEVICE
from .native import NATIVE, answer, done
from .words import INVALID, CUresult, Entry, Function, Global, Module

TWINS = Path(os.environ["PRETEND_GPU_TWINS"])
CAPABILITY = 90
MOST_BLOCKS = 32
FEWER_THREADS = {b"move": 1, b"read_all": 1, b"guards": 1, b"gather": 1, b"gaps": 1, b"digest": 32}
"""Kernels of support.cu whose threads share the turns of a loop, however many there are: so many do
the same, in an order that a host's caches are made for. A digest needs a whole warp."""
MAX_THREADS, STATIC_SHARED, REGISTERS, MAX_DYNAMIC = 0, 1, 4, 8


def cuModuleLoadData(image: bytes) -> tuple[Any, ...]:
    """Loads the twin of these bytes, a copy of its own with variables of its own."""
    info: CubinInfo | None = None
    if image[:4] == b"\x7fELF":
        try:
            info = read_cubin(image)
        except SpecError:
            return answer(CUresult.CUDA_ERROR_INVALID_IMAGE, None)
        if info.capability != CAPABILITY:
            return answer(CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU, None)
    twin = TWINS / f"{hashlib.sha256(image).hexdigest()}.so"
    if not twin.exists():
        raise RuntimeError(f"no twin of this machine code: {twin}; see pretend_gpu/README.md")
    with tempfile.NamedTemporaryFile(suffix=".so") as copy:  # a name and an inode of its own
        copy.write(twin.read_bytes())
        copy.flush()
        library = ctypes.CDLL(copy.name)
    entries = {e.name: e for e in _table(library, "pretend_entries", Entry)}
    globals_ = {g.name: g for g in _table(library, "pretend_globals", Global)}
    return answer(0, Module(library, info, entries, globals_))


def _table(library: ctypes.CDLL, name: str, kind: Any) -> list[Any]:
    """The rows of a table of a twin, which a row without a name ends."""
    first = ctypes.addressof(kind.in_dll(library, name))
    rows = list[Any]()
    while True:
        row = kind.from_address(first + len(rows) * ctypes.sizeof(kind))
        if not row.name:
            return rows
        rows.append(row)


def cuModuleUnload(module: Module) -> tuple[CUresult]:
    code = NATIVE["drain"]()
    module.entries.clear()
    module.globals.clear()
    _ctypes.dlclose(module.library._handle)
    return done(code)


def cuModuleGetFunction(module: Module, name: bytes) -> tuple[Any, ...]:
    entry = module.entries.get(name)
    if entry is None:
        return answer(CUresult.CUDA_ERROR_NOT_FOUND, None)
    if module.info is None:
        fewer = FEWER_THREADS.get(name)  # PTX: those of the device runner's own kernels
        return answer(0, Function(entry, 1024, 0, 32, None, fewer_threads=fewer))
    told = module.info.entries[name.decode()]
    by_registers = 65536 // max(1, told.registers) // 32 * 32
    most = min(1024, told.max_threads or by_registers)
    made = Function(entry, most, told.static_shared, told.registers, told.exact_block)
    return answer(0, made)


def cuModuleGetGlobal(module: Module, name: bytes) -> tuple[Any, ...]:
    found = module.globals.get(name)
    if found is None:
        return answer(CUresult.CUDA_ERROR_NOT_FOUND, None, None)
    return answer(0, found.address, found.size)


def cuFuncGetAttribute(which: int, function: Function) -> tuple[Any, ...]:
    values = {
        MAX_THREADS: function.max_threads,
        STATIC_SHARED: function.static_shared,
        REGISTERS: function.registers,
        MAX_DYNAMIC: function.max_dynamic,
    }
    return answer(0, values[which])


def cuFuncSetAttribute(function: Function, which: int, value: int) -> tuple[CUresult]:
    if which == MAX_DYNAMIC:
        if value + function.static_shared > DEVICE["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"]:
            return done(INVALID)
        function.max_dynamic = value
    return done(0)


def cuFuncSetCacheConfig(function: Function, config: int) -> tuple[CUresult]:
    del function, config
    return done(0)


def cuOccupancyMaxActiveBlocksPerMultiprocessor(
    function: Function, threads: int, shared: int
) -> tuple[Any, ...]:
    warps = -(-threads // 32)
    limits = [
        MOST_BLOCKS,
        DEVICE["MAX_THREADS_PER_MULTIPROCESSOR"] // (32 * warps),
        65536 // (max(1, -(-function.registers // 8) * 8) * 32 * warps),
        DEVICE["MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"] // (shared + function.static_shared + 1024),
    ]
    return answer(0, min(limits) if threads <= function.max_threads else 0)
