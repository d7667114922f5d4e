"""Arrays within a spec: what is written is read again, and no text unfolds beyond its shape."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pydantic import ValidationError
from typer.testing import CliRunner

from kernelwright.runners.dtypes import DTYPES, numpy_dtype
from kernelwright.runners.errors import AccessError, SpecError
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.oracle.inputs import make_inputs
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.specs.tensor import MAX_BYTES, Tensor, tensor_of, tensor_of_file
from kernelwright.server.cli import app

NUMPY_OWN = sorted(set(DTYPES) - {"bfloat16", "float8_e4m3fn", "float8_e5m2"})


def packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


def loaded(folder: Path, init: Any, shape: Any = "n") -> LoadedKernel:
    x = {"name": "x", "role": "input", "dtype": "float32", "shape": [shape], "init": init}
    data = {
        "name": "scale",
        "kernel": {
            "kernel_type": "cpp",
            "source_code": "void scale(const float* x, float* y, int n) {}",
            "metadata": {"kernel_name": "scale"},
        },
        "io": {
            "arguments": [
                x,
                {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
                {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
            ]
        },
        "symbols": {"n": {"min": 1, "max": 64}},
        "workloads": [{"name": "w", "symbols": {"n": 4}}],
        "reference": {"source_code": "def reference(x, n):\n    return x\n"},
    }
    return load_data(data, folder, Roots([folder]))


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read_again_bit_by_bit(data: st.DataObject) -> None:
    dtype: Any = data.draw(st.sampled_from(NUMPY_OWN))
    shapes = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
    values = data.draw(arrays.arrays(numpy_dtype(dtype), shapes))
    told = tensor_of(values, dtype).model_dump(mode="json")
    again = Tensor.model_validate_json(json.dumps(told)).values()
    assert (again.dtype, again.shape) == (values.dtype, values.shape)
    assert again.tobytes() == values.tobytes()


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_short_floats_keep_their_bits(dtype: Any) -> None:
    values = np.array([1.5, -0.25, 8.0], numpy_dtype(dtype))
    assert tensor_of(values, dtype).values().tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("shape", "text", "problem"),
    [
        ((4,), packed(bytes(8)), "does not hold the 16 bytes"),
        ((4,), packed(bytes(20)), "does not hold the 16 bytes"),
        ((4,), packed(bytes(16))[:-8], "zlib"),
        ((4,), base64.b64encode(zlib.compress(bytes(16)) + b"more").decode(), "does not hold"),
        ((4,), "no base64!", "not zlib in base64"),
        ((4,), base64.b64encode(bytes(16)).decode(), "not zlib in base64"),
        ((-1, -4), packed(bytes(16)), "no negative sizes"),
        ((MAX_BYTES,), packed(bytes(16)), "1 MiB at most"),
        ((4,), packed(bytes(1 << 22)), "does not hold the 16 bytes"),
    ],
)
def test_a_text_that_is_no_such_array_is_refused(
    shape: tuple[int, ...], text: str, problem: str
) -> None:
    with pytest.raises(ValidationError, match=problem):
        Tensor(dtype="float32", shape=shape, zlib=text)


def test_a_kernel_is_given_the_values_of_its_spec_and_other_values_make_another(
    tmp_path: Path,
) -> None:
    def init(values: list[float]) -> dict[str, Any]:
        told = tensor_of(np.array(values, np.float32), "float32")
        return {"kind": "data", "data": told.model_dump(mode="json")}

    kernel = loaded(tmp_path, init([1, -2, 3, 0.5]))
    made = make_inputs(bind(kernel.spec.io, {"n": 4}, "w"), seed=1)
    assert made["x"].tolist() == [1, -2, 3, 0.5]
    assert loaded(tmp_path, init([1, -2, 3, 0.25])).kernel_id != kernel.kernel_id
    with pytest.raises(SpecError, match="it has shape"):
        make_inputs(bind(kernel.spec.io, {"n": 5}, "w"), seed=1)


def test_a_kind_without_its_values_and_values_without_it_are_told(tmp_path: Path) -> None:
    told = tensor_of(np.zeros(4, np.float32), "float32").model_dump(mode="json")
    for init in ({"kind": "data"}, {"kind": "zeros", "data": told}):
        with pytest.raises(SpecError, match="`data` goes with init `data`"):
            loaded(tmp_path, init)


def test_the_command_line_writes_one_of_a_file(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(4, dtype=np.float32))
    done = CliRunner().invoke(app, ["spec", "--tensor", str(tmp_path / "x.npy")])
    assert done.exit_code == 0
    kernel = loaded(tmp_path, json.loads(done.output))
    assert make_inputs(bind(kernel.spec.io, {"n": 4}, "w"), seed=1)["x"].tolist() == [0, 1, 2, 3]


def test_what_a_spec_cannot_hold_is_told_with_the_way_that_can(tmp_path: Path) -> None:
    np.save(tmp_path / "large.npy", np.zeros(MAX_BYTES // 4 + 1, np.float32))
    np.save(tmp_path / "noise.npy", np.random.default_rng(1).random(1 << 16))
    for name in ("large", "noise"):
        with pytest.raises(SpecError) as refused:
            tensor_of_file(tmp_path / f"{name}.npy")
        assert f'"path": "{name}.npy"' in str(refused.value)
    np.save(tmp_path / "text.npy", np.array(["a"]))
    with pytest.raises(SpecError, match="holds str"):
        tensor_of_file(tmp_path / "text.npy")
    (tmp_path / "no.npy").write_bytes(b"no array")
    with pytest.raises(AccessError):
        tensor_of_file(tmp_path / "no.npy")
