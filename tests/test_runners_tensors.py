"""Tensors through JSON: the same bits come back, and bad data is refused before it is unpacked."""

from __future__ import annotations

import base64
import json
import tracemalloc
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.dtypes import DTYPES, numpy_dtype
from kernelwright.runners.errors import SpecError
from kernelwright.runners.tensors import AUTO_FROM, MAX_BYTES, decode, encode

Array = npt.NDArray[Any]


@st.composite
def arrays(draw: st.DrawFn) -> Array:
    dtype = numpy_dtype(draw(st.sampled_from(list(DTYPES))))
    shape = draw(st.lists(st.integers(0, 5), max_size=4))
    nbytes = int(np.prod(shape)) * dtype.itemsize
    content = draw(st.binary(min_size=nbytes, max_size=nbytes))
    if dtype == np.bool_:
        content = bytes(byte & 1 for byte in content)
    return np.frombuffer(content, dtype).reshape(shape)


@given(arrays(), st.sampled_from([True, False, "auto"]))
def test_every_dtype_shape_and_bit_pattern_survives_json(array: Array, compress: Any) -> None:
    back = decode(json.loads(json.dumps(encode(array, compress=compress))))
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()
    assert back.flags.writeable and back.flags.c_contiguous


def test_views_that_are_not_contiguous_are_encoded_by_value() -> None:
    array = np.arange(24, dtype=np.int32).reshape(4, 6)
    assert np.array_equal(decode(encode(array.T[::2])), array.T[::2])


def test_big_endian_values_are_encoded_by_value() -> None:
    array = np.array([1, 2, 3], dtype=">i4")
    assert decode(encode(array)).tolist() == [1, 2, 3]


def test_the_layout_is_the_documented_one() -> None:
    assert encode(np.array([[1, 2]], dtype=np.uint8)) == {
        "dtype": "uint8",
        "shape": [1, 2],
        "encoding": "base64",
        "data": "AQI=",
    }


def test_the_encoding_may_be_left_out() -> None:
    assert decode({"dtype": "uint8", "shape": [2], "data": "AQI="}).tolist() == [1, 2]


def test_auto_compresses_when_that_is_shorter_and_only_then() -> None:
    noise = np.random.default_rng(1).integers(0, 256, 4 * AUTO_FROM).astype(np.uint8)
    zeros = np.zeros(4 * AUTO_FROM, dtype=np.uint8)
    assert encode(zeros)["encoding"] == "zlib+base64"
    assert encode(noise)["encoding"] == "base64"
    assert encode(zeros, compress=False)["encoding"] == "base64"
    assert encode(noise, compress=True)["encoding"] == "zlib+base64"
    assert len(encode(zeros)["data"]) < 200


@pytest.mark.parametrize("dtype", ["complex64", "object", "<U3", "datetime64[s]"])
def test_other_dtypes_are_refused_with_the_valid_ones(dtype: str) -> None:
    with pytest.raises(SpecError) as caught:
        encode(np.zeros(1, dtype=dtype))
    assert "bfloat16" in caught.value.valid


def tensor(**changes: Any) -> dict[str, Any]:
    return {
        "dtype": "float32",
        "shape": [2],
        "encoding": "base64",
        "data": "AAAAAAAAAAA=",
    } | changes


def packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content)).decode()


BAD: list[tuple[object, str]] = [
    ([1, 2], "a tensor is a JSON object"),
    ("text", "a tensor is a JSON object"),
    ({}, "tensor.dtype"),
    (tensor(dtype="float"), "tensor.dtype: 'float'"),
    (tensor(dtype=["float32"]), "tensor.dtype"),
    (tensor(dtype="complex64"), "tensor.dtype"),
    (tensor(shape=[-2]), "tensor.shape: [-2]"),
    (tensor(shape=[-1, -2]), "tensor.shape: [-1, -2]"),
    (tensor(shape=[2.0]), "tensor.shape: [2.0]"),
    (tensor(shape=[True, 2]), "tensor.shape: [True, 2]"),
    (tensor(shape=2), "tensor.shape: 2"),
    (tensor(shape=None), "tensor.shape: None"),
    (tensor(shape=[1] * 17), "tensor.shape: 17 sizes"),
    (tensor(shape=[0, 2**62]), "tensor.shape: 2 sizes"),
    (tensor(shape=[2**40]), "tensor.shape: 1 sizes"),
    (tensor(shape=[MAX_BYTES // 2]), f"{2 * MAX_BYTES} bytes by its shape"),
    (tensor(shape=[3]), "tensor.data: 8 bytes\nValid: 12 for float32 of shape [3]"),
    (tensor(shape=[1]), "tensor.data: 8 bytes\nValid: 4 for float32"),
    (tensor(data=None), "tensor.data: not a text"),
    (tensor(data="AAAA!AAA"), "tensor.data is not base64"),
    (tensor(data="AAAAA"), "tensor.data is not base64"),
    (tensor(data="é"), "tensor.data is not base64"),
    (tensor(data="A" * 100_000), "tensor.data: 100000 characters for 8 bytes"),
    (tensor(encoding="gzip"), "tensor.encoding: 'gzip'\nValid: `base64` or `zlib+base64`"),
    (tensor(encoding="zlib+base64"), "tensor.data does not unpack"),
    (tensor(encoding="zlib+base64", data=packed(b"1234")), "tensor.data: 4 bytes"),
    (tensor(encoding="zlib+base64", data=packed(b"123456789")), "tensor.data: 9 bytes"),
    (
        tensor(
            encoding="zlib+base64",
            data=base64.b64encode(zlib.compress(bytes(8))[:-2]).decode(),
        ),
        "cut short",
    ),
    (
        tensor(
            encoding="zlib+base64",
            data=base64.b64encode(zlib.compress(bytes(8)) + b"more").decode(),
        ),
        "more after its end",
    ),
    (tensor(extra=1), "tensor: unknown field `extra`"),
]


@pytest.mark.parametrize(("value", "words"), BAD)
def test_bad_data_is_refused_with_the_field_at_fault(value: object, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        decode(value)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_small_stream_is_not_inflated_beyond_its_announced_size() -> None:
    bomb = tensor(encoding="zlib+base64", shape=[1024], data=packed(bytes(1 << 22)))
    tracemalloc.start()
    try:
        with pytest.raises(SpecError, match=r"tensor\.data"):
            decode(bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


def test_shapes_with_a_zero_need_no_data() -> None:
    assert decode(tensor(shape=[3, 0], data="")).shape == (3, 0)
