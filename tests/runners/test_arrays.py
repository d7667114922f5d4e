"""The array libraries agree: what is stored, rounded, widened and judged."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_cases import library

from kernelwright.runners.dtypes import DTYPES, is_float, numpy_dtype
from kernelwright.runners.oracle.arrays import NUMPY, DtypeUnknown, imports_torch
from kernelwright.runners.oracle.inputs import make_inputs
from kernelwright.runners.oracle.judge import expect, judge
from kernelwright.runners.oracle.libraries import library_for
from kernelwright.runners.oracle.messages import OutputVerdict
from kernelwright.runners.specs.contract import BoundContract, bind
from kernelwright.runners.specs.io_contract import Contract

Array = npt.NDArray[Any]
FLOATS = [name for name in DTYPES if is_float(name)]


OTHERS = pytest.mark.parametrize("other", ["cupy", "torch"])
ALL = pytest.mark.parametrize("name", ["numpy", "cupy", "torch"])


def writing(dtype: str, shape: tuple[int, ...]) -> BoundContract:
    argument = {"name": "y", "role": "output", "dtype": dtype, "shape": list(shape)}
    return bind(Contract.model_validate({"arguments": [argument]}), {}, "w")


def patterns(dtype: str) -> Array:
    """Every bit pattern of a narrow type, many of a wide one; bools are 0 and 1."""
    if dtype == "bool":
        return np.array([False, True])
    kind = numpy_dtype(dtype)
    size = min(kind.itemsize, 2)
    low = np.arange(1 << (8 * size), dtype=np.uint64) << (8 * (kind.itemsize - size))
    return low.astype(f"u{kind.itemsize}").view(kind)


@ALL
@pytest.mark.parametrize("dtype", list(DTYPES))
def test_what_is_stored_comes_back_bit_by_bit(name: str, dtype: str) -> None:
    values = patterns(dtype).reshape(2, -1)
    values.flags.writeable = False
    held = library(name)
    back = held.to_host(held.from_host(values, dtype), dtype)
    assert back.dtype == values.dtype
    assert back.shape == values.shape
    assert back.tobytes() == values.tobytes()


@OTHERS
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_value_widens_to_the_same_double(other: str, dtype: str) -> None:
    values = patterns(dtype)
    with np.errstate(all="ignore"):
        wanted = NUMPY.float64(values, dtype)
        held = library(other)
        found = held.to_host(held.float64(held.from_host(values, dtype), dtype), "float64")
    np.testing.assert_array_equal(found, wanted)


@OTHERS
@pytest.mark.parametrize("dtype", FLOATS)
@given(values=st.lists(st.floats(width=32), min_size=1, max_size=20))
@settings(max_examples=60)
def test_values_are_rounded_alike(other: str, dtype: str, values: list[float]) -> None:
    held, wide = library(other), np.array(values)
    if dtype == "float8_e4m3fn":
        wide = np.clip(wide, -464, 464)  # beyond, torch saturates and ml_dtypes says NaN
    wanted = NUMPY.float64(NUMPY.rounded(wide, dtype), dtype)
    stored = held.rounded(held.from_host(wide, "float64"), dtype)
    np.testing.assert_array_equal(held.to_host(held.float64(stored, dtype), "float64"), wanted)


@ALL
def test_a_stored_array_is_its_own(name: str) -> None:
    values = np.zeros(4, dtype=np.float32)
    stored = library(name).from_host(values, "float32")
    values[:] = 1
    assert library(name).to_host(stored, "float32").tolist() == [0, 0, 0, 0]


@st.composite
def outcomes(draw: st.DrawFn) -> tuple[str, Array, Array, Array]:
    """A dtype, a truth, a trusted result and an output that is near the truth, or not."""
    dtype = draw(st.sampled_from(list(DTYPES)))
    shape = tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=3)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    exact = rng.standard_normal(shape) * 10.0 ** draw(st.integers(-6, 6))
    if not is_float(dtype):
        exact = rng.integers(0, 2, shape).astype(np.float64)
    off = exact * (1 + rng.standard_normal(shape) * draw(st.sampled_from([0, 1e-8, 1e-3, 1.0])))
    actual = off if is_float(dtype) else np.where(rng.random(shape) < 0.1, 1 - exact, exact)
    special = draw(st.sampled_from([None, np.nan, np.inf, -np.inf, 1e39, 465.0]))
    if special is not None and is_float(dtype) and exact.size:
        place = tuple(rng.integers(0, n) for n in shape)
        for array in (exact, actual):
            if draw(st.booleans()):
                array[place] = special
    return dtype, exact, NUMPY.rounded(exact, dtype), NUMPY.rounded(actual, dtype)


def verdict(name: str, dtype: str, exact: Array, native: Array, actual: Array) -> OutputVerdict:
    held, contract = library(name), writing(dtype, exact.shape)
    (bound,) = contract.outputs
    widened, stored = held.from_host(exact, "float64"), held.from_host(native, dtype)
    truth = expect(held, bound, widened, stored, contract.error_floor(bound))
    return judge(bound, truth, held.from_host(actual, dtype))


@OTHERS
@given(outcome=outcomes())
def test_every_library_judges_as_numpy_does(
    other: str, outcome: tuple[str, Array, Array, Array]
) -> None:
    wanted, found = verdict("numpy", *outcome), verdict(other, *outcome)
    for field in ("largest", "allowed", "rms"):
        assert getattr(found, field) == pytest.approx(getattr(wanted, field), rel=1e-9, abs=1e-12)
    near = abs(wanted.largest - wanted.allowed) < 1e-9 * wanted.allowed
    assert near or found.right is wanted.right
    if not wanted.right:
        assert found.message.split(" at ")[0] == wanted.message.split(" at ")[0]
        assert (found.worst_index is None) is (wanted.worst_index is None)


@pytest.mark.parametrize("dtype", list(DTYPES))
def test_a_wrong_element_is_shown_alike_by_all(dtype: str) -> None:
    exact = np.zeros((2, 8))
    actual = NUMPY.rounded(exact, dtype)
    actual[1, 2] = 1
    shown = [
        verdict(name, dtype, exact, NUMPY.rounded(exact, dtype), actual)
        for name in ("numpy", "cupy", "torch")
    ]
    assert shown[0].worst_index == (1, 2)
    assert shown[1] == shown[2] == shown[0]


@ALL
@pytest.mark.parametrize("dtype", list(DTYPES))
@pytest.mark.parametrize("kind", ["randn", "uniform", "randint"])
def test_every_library_draws_the_same_values_again_and_others_for_another_seed(
    name: str, dtype: str, kind: str
) -> None:
    high = 1 if (dtype, kind) == ("bool", "uniform") else 2
    init = {"kind": kind, "low": 0, "high": high, "scale": 0.3}
    if kind == "randn" and not is_float(dtype):
        init |= {"shift": 1.0, "scale": 0.1}
    shape = [33, 33]
    argument = {"name": "x", "role": "inout", "dtype": dtype, "shape": shape, "init": init}
    bound = bind(Contract.model_validate({"arguments": [argument]}), {}, "w")
    first, again, other = (make_inputs(bound, s, None, library(name))["x"] for s in (1, 1, 2))
    assert first.dtype == numpy_dtype(dtype)
    assert first.flags.c_contiguous
    assert first.tobytes() == again.tobytes()
    if is_float(dtype) or kind != "randn":
        assert first.tobytes() != other.tobytes()
    mean = {"randn": 0.0, "uniform": 1.0, "randint": 0.5}[kind]
    if is_float(dtype):
        assert first.astype(np.float64).mean() == pytest.approx(mean, abs=0.1)


def test_cupy_gives_a_reference_no_array_of_a_type_that_it_lacks() -> None:
    held = library("cupy")
    stored = held.from_host(np.ones(2, numpy_dtype("bfloat16")), "bfloat16")
    with pytest.raises(DtypeUnknown, match="bfloat16"):
        held.argument(stored, "bfloat16")


@pytest.mark.parametrize(
    ("source", "torch"),
    [
        ("import torch", True),
        ("import numpy as np, torch.nn.functional as F", True),
        ("from torch import nn", True),
        ("def reference(x):\n    import torch\n    return torch.exp(x)", True),
        ("import numpy as np", False),
        ("import torchless", False),
        ("text = 'import torch'", False),
        ("from . import torch", False),
        ("this is no Python", False),
    ],
)
def test_the_imports_of_a_reference_decide_its_library(source: str, torch: bool) -> None:
    assert imports_torch(source) is torch


def test_without_a_gpu_all_is_on_the_host() -> None:
    assert library_for(None, "") == (NUMPY, "numpy on the host")
    assert library_for("import numpy", "") == (NUMPY, "numpy on the host")
