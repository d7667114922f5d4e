"""What a pretended GPU is told to do: launches, on a stream or in a graph, and events."""

from __future__ import annotations

import ctypes
from typing import Any

from .code import cuOccupancyMaxActiveBlocksPerMultiprocessor
from .devices import DEVICE
from .native import NATIVE, PTR, U32, answer, done
from .words import INVALID, CUlaunchConfig, CUresult, Function

COOPERATIVE, CLUSTER = 2, 4


def cuStreamCreate(flags: int) -> tuple[Any, ...]:
    del flags
    return answer(0, 1)


def cuEventCreate(flags: int) -> tuple[Any, ...]:
    del flags
    return answer(0, NATIVE["event_create"]())


def cuEventDestroy(event: int) -> tuple[CUresult]:
    NATIVE["event_destroy"](event)
    return done(0)


def cuEventRecord(event: int, stream: object) -> tuple[CUresult]:
    del stream
    return done(NATIVE["event_record"](event))


def cuEventQuery(event: int) -> tuple[CUresult]:
    return done(NATIVE["event_query"](event))


def cuEventElapsedTime(start: int, end: int) -> tuple[Any, ...]:
    elapsed = ctypes.c_float()
    code = NATIVE["elapsed"](start, end, ctypes.byref(elapsed))
    return answer(code, elapsed.value)


def cuStreamBeginCapture(stream: object, mode: int) -> tuple[CUresult]:
    del stream, mode
    NATIVE["capture_begin"]()
    return done(0)


def cuStreamEndCapture(stream: object) -> tuple[Any, ...]:
    del stream
    graph = PTR()
    code = NATIVE["capture_end"](ctypes.byref(graph))
    return answer(code, graph.value)


def cuGraphInstantiate(graph: int, flags: int) -> tuple[Any, ...]:
    """The graph itself: `cuGraphDestroy` leaves it alone, `cuGraphExecDestroy` ends it."""
    del flags
    return answer(0, graph)


def cuGraphDestroy(graph: int) -> tuple[CUresult]:
    del graph
    return done(0)


def cuGraphUpload(graph: int, stream: object) -> tuple[CUresult]:
    del graph, stream
    return done(0)


def cuGraphLaunch(graph: int, stream: object) -> tuple[CUresult]:
    del stream
    return done(NATIVE["graph_launch"](graph))


def cuGraphExecDestroy(graph: int) -> tuple[CUresult]:
    NATIVE["graph_destroy"](graph)
    return done(0)


def cuLaunchKernelEx(
    config: CUlaunchConfig, function: Function, params: int, extra: int
) -> tuple[CUresult]:
    """Refuses what a driver refuses, and spoils a capture by it."""
    del extra
    refused = _refused(config, function)
    if refused:
        NATIVE["capture_spoil"]()
        return done(refused)
    block = (config.blockDimX, config.blockDimY, config.blockDimZ)
    if function.fewer_threads:
        block = (function.fewer_threads, 1, 1)
    dims = (U32 * 6)(config.gridDimX, config.gridDimY, config.gridDimZ, *block)
    together = any(a.id == COOPERATIVE and a.value.cooperative for a in config.attrs)
    entry = function.entry
    code = NATIVE["launch"](
        entry.call, dims, config.sharedMemBytes, int(together), params, entry.sizes, entry.count
    )
    return done(code)


def _refused(config: CUlaunchConfig, function: Function) -> int:
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
