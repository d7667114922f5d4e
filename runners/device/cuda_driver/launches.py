"""Launches with everything that costs host time done beforehand: parameters, attributes, maps."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from .driver import Bytes, Stream, binding, call
from .modules import Function

COOPERATIVE, CLUSTER, CLUSTER_POLICY, PROGRAMMATIC = 2, 4, 5, 6
"""CUlaunchAttributeID; the last is programmatic stream serialization"""
TENSOR_MAP_BYTES = 128
ALIGNMENT = 64
"""of a parameter on the host: a tensor map asks for it"""

Attribute = tuple[int, tuple[int, ...]]
"""A launch attribute: its number in CUlaunchAttributeID and its words."""


class Configuration:
    """A function with its grid, block, dynamic shared memory (bytes) and attributes: what launches
    of a step on any buffers have in common."""

    def __init__(
        self,
        function: Function,
        grid: Sequence[int],
        block: Sequence[int],
        shared: int,
        attributes: Sequence[Attribute] = (),
    ) -> None:
        cuda = binding()
        config = cuda.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = block
        config.sharedMemBytes = shared
        config.attrs = [_attribute(cuda, *each) for each in attributes]
        config.numAttrs = len(attributes)
        self._config, self._function = config, function

    def launch(self, stream: Stream, parameters: int) -> None:
        """Launch it. `parameters`: the address of pointers to them."""
        self._config.hStream = stream
        call("cuLaunchKernelEx", self._config, self._function, parameters, 0)


class PreparedLaunch:
    """A launch with everything that costs host time done: configured, and parameters copied."""

    def __init__(self, configuration: Configuration, params: Sequence[bytes]) -> None:
        self._configuration = configuration
        self._kept = _parameter_store(params)
        self._pointers = _address(self._kept[1])

    def enqueue(self, stream: Stream) -> None:
        """Launch it; the driver copies the parameters at once."""
        self._configuration.launch(stream, self._pointers)


def _attribute(cuda: Any, which: int, value: tuple[int, ...]) -> Any:
    made = cuda.CUlaunchAttribute()
    made.id = cuda.CUlaunchAttributeID(which)
    if which == CLUSTER:
        made.value.clusterDim.x, made.value.clusterDim.y, made.value.clusterDim.z = value
    elif which == CLUSTER_POLICY:
        made.value.clusterSchedulingPolicyPreference = cuda.CUclusterSchedulingPolicy(value[0])
    elif which == COOPERATIVE:
        made.value.cooperative = value[0]
    else:
        made.value.programmaticStreamSerializationAllowed = value[0]
    return made


def _parameter_store(params: Sequence[bytes]) -> tuple[Bytes, npt.NDArray[np.uint64]]:
    """The parameters one after the other, each at a multiple of ALIGNMENT, and their addresses."""
    offsets, size = _places(tuple(map(len, params)))
    store = np.zeros(size + ALIGNMENT, dtype=np.uint8)
    first = -(-_address(store) // ALIGNMENT) * ALIGNMENT
    data = b"".join(raw.ljust(_up(len(raw)), b"\0") for raw in params)
    base = first - _address(store)
    store[base : base + len(data)] = np.frombuffer(data, dtype=np.uint8)
    return store, offsets + np.uint64(first)


@lru_cache(maxsize=1024)
def _places(sizes: tuple[int, ...]) -> tuple[npt.NDArray[np.uint64], int]:
    """Offsets of parameters of these sizes (of one, where there are none), and bytes in all."""
    ends = list(accumulate(map(_up, sizes)))
    return np.array([0, *ends[:-1]], dtype=np.uint64), sum(map(_up, sizes))


def _up(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _address(array: npt.NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def encode_tensor_map(
    address: int,
    *,
    dtype: int,
    dims: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    element_strides: Sequence[int],
    interleave: int,
    swizzle: int,
    l2_promotion: int,
    nan_fill: bool,
) -> bytes:
    """The 128 bytes of a CUtensorMap, fields as cuTensorMapEncodeTiled takes them."""
    cuda = binding()
    made = call(
        "cuTensorMapEncodeTiled",
        cuda.CUtensorMapDataType(dtype),
        len(dims),
        address,
        [cuda.cuuint64_t(size) for size in dims],
        [cuda.cuuint64_t(stride) for stride in strides],
        [cuda.cuuint32_t(size) for size in box],
        [cuda.cuuint32_t(step) for step in element_strides],
        cuda.CUtensorMapInterleave(interleave),
        cuda.CUtensorMapSwizzle(swizzle),
        cuda.CUtensorMapL2promotion(l2_promotion),
        cuda.CUtensorMapFloatOOBfill(int(nan_fill)),
    )
    return ctypes.string_at(int(made.getPtr()), TENSOR_MAP_BYTES)
