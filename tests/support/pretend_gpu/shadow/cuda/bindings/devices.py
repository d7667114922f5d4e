"""Pretended GPUs: which there are, what they are like, and their contexts."""

from __future__ import annotations

import os
import uuid
from typing import Any

from .memory import MEMORY
from .native import NATIVE, answer, done
from .words import CUresult, Uuid

COUNT = int(os.environ.get("PRETEND_GPU_COUNT", 1))
NAME = "NVIDIA H100 80GB HBM3"
DEVICE = {
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MULTIPROCESSOR_COUNT": 4,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232448,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 233472,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "L2_CACHE_SIZE": 64 << 10,
    "VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED": 1,
    "CLOCK_RATE": 1980000,
    "MEMORY_CLOCK_RATE": 2619000,
    "GLOBAL_MEMORY_BUS_WIDTH": 5120,
}
"""Few multiprocessors and a small cache: what fills or flushes them is soon done."""


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
    return (CUresult(NATIVE["init"](MEMORY)),)


def cuDeviceGetCount() -> tuple[Any, ...]:
    return answer(0, len(_devices))


def cuDeviceGetAttribute(attribute: str, device: int) -> tuple[Any, ...]:
    del device
    return answer(0, DEVICE[attribute.removeprefix("CU_DEVICE_ATTRIBUTE_")])


def cuDeviceGetName(length: int, device: int) -> tuple[Any, ...]:
    del device
    return answer(0, NAME.encode().ljust(length, b"\0"))


def cuDeviceGetUuid(device: int) -> tuple[Any, ...]:
    return answer(0, Uuid(uuid_of(_devices[device]).bytes))


def cuDeviceTotalMem(device: int) -> tuple[Any, ...]:
    del device
    return answer(0, MEMORY)


def cuDevicePrimaryCtxRetain(device: int) -> tuple[Any, ...]:
    return answer(0, device)


def cuCtxSetCurrent(context: object) -> tuple[CUresult]:
    del context
    return done(0)


def cuCtxSetLimit(which: int, value: int) -> tuple[CUresult]:
    del which, value
    return done(0)


def cuCtxResetPersistingL2Cache() -> tuple[CUresult]:
    return done(0)


def cuProfilerStart() -> tuple[CUresult]:
    return done(0)


def cuProfilerStop() -> tuple[CUresult]:
    return done(0)


def cuCtxSynchronize() -> tuple[CUresult]:
    return done(NATIVE["drain"]())
