"""A GPU that is not there: what the device tier uses of `cuda.bindings.driver`.

Names and answers are those of the binding: each call returns a tuple that begins with a CUresult.
Memory, queue, events and graphs are in C++ (`runtime/driver.cpp`), which this file calls with
numbers. What is not here is not pretended, and says so. Settings come from the environment:
PRETEND_GPU_TWINS (folder of twins), PRETEND_GPU_MEMORY (bytes), PRETEND_GPU_COUNT.
"""

from __future__ import annotations

import _ctypes
import ctypes
import hashlib
import os
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, NoReturn

from kernelwright.runners.errors import SpecError
from kernelwright.runners.machine_code.cubin import CubinInfo, read_cubin

TWINS = Path(os.environ["PRETEND_GPU_TWINS"])
MEMORY = int(os.environ.get("PRETEND_GPU_MEMORY", 256 << 20))
COUNT = int(os.environ.get("PRETEND_GPU_COUNT", 1))
NAME = "NVIDIA H100 80GB HBM3"
CAPABILITY = 90
DEVICE = {
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MULTIPROCESSOR_COUNT": 4,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232448,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 233472,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "L2_CACHE_SIZE": 64 << 10,
    "CLOCK_RATE": 1980000,
    "MEMORY_CLOCK_RATE": 2619000,
    "GLOBAL_MEMORY_BUS_WIDTH": 5120,
}
"""Few multiprocessors and a small cache: what fills or flushes them is soon done."""
PLAIN_SHARED = 48 << 10
MOST_BLOCKS = 32


class CUresult(IntEnum):
    """Those that the pretended driver answers with."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_IMAGE = 200
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701
    CUDA_ERROR_ASSERT = 710
    CUDA_ERROR_MISALIGNED_ADDRESS = 716
    CUDA_ERROR_INVALID_PC = 718
    CUDA_ERROR_LAUNCH_FAILED = 719
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901
    CUDA_ERROR_INVALID_CLUSTER_SIZE = 912


OK = CUresult.CUDA_SUCCESS
INVALID = CUresult.CUDA_ERROR_INVALID_VALUE
COOPERATIVE, CLUSTER = 2, 4
MAX_THREADS, STATIC_SHARED, REGISTERS, MAX_DYNAMIC = 0, 1, 4, 8


class _Names:
    """An enumeration of names: each is its own value."""

    def __getattr__(self, name: str) -> str:
        return name


CUdevice_attribute = _Names()
CUlimit = CUfunction_attribute = CUfunc_cache = CUstreamCaptureMode = int
CUlaunchAttributeID = CUclusterSchedulingPolicy = int


@dataclass
class _Dim:
    x: int = 1
    y: int = 1
    z: int = 1


@dataclass
class _Value:
    clusterDim: _Dim = field(default_factory=_Dim)
    clusterSchedulingPolicyPreference: int = 0
    cooperative: int = 0
    programmaticStreamSerializationAllowed: int = 0


@dataclass
class CUlaunchAttribute:
    """As of the binding."""

    id: int = 0
    value: _Value = field(default_factory=_Value)


@dataclass
class CUlaunchConfig:
    """As of the binding."""

    gridDimX: int = 1
    gridDimY: int = 1
    gridDimZ: int = 1
    blockDimX: int = 1
    blockDimY: int = 1
    blockDimZ: int = 1
    sharedMemBytes: int = 0
    hStream: object = None
    attrs: Sequence[CUlaunchAttribute] = ()
    numAttrs: int = 0


@dataclass(frozen=True)
class _Uuid:
    bytes: bytes


class _Entry(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("call", ctypes.c_void_p),
        ("sizes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )


class _Global(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("size", ctypes.c_uint64),
    )


@dataclass
class _Module:
    library: ctypes.CDLL
    info: CubinInfo | None
    entries: dict[bytes, _Entry]
    globals: dict[bytes, _Global]


@dataclass
class _Function:
    entry: _Entry
    max_threads: int
    static_shared: int
    registers: int
    exact_block: tuple[int, int, int] | None
    max_dynamic: int = PLAIN_SHARED


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"the pretended driver has no `{name}`: write it in tests/pretend_gpu/shadow, or mark the "
        "test that needs it `gpu`"
    )


_library = ctypes.CDLL("libcuda.so.1")
_U64, _U32, _PTR = ctypes.c_uint64, ctypes.c_uint, ctypes.c_void_p
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "init": (ctypes.c_int, (_U64,)),
    "broken": (ctypes.c_int, ()),
    "allocate": (ctypes.c_int, (_U64, _PTR)),
    "free": (ctypes.c_int, (_U64,)),
    "free_bytes": (_U64, ()),
    "host_allocate": (_U64, (_U64,)),
    "upload": (ctypes.c_int, (_U64, _PTR, _U64)),
    "download": (ctypes.c_int, (_PTR, _U64, _U64)),
    "copy": (ctypes.c_int, (_U64, _U64, _U64)),
    "fill": (ctypes.c_int, (_U64, _U64, _U32, _U32, _U64)),
    "launch": (ctypes.c_int, (_U64, _PTR, _U32, ctypes.c_int, _PTR, _PTR, _U32)),
    "event_create": (_PTR, ()),
    "event_destroy": (None, (_PTR,)),
    "event_record": (ctypes.c_int, (_PTR,)),
    "event_query": (ctypes.c_int, (_PTR,)),
    "elapsed": (ctypes.c_int, (_PTR, _PTR, _PTR)),
    "drain": (ctypes.c_int, ()),
    "capture_begin": (None, ()),
    "capture_spoil": (None, ()),
    "capture_end": (ctypes.c_int, (_PTR,)),
    "graph_launch": (ctypes.c_int, (_PTR,)),
    "graph_destroy": (None, (_PTR,)),
}


def _native(name: str) -> Any:
    function = getattr(_library, f"pretend_{name}")
    function.restype, function.argtypes = _SIGNATURES[name]
    return function


_c = {name: _native(name) for name in _SIGNATURES}


def _done(code: int) -> tuple[CUresult]:
    """What a call answers; once a kernel has broken the context, that, whatever was asked."""
    return (CUresult(_c["broken"]() or code),)


def _answer(code: int, *values: object) -> tuple[Any, ...]:
    (status,) = _done(code)
    return (status, *values)


# Devices


def uuid_of(number: int) -> uuid.UUID:
    """Of a pretended GPU; any UUID does that no real one has."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"kernelwright:pretended-gpu:{number}")


