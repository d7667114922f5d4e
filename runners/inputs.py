"""Input arrays from a seed: the same seed, workload and argument give the same bytes."""

from __future__ import annotations

import hashlib
from typing import Any, cast

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
        values = _whole(bound, values, dtype)
    return np.ascontiguousarray(values.astype(dtype))


def _whole(bound: BoundArgument, values: Array, dtype: np.dtype[Any]) -> Array:
    """Values that the integer dtype holds. Raises SpecError rather than let them wrap."""
    if values.dtype.kind == "f":
        values = np.rint(values)
    low, high = (0, 1) if dtype == np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    # a float compares exactly with a Python int only one by one; NaN fails both
    if values.size and not (_exactly(values.min()) >= low and _exactly(values.max()) <= high):
        raise SpecError(
            f"init of `{bound.name}`: {values.min()} to {values.max()} does not fit "
            f"{bound.argument.dtype}",
            valid=f"{low} to {high}",
        )
    return values


def _exactly(value: Any) -> int | float:
    """A numpy number as one of Python's, whole if it is finite."""
    return int(value) if np.isfinite(value) else float(value)


def _from_file(bound: BoundArgument, file: str | None) -> Array:
    name = f"init of `{bound.name}`"
    try:
        values: Any = np.load(file or "", allow_pickle=False)
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise AccessError(f"{name}: {error}", valid="a .npy file") from error
    if not isinstance(values, np.ndarray):
        raise AccessError(f"{name}: the file holds several arrays", valid="a .npy file")
    array = cast(Array, values)
    dtype = numpy_dtype(bound.argument.dtype)
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize and dtype.itemsize <= 2:
        array = array.view(dtype)  # numpy writes bfloat16 and fp8 as bytes without a name
    if array.dtype != dtype and array.dtype.kind not in "biuf":
        raise SpecError(
            f"{name}: the file holds {array.dtype}", valid=f"numbers that fit {dtype.name}"
        )
    if array.shape != bound.shape:
        raise SpecError(f"{name}: the file has shape {array.shape}", valid=str(bound.shape))
    return array


def pack(bound: BoundArgument, values: Array, into: npt.NDArray[np.uint8]) -> None:
    """Lay an array out in `into` (bound.nbytes) with the contract's strides."""
    _strided(bound, into)[...] = values


def unpack(bound: BoundArgument, data: npt.NDArray[np.uint8]) -> Array:
    """A contiguous copy of an array that lies in `data` with the contract's strides."""
    return _strided(bound, data).copy(order="C")


def _strided(bound: BoundArgument, data: npt.NDArray[np.uint8]) -> Array:
    dtype = numpy_dtype(bound.argument.dtype)
    steps = tuple(stride * dtype.itemsize for stride in bound.strides)
    return np.ndarray(bound.shape, dtype, data, strides=steps)
