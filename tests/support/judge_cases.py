"""Outputs to be judged, and operands as narrower units read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kernelwright.runners.dtypes import numpy_dtype
from kernelwright.runners.oracle.arrays import NUMPY
from kernelwright.runners.oracle.judge import expect, judge
from kernelwright.runners.oracle.messages import OutputVerdict
from kernelwright.runners.specs.contract import BoundContract, bind
from kernelwright.runners.specs.io_contract import Contract

Array = npt.NDArray[Any]
ROWS = np.random.default_rng(3).standard_normal((4, 64))


def writing(
    dtype: str, shape: tuple[int, ...], inputs: tuple[str, ...] = (), **more: Any
) -> BoundContract:
    """A contract with one output, and an input of each of some dtypes."""
    arguments = [
        {"name": f"x{number}", "role": "input", "dtype": each, "shape": [1]}
        for number, each in enumerate(inputs)
    ]
    written = {"name": "y", "role": "output", "dtype": dtype, "shape": list(shape), **more}
    return bind(Contract.model_validate({"arguments": [*arguments, written]}), {}, "w")


def verdict(
    exact: Array, actual: Array, native: Array | None = None, dtype: str = "float32", **more: Any
) -> OutputVerdict:
    """The verdict on `actual`; the trusted result is the rounded truth unless given."""
    kind = numpy_dtype(dtype)
    contract = writing(dtype, exact.shape, **more)
    (bound,) = contract.outputs
    trusted = exact.astype(kind) if native is None else native.astype(kind)
    truth = expect(NUMPY, bound, exact, trusted, contract.error_floor(bound))
    return judge(bound, truth, actual.astype(kind))


def nearest_tf32(values: Array) -> Array:
    """Float32 values as `cvt.rna.tf32.f32` rounds: to the nearest, ties away from zero."""
    return ((values.view(np.uint32) + 0x1000) & np.uint32(0xFFFFE000)).view(np.float32)
