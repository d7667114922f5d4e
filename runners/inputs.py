"""Input arrays from a seed: the same seed, workload and argument give the same bytes."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from .contract import BoundArgument, BoundContract
from .dtypes import is_float, numpy_dtype
from .errors import AccessError, SpecError

Array = npt.NDArray[Any]


def make_inputs(
    contract: BoundContract, seed: int, files: dict[str, str] | None = None
) -> dict[str, Array]:
    """A contiguous array of the contract's shape for every input and inout.

    `files` maps argument names to .npy files for init `file`. Raises SpecError or AccessError.
    """
    return {
        bound.name: _make(bound, _generator(bound, contract, seed), (files or {}).get(bound.name))
        for bound in contract.inputs
    }


def _generator(bound: BoundArgument, contract: BoundContract, seed: int) -> np.random.Generator:
    text = f"{seed}/{bound.name}/{sorted(contract.symbols.items())}"
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))


def _make(bound: BoundArgument, rng: np.random.Generator, file: str | None) -> Array:
    init, shape = bound.argument.filled, bound.shape
    dtype = numpy_dtype(bound.argument.dtype)
    match init.kind:
        case "randn":
            values: Array = rng.standard_normal(shape) * init.scale + init.shift
        case "uniform":
            values = rng.uniform(init.low, init.high, shape)
        case "randint":
            values = rng.integers(int(init.low), int(init.high), shape)
        case "zeros":
            values = np.zeros(shape)
        case "ones":
            values = np.ones(shape)
        case "full":
            values = np.full(shape, init.value)
        case "arange":
            values = (init.low + init.scale * np.arange(int(np.prod(shape)))).reshape(shape)
        case "file":
            values = _from_file(bound, file)
    if not is_float(bound.argument.dtype):
        values = np.rint(values)
    return np.ascontiguousarray(values.astype(dtype))


def _from_file(bound: BoundArgument, file: str | None) -> Array:
    try:
        values: Array = np.load(file or "", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise AccessError(f"init of `{bound.name}`: {error}", valid="a .npy file") from error
    if values.shape != bound.shape:
        raise SpecError(
            f"init of `{bound.name}`: the file has shape {values.shape}", valid=str(bound.shape)
        )
    return values


def pack(bound: BoundArgument, values: Array, into: npt.NDArray[np.uint8]) -> None:
    """Lay an array out in `into` (bound.nbytes) with the contract's strides."""
    _strided(bound, into)[...] = values


def unpack(bound: BoundArgument, data: npt.NDArray[np.uint8]) -> Array:
    """A contiguous copy of an array that lies in `data` with the contract's strides."""
    return np.ascontiguousarray(_strided(bound, data))


def _strided(bound: BoundArgument, data: npt.NDArray[np.uint8]) -> Array:
    dtype = numpy_dtype(bound.argument.dtype)
    flat = data[: bound.nbytes].view(dtype)
    steps = tuple(stride * dtype.itemsize for stride in bound.strides)
    return np.lib.stride_tricks.as_strided(flat, bound.shape, steps)