def _visible() -> list[int]:
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    if shown is None:
        return list(range(COUNT))
    names = {f"GPU-{uuid_of(n)}": n for n in range(COUNT)} | {str(n): n for n in range(COUNT)}
    return [names[part] for part in shown.split(",") if part in names]


_devices = _visible()


def cuInit(flags: int) -> tuple[CUresult]:
    """No device: an error, as of a driver."""
    del flags
    if not _devices:
        return (CUresult.CUDA_ERROR_NO_DEVICE,)
    return (CUresult(_c["init"](MEMORY)),)


def cuDeviceGetCount() -> tuple[Any, ...]:
    return _answer(0, len(_devices))


def cuDeviceGetAttribute(attribute: str, device: int) -> tuple[Any, ...]:
    del device
    return _answer(0, DEVICE[attribute.removeprefix("CU_DEVICE_ATTRIBUTE_")])


def cuDeviceGetName(length: int, device: int) -> tuple[Any, ...]:
    del device
    return _answer(0, NAME.encode().ljust(length, b"\0"))


def cuDeviceGetUuid(device: int) -> tuple[Any, ...]:
    return _answer(0, _Uuid(uuid_of(_devices[device]).bytes))


def cuDeviceTotalMem(device: int) -> tuple[Any, ...]:
    del device
    return _answer(0, MEMORY)


def cuDevicePrimaryCtxRetain(device: int) -> tuple[Any, ...]:
    return _answer(0, device)


def cuCtxSetCurrent(context: object) -> tuple[CUresult]:
    del context
    return _done(0)


def cuCtxSetLimit(which: int, value: int) -> tuple[CUresult]:
    del which, value
    return _done(0)


def cuCtxResetPersistingL2Cache() -> tuple[CUresult]:
    return _done(0)


def cuCtxSynchronize() -> tuple[CUresult]:
    return _done(_c["drain"]())


# Memory


def cuMemAlloc(nbytes: int) -> tuple[Any, ...]:
    address = _U64()
    code = _c["allocate"](nbytes, ctypes.byref(address))
    return _answer(code, address.value)


def cuMemFree(address: int) -> tuple[CUresult]:
    return _done(_c["free"](address))


def cuMemGetInfo() -> tuple[Any, ...]:
    return _answer(0, _c["free_bytes"](), MEMORY)


def cuMemHostAlloc(nbytes: int, flags: int) -> tuple[Any, ...]:
    del flags
    return _answer(0, _c["host_allocate"](nbytes))


def cuMemHostGetDevicePointer(address: int, flags: int) -> tuple[Any, ...]:
    del flags
    return _answer(0, address)


