"""The CUDA driver as the rest of this package uses it: typed, and every error an exception.

Stands on `cuda.bindings.driver` (package cuda-bindings). `benchmarks/driver_bindings.py` compared
three ways on an H100: a launch costs 5.5 us of host time through this module, 4.7 through cupy and
4.0 through ctypes, a graph 1.9, 1.4 and 1.7; until the first kernel has run it takes 0.41, 0.53 and
0.20 s. Those differences lie outside what is timed. What decides is that cuda-bindings knows the
whole driver API with its structures: cupy has no launch attributes and no tensor maps, and with
ctypes every structure and constant would be ours to keep right.

Device addresses are plain integers. Calls raise DriverFault, OutOfDeviceMemory, or
ToolchainMissing when there is no binding or no driver.
"""

from __future__ import annotations

import ctypes
import importlib
from dataclasses import dataclass
from functools import cache
from typing import Any, NewType

import numpy as np
import numpy.typing as npt

from ...errors import ToolchainMissing
from .faults import DriverFault, OutOfDeviceMemory

Stream = NewType("Stream", object)
Event = NewType("Event", object)
GraphExec = NewType("GraphExec", object)
Bytes = npt.NDArray[np.uint8]

LIBRARY = "libcuda.so.1"
NO_DRIVER = "no NVIDIA driver on this machine"
LIMIT_PRINTF, LIMIT_HEAP, LIMIT_PERSISTING_L2 = 1, 2, 6
"""CUlimit"""


@cache
def binding() -> Any:
    """The module of cuda-bindings, with the driver initialised."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise ToolchainMissing(NO_DRIVER) from error
    try:
        found: Any = importlib.import_module("cuda.bindings.driver")
    except ImportError as error:
        raise ToolchainMissing(
            "the Python package cuda-bindings is not installed (pip install "
            "'kernelwright[cuda13]', or cuda12, as nvidia-smi's CUDA version says)",
        ) from error
    try:
        code = found.cuInit(0)[0]
    except RuntimeError as error:  # the library of the driver cannot be loaded
        raise ToolchainMissing(NO_DRIVER) from error
    if int(code):
        raise DriverFault(str(code.name), "cuInit")
    return found


def call(name: str, *args: object) -> Any:
    """One call of the driver: what it returns beside its status, None, or a tuple of several."""
    cuda = binding()
    code, *values = getattr(cuda, name)(*args)
    if int(code):
        kind = OutOfDeviceMemory if int(code) == 2 else DriverFault
        raise kind(str(code.name), name)
    return values[0] if len(values) == 1 else tuple(values) or None


def device_count() -> int:
    """GPUs that the driver shows to this process."""
    return int(call("cuDeviceGetCount"))


def device_attribute(name: str, device: int = 0) -> int:
    """By the name of its CU_DEVICE_ATTRIBUTE."""
    attribute = getattr(binding().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(call("cuDeviceGetAttribute", attribute, device))


def device_name(device: int = 0) -> str:
    """As the driver calls it: NVIDIA H100 80GB HBM3."""
    return bytes(call("cuDeviceGetName", 128, device)).split(b"\0")[0].decode()


def device_uuid(device: int = 0) -> str:
    """As nvidia-smi prints it: GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx."""
    digits = bytes(call("cuDeviceGetUuid", device).bytes)[:16].hex()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "GPU-" + "-".join(parts)


def device_memory(device: int = 0) -> int:
    """Bytes in all."""
    return int(call("cuDeviceTotalMem", device))


def make_current(device: int = 0) -> None:
    """Give the calling thread the device's primary context."""
    context = call("cuDevicePrimaryCtxRetain", device)
    call("cuCtxSetCurrent", context)


def limit(which: int, value: int) -> None:
    """Set a limit of the context; one that this device does not know is left alone."""
    try:
        call("cuCtxSetLimit", binding().CUlimit(which), value)
    except DriverFault as fault:
        if fault.name not in ("CUDA_ERROR_UNSUPPORTED_LIMIT", "CUDA_ERROR_INVALID_VALUE"):
            raise


def reset_persisting_l2() -> None:
    """Let go of cache lines that an earlier kernel asked to keep."""
    call("cuCtxResetPersistingL2Cache")


def synchronize() -> None:
    """Wait for all work of the context."""
    call("cuCtxSynchronize")


def start_profiling() -> None:
    """From here on a profiler that was told to wait for it looks at launches."""
    call("cuProfilerStart")


def stop_profiling() -> None:
    """It looks at no more of them."""
    call("cuProfilerStop")


# Memory


def allocate(nbytes: int) -> int:
    """Device memory, aligned to 256 bytes or better."""
    return int(call("cuMemAlloc", max(1, nbytes)))


