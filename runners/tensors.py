"""Tensors to and from JSON: `{dtype, shape, encoding, data}`, row-major, little-endian.

What is decoded comes from a client: nothing is inflated or allocated beyond what dtype and
shape announce, and they may announce no more than MAX_BYTES.
"""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from .dtypes import DTYPES, numpy_dtype
from .errors import SpecError

Array = npt.NDArray[Any]
MAX_BYTES = 1 << 30
MAX_DIMENSIONS = 16
AUTO_FROM = 1024
"""Below this many bytes `auto` does not try: the reader's ease is worth more than a line."""
BASE64, ZLIB = "base64", "zlib+base64"
FIELDS = ("dtype", "shape", "encoding", "data")


def encode(array: Array, *, compress: bool | Literal["auto"] = "auto") -> dict[str, Any]:
    """An array of a contract's dtype as JSON data.

    `auto` compresses when the result is shorter. Raises SpecError for other dtypes.
    """
    name = array.dtype.name
    if name not in DTYPES:
        raise SpecError(f"tensor of dtype `{name}`", valid=", ".join(DTYPES))
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    content, encoding = little.tobytes(), BASE64
    if compress is True or (compress == "auto" and len(content) >= AUTO_FROM):
        packed = zlib.compress(content, 6)
        if compress is True or len(packed) < len(content):
            content, encoding = packed, ZLIB
    return {
        "dtype": name,
        "shape": list(array.shape),
        "encoding": encoding,
        "data": base64.b64encode(content).decode("ascii"),
    }


def decode(value: object) -> Array:
    """The array of JSON data, writable and contiguous.

    `encoding` may be left out (base64). Raises SpecError naming the field at fault.
    """
    if not isinstance(value, dict):
        raise SpecError("a tensor is a JSON object", valid=", ".join(FIELDS))
    tensor = cast(dict[str, Any], value)
    if unknown := sorted(set(map(str, tensor)) - set(FIELDS)):
        raise SpecError(f"tensor: unknown field `{unknown[0]}`", valid=", ".join(FIELDS))
    dtype = _dtype(tensor.get("dtype"))
    shape = _shape(tensor.get("shape"))
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > MAX_BYTES:
        raise SpecError(f"tensor: {nbytes} bytes by its shape", valid=f"up to {MAX_BYTES}")
    content = _content(tensor.get("data"), tensor.get("encoding", BASE64), nbytes)
    if len(content) != nbytes:
        raise SpecError(
            f"tensor.data: {len(content)} bytes",
            valid=f"{nbytes} for {tensor['dtype']} of shape {list(shape)}",
        )
    stored = np.frombuffer(content, dtype.newbyteorder("<")).reshape(shape)
    return stored.astype(dtype)


def _dtype(name: object) -> np.dtype[Any]:
    if not isinstance(name, str) or name not in DTYPES:
        raise SpecError(f"tensor.dtype: {str(name)[:60]!r}", valid=", ".join(DTYPES))
    return numpy_dtype(name)


def _shape(value: object) -> tuple[int, ...]:
    shown = str(value)[:60]
    sizes = cast(list[object], value) if isinstance(value, list | tuple) else None
    if sizes is None or not all(type(size) is int and size >= 0 for size in sizes):
        raise SpecError(f"tensor.shape: {shown}", valid="a list of sizes of 0 or more")
    shape = tuple(cast(list[int], sizes))
    # numpy multiplies the sizes that are not 0, whatever the others are
    if len(shape) > MAX_DIMENSIONS or math.prod(max(1, size) for size in shape) > MAX_BYTES:
        raise SpecError(
            f"tensor.shape: {len(shape)} sizes, {shown}",
            valid=f"up to {MAX_DIMENSIONS} sizes and {MAX_BYTES} elements",
        )
    return shape


def _content(data: object, encoding: object, nbytes: int) -> bytes:
    if not isinstance(data, str):
        raise SpecError("tensor.data: not a text", valid="base64")
    if encoding not in (BASE64, ZLIB):
        raise SpecError(f"tensor.encoding: {str(encoding)[:60]!r}", valid=f"`{BASE64}` or `{ZLIB}`")
    if len(data) > 4 * (nbytes // 3 + 1) + (1 << 12) + nbytes // 512:
        raise SpecError(f"tensor.data: {len(data)} characters for {nbytes} bytes", valid="fewer")
    try:
        content = base64.b64decode(data, validate=True)
        return content if encoding == BASE64 else _inflated(content, nbytes)
    except (binascii.Error, ValueError) as error:
        raise SpecError(f"tensor.data is not base64: {error}") from error
    except zlib.error as error:
        raise SpecError(f"tensor.data does not unpack: {error}", valid="a zlib stream") from error


def _inflated(content: bytes, nbytes: int) -> bytes:
    """A whole zlib stream, at most one byte more than is wanted."""
    stream = zlib.decompressobj()
    found = stream.decompress(content, nbytes + 1)
    if len(found) <= nbytes and (not stream.eof or stream.unused_data):
        raise zlib.error("the stream is cut short or has more after its end")
    return found