def cuMemcpyHtoDAsync(target: int, source: int, nbytes: int, stream: object) -> tuple[CUresult]:
    del stream
    return _done(_c["upload"](target, source, nbytes))


def cuMemcpyDtoH(target: int, source: int, nbytes: int) -> tuple[CUresult]:
    return _done(_c["download"](target, source, nbytes))


def cuMemcpyDtoHAsync(target: int, source: int, nbytes: int, stream: object) -> tuple[CUresult]:
    del stream  # the target is memory that is not pinned: done when this returns
    return _done(_c["drain"]() or _c["download"](target, source, nbytes))


def cuMemcpyDtoDAsync(target: int, source: int, nbytes: int, stream: object) -> tuple[CUresult]:
    del stream
    return _done(_c["copy"](target, source, nbytes))


def _fill(address: int, pitch: int, width: int, value: int, count: int) -> tuple[CUresult]:
    return _done(_c["fill"](address, pitch, width, value, count))


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


# Code


def cuModuleLoadData(image: bytes) -> tuple[Any, ...]:
    """Loads the twin of these bytes, a copy of its own with variables of its own."""
    info: CubinInfo | None = None
    if image[:4] == b"\x7fELF":
        try:
            info = read_cubin(image)
        except SpecError:
            return _answer(CUresult.CUDA_ERROR_INVALID_IMAGE, None)
        if info.capability != CAPABILITY:
            return _answer(CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU, None)
    twin = TWINS / f"{hashlib.sha256(image).hexdigest()}.so"
    if not twin.exists():
        raise RuntimeError(f"no twin of this machine code: {twin}; see tests/pretend_gpu/README.md")
    with tempfile.NamedTemporaryFile(suffix=".so") as copy:  # a name and an inode of its own
        copy.write(twin.read_bytes())
        copy.flush()
        library = ctypes.CDLL(copy.name)
    entries = {e.name: e for e in _table(library, "pretend_entries", _Entry)}
    globals_ = {g.name: g for g in _table(library, "pretend_globals", _Global)}
    return _answer(0, _Module(library, info, entries, globals_))


def _table(library: ctypes.CDLL, name: str, kind: Any) -> list[Any]:
    """The rows of a table of a twin, which a row without a name ends."""
    first = ctypes.addressof(kind.in_dll(library, name))
    rows = list[Any]()
    while True:
        row = kind.from_address(first + len(rows) * ctypes.sizeof(kind))
        if not row.name:
            return rows
        rows.append(row)


def cuModuleUnload(module: _Module) -> tuple[CUresult]:
    code = _c["drain"]()
    module.entries.clear()
    module.globals.clear()
    _ctypes.dlclose(module.library._handle)
    return _done(code)


def cuModuleGetFunction(module: _Module, name: bytes) -> tuple[Any, ...]:
    entry = module.entries.get(name)
    if entry is None:
        return _answer(CUresult.CUDA_ERROR_NOT_FOUND, None)
    if module.info is None:
        return _answer(0, _Function(entry, 1024, 0, 32, None))
    told = module.info.entries[name.decode()]
    by_registers = 65536 // max(1, told.registers) // 32 * 32
    most = min(1024, told.max_threads or by_registers)
    made = _Function(entry, most, told.static_shared, told.registers, told.exact_block)
    return _answer(0, made)


def cuModuleGetGlobal(module: _Module, name: bytes) -> tuple[Any, ...]:
    found = module.globals.get(name)
    if found is None:
        return _answer(CUresult.CUDA_ERROR_NOT_FOUND, None, None)
    return _answer(0, found.address, found.size)


def cuFuncGetAttribute(which: int, function: _Function) -> tuple[Any, ...]:
    values = {
        MAX_THREADS: function.max_threads,
        STATIC_SHARED: function.static_shared,
        REGISTERS: function.registers,
        MAX_DYNAMIC: function.max_dynamic,
    }
    return _answer(0, values[which])


def cuFuncSetAttribute(function: _Function, which: int, value: int) -> tuple[CUresult]:
    if which == MAX_DYNAMIC:
        if value + function.static_shared > DEVICE["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"]:
            return _done(INVALID)
        function.max_dynamic = value
    return _done(0)


def cuFuncSetCacheConfig(function: _Function, config: int) -> tuple[CUresult]:
    del function, config
    return _done(0)


