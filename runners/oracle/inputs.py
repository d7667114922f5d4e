"""Input arrays from a seed: the same seed, workload and argument give the same bytes."""

from __future__ import annotations

import hashlib
import math
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..dtypes import is_float, numpy_dtype
from ..errors import AccessError, SpecError
from ..specs.contract import BoundArgument, BoundContract
from ..specs.io_contract import StressKind
from .arrays import NUMPY, ArrayLibrary
from .values.stress import KINDS, exchanged, stress_of, stressed
from .values.structured import STRUCTURED, structured

Array = npt.NDArray[Any]


def make_inputs(
    contract: BoundContract,
    seed: int,
    files: dict[str, str] | None = None,
    library: ArrayLibrary = NUMPY,
    kind: StressKind | None = None,
) -> dict[str, Array]:
    """A contiguous array of the contract's shape for every input and inout.

    Random values are drawn by `library`; each library draws others. `files` maps argument names
    to .npy files for init `file`. `kind`: stress values in place of usual ones, the same for
    every library. Raises SpecError or AccessError.
    """
    stress = stress_of(contract, kind, seed) if kind is not None and kind in KINDS else None
    made = dict[str, Array]()
    for bound in contract.inputs:
        own = _seed(bound, contract, seed)
        values = None if stress is None else stressed(bound, stress, own)
        if values is None:
            values = _make(bound, own, files or {}, library)
        if kind == "exchanged":
            values = exchanged(bound.argument, values, own)
        elif kind is not None and kind in STRUCTURED:
            values = structured(bound, kind, values, own)
        made[bound.name] = values
    return made


def _seed(bound: BoundArgument, contract: BoundContract, seed: int) -> int:
    text = f"{seed}/{bound.name}/{sorted(contract.symbols.items())}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


def _make(bound: BoundArgument, seed: int, files: dict[str, str], library: ArrayLibrary) -> Array:
    dtype = bound.argument.dtype
    if bound.argument.filled.kind in ("randn", "uniform", "randint"):
        drawn = _drawn(bound, seed, library)
        if is_float(dtype):
            return library.to_host(library.rounded(drawn, dtype), dtype)
        values = library.to_host(drawn, "int64" if _draws_integers(bound) else "float64")
    else:
        values = _given(bound, files.get(bound.name))
    if not is_float(dtype):
        values = _whole(bound, values, numpy_dtype(dtype))
    return np.ascontiguousarray(NUMPY.rounded(values, dtype))


def _draws_integers(bound: BoundArgument) -> bool:
    return bound.argument.filled.kind == "randint"


def _drawn(bound: BoundArgument, seed: int, library: ArrayLibrary) -> Any:
    """Random values as an array of the library, in float32 where that is precise enough."""
    init, dtype = bound.argument.filled, bound.argument.dtype
    if _draws_integers(bound):
        return library.integers(seed, bound.shape, int(init.low), int(init.high))
    double = dtype == "float64" or not is_float(dtype)
    if init.kind == "randn":
        return library.normal(seed, bound.shape, double=double) * init.scale + init.shift
    spread = init.high - init.low
    return library.uniform(seed, bound.shape, double=double) * spread + init.low


def _given(bound: BoundArgument, file: str | None) -> Array:
    """Values that no seed decides."""
    init = bound.argument.filled
    if init.kind == "file":
        return _as_given(bound, _from_file(bound, file))
    if init.data is not None:
        return _as_given(bound, init.data.values())
    if init.kind == "arange":
        steps = np.arange(math.prod(bound.shape))
        return (init.low + init.scale * steps).reshape(bound.shape)
    value = {"zeros": 0.0, "ones": 1.0}.get(init.kind, init.value)
    return np.broadcast_to(np.float64(value), bound.shape)


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
    return cast(Array, values)


def _as_given(bound: BoundArgument, array: Array) -> Array:
    """Values from outside, of the contract's shape. Raises SpecError for others."""
    name = f"init of `{bound.name}`"
    dtype = numpy_dtype(bound.argument.dtype)
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize and dtype.itemsize <= 2:
        array = array.view(dtype)  # numpy writes bfloat16 and fp8 as bytes without a name
    if array.dtype != dtype and array.dtype.kind not in "biuf":
        raise SpecError(f"{name}: it holds {array.dtype}", valid=f"numbers that fit {dtype.name}")
    if array.shape != bound.shape:
        raise SpecError(f"{name}: it has shape {array.shape}", valid=str(bound.shape))
    return array


def pack(bound: BoundArgument, values: Array, into: npt.NDArray[np.uint8]) -> None:
    """Lay an array out in `into` (bound.nbytes) with the contract's strides."""
    _strided(bound, into)[...] = values


def unpack(bound: BoundArgument, data: npt.NDArray[np.uint8]) -> Array:
    """A contiguous array of what lies in `data` with the contract's strides.

    It looks at `data` itself where that is contiguous already.
    """
    return np.ascontiguousarray(_strided(bound, data))


def _strided(bound: BoundArgument, data: npt.NDArray[np.uint8]) -> Array:
    dtype = numpy_dtype(bound.argument.dtype)
    steps = tuple(stride * dtype.itemsize for stride in bound.strides)
    return np.ndarray(bound.shape, dtype, data, strides=steps)