def free(address: int) -> None:
    """Give memory back; waits for work that uses it."""
    call("cuMemFree", address)


def free_memory() -> int:
    """Bytes that are free now."""
    return int(call("cuMemGetInfo")[0])


def upload(stream: Stream, address: int, data: Bytes) -> None:
    """Copy host bytes (contiguous, pageable) to the device, in order with the stream's work.

    They may change once this returns.
    """
    if data.size:
        call("cuMemcpyHtoDAsync", address, data.ctypes.data, data.size, stream)


def download(address: int, nbytes: int) -> Bytes:
    """A host copy of device bytes; waits for no stream."""
    data = np.empty(nbytes, dtype=np.uint8)
    if nbytes:
        call("cuMemcpyDtoH", data.ctypes.data, address, nbytes)
    return data


def fetch(stream: Stream, address: int, nbytes: int) -> Bytes:
    """A host copy of device bytes, once the stream has done all before it: to memory that is not
    pinned the driver copies before it returns."""
    data = np.empty(nbytes, dtype=np.uint8)
    if nbytes:
        call("cuMemcpyDtoHAsync", data.ctypes.data, address, nbytes, stream)
    return data


def copy(stream: Stream, target: int, source: int, nbytes: int) -> None:
    """Device to device, asynchronous."""
    call("cuMemcpyDtoDAsync", target, source, nbytes, stream)


@dataclass(frozen=True, slots=True)
class Memset:
    """`count` values of `width` bytes (1, 2 or 4), each `pitch` bytes after the last.

    `address` must be a multiple of `width`.
    """

    address: int
    width: int
    value: int
    count: int
    pitch: int

    def enqueue(self, stream: Stream) -> None:
        """Write them."""
        bits = 8 * self.width
        if self.pitch == self.width:
            call(f"cuMemsetD{bits}Async", self.address, self.value, self.count, stream)
        else:
            call(
                f"cuMemsetD2D{bits}Async",
                self.address,
                self.pitch,
                self.value,
                1,
                self.count,
                stream,
            )


class HostWords:
    """Words (uint32) of host memory that the device reads and writes as well."""

    def __init__(self, count: int) -> None:
        address = int(call("cuMemHostAlloc", 4 * count, 2))  # CU_MEMHOSTALLOC_DEVICEMAP
        self.device = int(call("cuMemHostGetDevicePointer", address, 0))
        buffer = (ctypes.c_uint32 * count).from_address(address)
        self.words: npt.NDArray[np.uint32] = np.ctypeslib.as_array(buffer)
        self.words[:] = 0

    def address(self, index: int) -> int:
        """The device's address of a word."""
        return self.device + 4 * index


# Streams, events, graphs


def make_stream() -> Stream:
    """A stream that does not wait for the default stream."""
    return call("cuStreamCreate", 1)


def make_event(*, timed: bool = True) -> Event:
    """An event; without a clock it costs less."""
    return call("cuEventCreate", 0 if timed else 2)


def destroy_event(event: Event) -> None:
    """Give an event back."""
    call("cuEventDestroy", event)


def record(event: Event, stream: Stream) -> None:
    """Mark this place in the stream."""
    call("cuEventRecord", event, stream)


def is_done(event: Event) -> bool:
    """Whether the work before the event is done. Raises what that work broke."""
    code = binding().cuEventQuery(event)[0]
    if int(code) == 600:  # CUDA_ERROR_NOT_READY
        return False
    if int(code):
        raise DriverFault(str(code.name), "cuEventQuery")
    return True


def elapsed_ms(start: Event, end: Event) -> float:
    """Milliseconds between two events that are done."""
    return float(call("cuEventElapsedTime", start, end))


def begin_capture(stream: Stream) -> None:
    """From here on, work on the stream is noted instead of done."""
    call("cuStreamBeginCapture", stream, binding().CUstreamCaptureMode(2))  # relaxed


def end_capture(stream: Stream, *, keep: bool = True) -> GraphExec | None:
    """What was noted, ready to be launched as one, on the device; None: thrown away."""
    if not keep:  # a capture that a refused launch has broken ends with an error of its own
        code, graph = binding().cuStreamEndCapture(stream)
        if not int(code):
            call("cuGraphDestroy", graph)
        return None
    graph = call("cuStreamEndCapture", stream)
    try:
        made = call("cuGraphInstantiate", graph, 0)
    finally:
        call("cuGraphDestroy", graph)
    call("cuGraphUpload", made, stream)
    return made


def launch_graph(graph: GraphExec, stream: Stream) -> None:
    """Do what was noted."""
    call("cuGraphLaunch", graph, stream)


def destroy_graph(graph: GraphExec) -> None:
    """Give a graph back."""
    call("cuGraphExecDestroy", graph)