def cuOccupancyMaxActiveBlocksPerMultiprocessor(
    function: _Function, threads: int, shared: int
) -> tuple[Any, ...]:
    warps = -(-threads // 32)
    limits = [
        MOST_BLOCKS,
        DEVICE["MAX_THREADS_PER_MULTIPROCESSOR"] // (32 * warps),
        65536 // (max(1, -(-function.registers // 8) * 8) * 32 * warps),
        DEVICE["MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"] // (shared + function.static_shared + 1024),
    ]
    return _answer(0, min(limits) if threads <= function.max_threads else 0)


# Streams, events, graphs


def cuStreamCreate(flags: int) -> tuple[Any, ...]:
    del flags
    return _answer(0, 1)


def cuEventCreate(flags: int) -> tuple[Any, ...]:
    del flags
    return _answer(0, _c["event_create"]())


def cuEventDestroy(event: int) -> tuple[CUresult]:
    _c["event_destroy"](event)
    return _done(0)


def cuEventRecord(event: int, stream: object) -> tuple[CUresult]:
    del stream
    return _done(_c["event_record"](event))


def cuEventQuery(event: int) -> tuple[CUresult]:
    return _done(_c["event_query"](event))


def cuEventElapsedTime(start: int, end: int) -> tuple[Any, ...]:
    elapsed = ctypes.c_float()
    code = _c["elapsed"](start, end, ctypes.byref(elapsed))
    return _answer(code, elapsed.value)


def cuStreamBeginCapture(stream: object, mode: int) -> tuple[CUresult]:
    del stream, mode
    _c["capture_begin"]()
    return _done(0)


def cuStreamEndCapture(stream: object) -> tuple[Any, ...]:
    del stream
    graph = _PTR()
    code = _c["capture_end"](ctypes.byref(graph))
    return _answer(code, graph.value)


def cuGraphInstantiate(graph: int, flags: int) -> tuple[Any, ...]:
    """The graph itself: `cuGraphDestroy` leaves it alone, `cuGraphExecDestroy` ends it."""
    del flags
    return _answer(0, graph)


def cuGraphDestroy(graph: int) -> tuple[CUresult]:
    del graph
    return _done(0)


def cuGraphUpload(graph: int, stream: object) -> tuple[CUresult]:
    del graph, stream
    return _done(0)


def cuGraphLaunch(graph: int, stream: object) -> tuple[CUresult]:
    del stream
    return _done(_c["graph_launch"](graph))


def cuGraphExecDestroy(graph: int) -> tuple[CUresult]:
    _c["graph_destroy"](graph)
    return _done(0)


def cuLaunchKernelEx(
    config: CUlaunchConfig, function: _Function, params: int, extra: int
) -> tuple[CUresult]:
    """Refuses what a driver refuses, and spoils a capture by it."""
    del extra
    refused = _refused(config, function)
    if refused:
        _c["capture_spoil"]()
        return _done(refused)
    dims = (_U32 * 6)(
        config.gridDimX, config.gridDimY, config.gridDimZ,
        config.blockDimX, config.blockDimY, config.blockDimZ,
    )  # fmt: skip
    together = any(a.id == COOPERATIVE and a.value.cooperative for a in config.attrs)
    entry = function.entry
    code = _c["launch"](
        entry.call, dims, config.sharedMemBytes, int(together), params, entry.sizes, entry.count
    )
    return _done(code)


def _refused(config: CUlaunchConfig, function: _Function) -> int:
    grid = (config.gridDimX, config.gridDimY, config.gridDimZ)
    block = (config.blockDimX, config.blockDimY, config.blockDimZ)
    threads = block[0] * block[1] * block[2]
    if min(*grid, *block) < 1 or grid[0] >= 1 << 31 or max(grid[1:]) > 65535 or block[2] > 64:
        return INVALID
    if threads > 1024 or config.sharedMemBytes > function.max_dynamic:
        return INVALID
    if function.exact_block not in (None, block):
        return INVALID
    if threads > function.max_threads:
        return CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
    for each in config.attrs:
        cluster = (each.value.clusterDim.x, each.value.clusterDim.y, each.value.clusterDim.z)
        if each.id == CLUSTER and any(g % c for g, c in zip(grid, cluster, strict=True)):
            return CUresult.CUDA_ERROR_INVALID_CLUSTER_SIZE
        if each.id == COOPERATIVE and each.value.cooperative:
            shared = config.sharedMemBytes
            found = cuOccupancyMaxActiveBlocksPerMultiprocessor(function, threads, shared)
            most = int(found[1]) * DEVICE["MULTIPROCESSOR_COUNT"]
            if grid[0] * grid[1] * grid[2] > most:
                return CUresult.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
    return 0
