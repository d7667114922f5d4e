"""Arrays within JSON, for small recorded inputs: element type, shape, and zlib in base64."""

from __future__ import annotations

import base64
import binascii
import math
import zlib as deflate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, cast

from pydantic import Field, ValidationError, model_validator

from ..dtypes import DTYPES, DtypeName, numpy_dtype
from ..errors import AccessError, SpecError
from .part import Part

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_BYTES: Final = 1 << 20
"""of the elements; what is larger lies in a .npy file beside the spec"""
MAX_TEXT: Final = 1 << 18
"""characters of base64: a spec is read by people as well"""


class Tensor(Part):
    """An array: its elements in row-major order, little-endian, compressed by zlib (RFC 1950), as
    base64. `kernelwright spec --tensor FILE.npy` writes one."""

    dtype: DtypeName
    shape: tuple[int, ...] = Field(max_length=16)
    zlib: str = Field(max_length=MAX_TEXT)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        self._bytes()
        return self

    @property
    def nbytes(self) -> int:
        """Of the elements."""
        return math.prod(self.shape) * DTYPES[self.dtype].itemsize

    def values(self) -> npt.NDArray[Any]:
        """A new array of this shape and type."""
        import numpy as np

        return np.frombuffer(self._bytes(), numpy_dtype(self.dtype)).reshape(self.shape).copy()

    def _bytes(self) -> bytes:
        """Never more than the shape asks for: a short text may be made to unfold without end."""
        if any(size < 0 for size in self.shape) or self.nbytes > MAX_BYTES:
            raise ValueError(
                f"a tensor in a spec has {MAX_BYTES >> 20} MiB at most and no negative sizes; "
                "save a larger one as .npy beside the spec, init `file`"
            )
        unfolding = deflate.decompressobj()
        try:
            packed = base64.b64decode(self.zlib, validate=True)
            data = unfolding.decompress(packed, self.nbytes + 1)
        except (binascii.Error, deflate.error) as error:
            raise ValueError(
                f"`zlib` is not zlib in base64 ({error}); kernelwright spec --tensor FILE.npy "
                "writes one"
            ) from error
        if len(data) != self.nbytes or not unfolding.eof or unfolding.unused_data:
            raise ValueError(
                f"`zlib` does not hold the {self.nbytes} bytes of {self.dtype} {list(self.shape)}"
            )
        return data


def tensor_of(values: npt.NDArray[Any], dtype: DtypeName) -> Tensor:
    """An array as a spec has it; `dtype`: the type of its elements, by our name.

    Raises ValueError for one that is too large.
    """
    import numpy as np

    data = np.ascontiguousarray(values, numpy_dtype(dtype)).tobytes()
    text = base64.b64encode(deflate.compress(data, 9)).decode("ascii")
    return Tensor(dtype=dtype, shape=values.shape, zlib=text)


def tensor_of_file(file: Path) -> Tensor:
    """A .npy file as a spec has it. Raises AccessError; SpecError for what it cannot hold."""
    import numpy as np

    try:
        values: Any = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise AccessError(f"{file}: {error}", valid="a .npy file") from error
    name = getattr(getattr(values, "dtype", None), "name", "several arrays")
    if name not in DTYPES:
        types = ", ".join(DTYPES)
        raise SpecError(
            f"{file} holds {name}", valid=f"one array of {types}", next_step="save it as one"
        )
    if values.nbytes > MAX_BYTES:
        raise SpecError(
            f"{file} holds {values.nbytes} bytes",
            valid=f"{MAX_BYTES >> 20} MiB at most within a spec",
            next_step=f'name it there instead: {{"kind": "file", "path": "{file.name}"}}',
        )
    return _within_text(values, cast(DtypeName, name), file)


def _within_text(values: npt.NDArray[Any], dtype: DtypeName, file: Path) -> Tensor:
    try:
        return tensor_of(values, dtype)
    except ValidationError as error:
        raise SpecError(
            f"{file} takes more than {MAX_TEXT} characters in a spec: it does not compress enough",
            next_step=f'name it there instead: {{"kind": "file", "path": "{file.name}"}}',
        ) from error
