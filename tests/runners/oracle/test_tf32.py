"""Math `tf32`: what the trusted result is then, and who is as near to the truth as that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from judge_cases import nearest_tf32
from oracle_cases import library, truths

from kernelwright.runners.dtypes import truncated_to_tf32
from kernelwright.runners.oracle.arrays import NUMPY
from kernelwright.runners.oracle.inputs import make_inputs
from kernelwright.runners.oracle.judge import judge
from kernelwright.runners.oracle.messages import OutputVerdict
from kernelwright.runners.oracle.references import Reference
from kernelwright.runners.specs.contract import BoundContract, bind
from kernelwright.runners.specs.io_contract import Contract, StressKind

Array = npt.NDArray[Any]
PRODUCT = "def reference(a, b):\n    return a @ b\n"
SHAPES = [(2047, 3, 3), (512, 512, 512)]
"""rows, columns, terms: with three terms some cancel, so that an error is a share of the result"""


def contract_of(rows: int, columns: int, terms: int, dtype: str = "float32") -> BoundContract:
    arguments = [
        {"name": "a", "role": "input", "dtype": dtype, "shape": [rows, terms]},
        {"name": "b", "role": "input", "dtype": dtype, "shape": [terms, columns]},
        {"name": "c", "role": "output", "dtype": dtype, "shape": [rows, columns]},
    ]
    return bind(Contract.model_validate({"arguments": arguments}), {}, "w")


def as_it_is(values: Array) -> Array:
    return values


def through_bfloat16(values: Array) -> Array:
    return values.astype(ml_dtypes.bfloat16).astype(np.float32)


def through_float16(values: Array) -> Array:
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float32)


def verdict(
    shape: tuple[int, int, int],
    narrowed: Callable[[Array], Array],
    kind: StressKind | None = None,
) -> OutputVerdict:
    """On a product of operands that were narrowed, summed in float32."""
    contract = contract_of(*shape)
    inputs = make_inputs(contract, 7, kind=kind)
    (truth,) = truths(Reference(PRODUCT, NUMPY, "tf32"), contract, inputs)
    with np.errstate(all="ignore"):
        actual = narrowed(inputs["a"]) @ narrowed(inputs["b"])
    return judge(contract.outputs[0], truth, actual)


@pytest.mark.parametrize("name", ["numpy", "cupy", "torch"])
def test_the_trusted_result_is_that_of_truncated_inputs_and_the_truth_that_of_all_bits(
    name: str,
) -> None:
    contract = contract_of(8, 8, 3)
    inputs = make_inputs(contract, 1)
    before = {key: values.copy() for key, values in inputs.items()}
    held = library(name)
    (truth,) = truths(Reference(PRODUCT, held, "tf32"), contract, inputs)
    a, b = inputs["a"], inputs["b"]
    cut = truncated_to_tf32(a) @ truncated_to_tf32(b)
    np.testing.assert_allclose(held.to_host(truth.native, "float32"), cut, rtol=1e-5, atol=1e-6)
    assert not np.allclose(cut, a @ b, rtol=1e-5, atol=1e-6)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(held.to_host(truth.exact, "float64"), exact, rtol=1e-12)
    assert all((inputs[key] == values).all() for key, values in before.items())


@pytest.mark.parametrize(
    ("math", "dtype"), [("ieee", "float32"), ("fast", "float32"), ("tf32", "float64")]
)
def test_nothing_is_truncated_without_tf32_or_in_another_type(math: str, dtype: str) -> None:
    contract = contract_of(8, 8, 3, dtype)
    inputs = make_inputs(contract, 1)
    (truth,) = truths(Reference(PRODUCT, NUMPY, math), contract, inputs)
    np.testing.assert_array_equal(truth.native, inputs["a"] @ inputs["b"])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("narrowed", [truncated_to_tf32, nearest_tf32, as_it_is])
def test_who_multiplies_in_tf32_or_better_is_right_with_the_usual_floor(
    shape: tuple[int, int, int], narrowed: Callable[[Array], Array]
) -> None:
    found = verdict(shape, narrowed)
    assert found.right, found.message


@pytest.mark.parametrize("shape", SHAPES)
def test_who_multiplies_in_bfloat16_is_wrong(shape: tuple[int, int, int]) -> None:
    assert not verdict(shape, through_bfloat16).right


def test_float16_has_the_precision_of_tf32_and_large_values_show_that_it_lacks_the_range() -> None:
    shape = (64, 64, 64)
    assert verdict(shape, through_float16).right
    assert verdict(shape, nearest_tf32, "large").right
    found = verdict(shape, through_float16, "large")
    assert not found.right
    assert found.message.startswith("NaN or Inf differs")
