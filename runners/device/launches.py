"""Launches with everything that costs host time done beforehand: parameters, attributes, maps."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .driver import Bytes, Function, Stream, binding, call

COOPERATIVE, CLUSTER, CLUSTER_POLICY, PROGRAMMATIC = 2, 4, 5, 6
"""CUlaunchAttributeID; the last is programmatic stream serialization"""
TENSOR_MAP_BYTES = 128

Attribute = tuple[int, tuple[int, ...]]
"""A launch attribute: its number in CUlaunchAttributeID and its words."""


class PreparedLaunch:
    """A launch with everything that costs host time done: parameters copied, attributes set."""

    def __init__(
        self,
        function: Function,
        grid: Sequence[int],
        block: Sequence[int],
        shared: int,
        params: Sequence[bytes],
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
        self._store, self._pointers = _parameter_store(params)

    def enqueue(self, stream: Stream) -> None:
        """Launch it; the driver copies the parameters at once."""
        self._config.hStream = stream
        call("cuLaunchKernelEx", self._config, self._function, self._pointers.ctypes.data, 0)


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
    """The parameters one after the other, each at a multiple of 64, and their addresses."""
    offsets = list[int]()
    size = 64
    for raw in params:
        offsets.append(size)
        size += -(-len(raw) // 64) * 64
    store = np.zeros(size + 64, dtype=np.uint8)
    base = -(-store.ctypes.data // 64) * 64 - store.ctypes.data
    for offset, raw in zip(offsets, params, strict=True):
        store[base + offset : base + offset + len(raw)] = np.frombuffer(raw, dtype=np.uint8)
    first = store.ctypes.data + base
    return store, np.array([first + offset for offset in offsets] or [0], dtype=np.uint64)


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
