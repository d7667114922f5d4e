"""Where expected outputs lie in the memory that the reference's process writes and the judge's
reads: for each output its fp64 result, where one is compared by error, then its native one."""

from __future__ import annotations

import fcntl
import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...dtypes import DTYPES, is_float, numpy_dtype
from ...protocol.layout import CACHE_LINE
from ...specs.contract import BoundArgument, BoundContract

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Place:
    """A contiguous array of a shape and dtype at `offset`, in bytes."""

    offset: int
    shape: tuple[int, ...]
    dtype: str

    @property
    def end(self) -> int:
        """The offset behind its last byte."""
        return self.offset + math.prod(self.shape) * DTYPES[self.dtype].itemsize

    def array(self, memory: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
        """The array there; it looks at `memory` itself."""
        flat = memory[self.offset : self.end].view(numpy_dtype(self.dtype))
        return flat.reshape(self.shape)


@dataclass(frozen=True, slots=True)
class TruthPlaces:
    """Both results of one output. `exact` is None where bits are compared: nobody asks for it."""

    bound: BoundArgument
    exact: Place | None
    native: Place


def truth_places(contract: BoundContract) -> tuple[TruthPlaces, ...]:
    """The places of all outputs, in their order."""
    found, cursor = list[TruthPlaces](), 0
    for bound in contract.outputs:
        dtype, exact = bound.argument.dtype, None
        if is_float(dtype):
            exact = Place(cursor, bound.shape, "float64")
            cursor = _up(exact.end)
        native = Place(cursor, bound.shape, dtype)
        cursor = _up(native.end)
        found.append(TruthPlaces(bound, exact, native))
    return tuple(found)


def truth_nbytes(contract: BoundContract) -> int:
    """Bytes of all of them together."""
    return max(CACHE_LINE, *(_up(each.native.end) for each in truth_places(contract)))


def truth_memory(contract: BoundContract) -> int:
    """Memory for expected outputs, of a size that nobody can change any more: who maps it finds
    all of it. To be closed by the caller."""
    fd = os.memfd_create("truth", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, truth_nbytes(contract))
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd


def _up(value: int) -> int:
    return -(-value // CACHE_LINE) * CACHE_LINE
