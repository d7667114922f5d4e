"""The types of the pretended binding: answers, attributes, configurations, loaded code."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from kernelwright.runners.machine_code.cubin import CubinInfo

PLAIN_SHARED = 48 << 10


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


class _Names:
    """An enumeration of names: each is its own value."""

    def __getattr__(self, name: str) -> str:
        return name


CUdevice_attribute = _Names()
CUlimit = CUfunction_attribute = CUfunc_cache = CUstreamCaptureMode = int
CUlaunchAttributeID = CUclusterSchedulingPolicy = int


@dataclass(frozen=True)
class Memory:
    """Memory that was made and may be mapped, of so many bytes."""

    nbytes: int


class _Place:
    """Where memory is and who may reach it: there is one GPU, which reaches all of its own."""

    def __init__(self) -> None:
        self.location = _Location()
        self.type = self.flags = 0


@dataclass
class _Location:
    type: int = 0
    id: int = 0


CUmemAllocationProp = CUmemAccessDesc = _Place
CUmemAllocationType = CUmemLocationType = _Names()
CUmemAccess_flags = CUmemAllocationGranularity_flags = _Names()


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
class Uuid:
    bytes: bytes


class Entry(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("call", ctypes.c_void_p),
        ("sizes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )


class Global(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("size", ctypes.c_uint64),
    )


@dataclass
class Module:
    library: ctypes.CDLL
    info: CubinInfo | None
    entries: dict[bytes, Entry]
    globals: dict[bytes, Global]


@dataclass
class Function:
    entry: Entry
    max_threads: int
    static_shared: int
    registers: int
    exact_block: tuple[int, int, int] | None
    max_dynamic: int = PLAIN_SHARED
    fewer_threads: int | None = None
    """how many of a block do its work, where that is the same"""
