"""Launch plans: what a runner may be handed, and scalars as the bytes it copies."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kernelwright.runners.dtypes import DTYPES, numpy_dtype
from kernelwright.runners.errors import SpecError
from kernelwright.runners.plans.plan import (
    Fill,
    Launch,
    LaunchPlan,
    PlanBuffer,
    PlanKernel,
    PlanOutput,
    PointerParam,
    ScalarParam,
    TensorMapParam,
    argument_buffers,
    contract_outputs,
    pack_scalar,
    without_names,
)
from kernelwright.runners.plans.plan_check import check_plan
from kernelwright.runners.specs.contract import BoundArgument, bind
from kernelwright.runners.specs.io_contract import Contract

CONTRACT = bind(
    Contract.model_validate(
        {
            "arguments": [
                {"name": "x", "role": "input", "dtype": "float32", "shape": [4, 4]},
                {"name": "y", "role": "output", "dtype": "float32", "shape": [4]},
                {"name": "n", "role": "scalar", "dtype": "int32", "value": 4},
            ]
        }
    ),
    {},
    "w",
)


def launch(**changes: Any) -> Launch:
    params = (
        PointerParam(arg="x", buffer="x"),
        PointerParam(arg="y", buffer="y"),
        pack_scalar(CONTRACT.arguments[2]),
    )
    fields: dict[str, Any] = {"launch": "k", "grid": (1, 1, 1), "params": params}
    return Launch(**fields | changes)


def plan(**changes: Any) -> LaunchPlan:
    fields: dict[str, Any] = {
        "label": "w",
        "kernels": (PlanKernel(id="k", entry="k", sha256="0" * 64),),
        "buffers": (
            *argument_buffers(CONTRACT),
            PlanBuffer(name="tmp", role="scratch", nbytes=64, align=16),
        ),
        "steps": (launch(),),
        "outputs": contract_outputs(CONTRACT),
    }
    return LaunchPlan(**fields | changes)


def buffer(name: str, nbytes: int, role: Any = "argument", align: int = 16) -> PlanBuffer:
    return PlanBuffer(name=name, role=role, nbytes=nbytes, align=align)


def output(**changes: Any) -> PlanOutput:
    fields: dict[str, Any] = {"name": "y", "buffer": "y", "dtype": "float32"}
    fields |= {"shape": (4,), "strides": (1,)}
    return PlanOutput(**fields | changes)


def tensor_map(**changes: Any) -> TensorMapParam:
    fields: dict[str, Any] = {"arg": "m", "buffer": "x", "dtype": 7, "dims": (4, 4)}
    fields |= {"strides": (16,), "box": (4, 4)}
    return TensorMapParam(**fields | changes)


def test_the_plan_of_these_tests_is_accepted() -> None:
    check_plan(plan(), CONTRACT)


GOOD: list[Callable[[], LaunchPlan]] = [
    lambda: plan(steps=(Fill(fill="tmp", offset=32, nbytes=32, pattern="00"), launch())),
    lambda: plan(setup=(Fill(fill="tmp", offset=0, nbytes=16, pattern="ffffffff"),)),
    lambda: plan(steps=(launch(), launch(grid=(7, 5, 3)))),
    lambda: plan(steps=(launch(params=(PointerParam(arg="x", buffer=None),)),)),
    lambda: plan(steps=(launch(params=(PointerParam(arg="x", buffer="x", offset=64),)),)),
    lambda: plan(outputs=(output(buffer="tmp", offset=48),)),
    lambda: plan(steps=(launch(params=(tensor_map(),)),)),
]


@pytest.mark.parametrize("make", GOOD)
def test_fills_scratch_offsets_and_several_launches_are_accepted(
    make: Callable[[], LaunchPlan],
) -> None:
    check_plan(make(), CONTRACT)


X, Y = buffer("x", 64), buffer("y", 16)
BAD: list[tuple[Callable[[], LaunchPlan], str]] = [
    (lambda: plan(buffers=(X,)), "buffer `y` must exist as an argument of 16 bytes"),
    (lambda: plan(buffers=(X, buffer("y", 8))), "buffer `y` must exist as an argument of 16 bytes"),
    (lambda: plan(buffers=(X, buffer("y", 32))), "buffer `y` must exist"),
    (lambda: plan(buffers=(X, buffer("y", 16, "scratch"))), "must exist as an argument"),
    (lambda: plan(buffers=(X, buffer("y", 16, align=32))), "`y` asks for an alignment of 32"),
    (lambda: plan(buffers=(X, Y, buffer("z", 16))), "no argument `z`\nValid: x, y"),
    (lambda: plan(buffers=(X, Y, buffer("x", 64, "scratch"))), "have one name"),
    (lambda: plan(kernels=plan().kernels * 2), "have one name"),
    (lambda: plan(kernels=()), "step 0: no kernel `k`"),
    (
        lambda: plan(kernels=(PlanKernel(id="k", entry="k", sha256="", block=(0, 1, 1)),)),
        "block (0, 1, 1) of `k`",
    ),
    (lambda: plan(steps=()), "plan w launches no kernel"),
    (
        lambda: plan(steps=(Fill(fill="y", offset=0, nbytes=16, pattern="00"),)),
        "launches no kernel",
    ),
    (lambda: plan(steps=(launch(launch="other"),)), "step 0: no kernel `other`\nValid: k"),
    (lambda: plan(steps=(launch(grid=(0, 1, 1)),)), "step 0: grid (0, 1, 1)"),
    (lambda: plan(steps=(launch(grid=(-1, -1, 1)),)), "grid (-1, -1, 1)"),
    (lambda: plan(steps=(launch(grid=(2**16, 2**16, 1)),)), "grid (65536, 65536, 1)"),
    (lambda: plan(steps=(launch(params=launch().params * 100),)), "300 parameters"),
    (
        lambda: plan(steps=(launch(), launch(params=(PointerParam(arg="a", buffer="q"),)))),
        "step 1, a: no buffer `q`\nValid: tmp, x, y",
    ),
    (
        lambda: plan(steps=(launch(params=(PointerParam(arg="a", buffer="x", offset=65),)),)),
        "step 0, a: bytes 65..65 of `x`\nValid: it holds 64 bytes",
    ),
    (
        lambda: plan(
            steps=(launch(params=(ScalarParam(arg="n", type="i32", value=1, raw="00000000"),)),)
        ),
        "step 0, n: scalar type `i32`\nValid: float64",
    ),
    (
        lambda: plan(
            steps=(launch(params=(ScalarParam(arg="n", type="int32", value=1, raw="0000"),)),)
        ),
        "step 0, n: 2 bytes for int32\nValid: 4",
    ),
    (
        lambda: plan(setup=(Fill(fill="q", offset=0, nbytes=1, pattern="00"),)),
        "setup 0: no buffer `q`",
    ),
    (
        lambda: plan(setup=(Fill(fill="tmp", offset=60, nbytes=8, pattern="00"),)),
        "bytes 60..68 of `tmp`",
    ),
    (
        lambda: plan(setup=(Fill(fill="tmp", offset=0, nbytes=6, pattern="00112233"),)),
        "6 bytes of a pattern of 4\nValid: whole patterns",
    ),
    (
        lambda: plan(setup=(Fill(fill="y", offset=0, nbytes=16, pattern="00"),)),
        "setup 0: `y` is an array of the contract\nValid: a step",
    ),
    (lambda: plan(steps=(launch(),) * 5000), "plan w has 5000 steps"),
    (lambda: plan(buffers=(X, Y, buffer("z", 2**70, "scratch"))), "buffers of 11805"),
    (
        lambda: plan(buffers=(X, Y, *(buffer(f"z{i}", 2**45, "scratch") for i in range(3)))),
        "buffers of 105553116266576 bytes",
    ),
    (lambda: plan(buffers=(X, Y, buffer("z", 4, "scratch", 48))), "an alignment of 48"),
    (lambda: plan(buffers=(X, Y, buffer("z", 4, "scratch", 8192))), "an alignment of 8192"),
    (lambda: plan(steps=(launch(params=(tensor_map(box=(2**40, 1)),)),)), "box (1099511627776, 1)"),
    (
        lambda: plan(steps=(launch(params=(tensor_map(element_strides=(9, 1)),)),)),
        "element_strides (9, 1)",
    ),
    (lambda: plan(outputs=()), "outputs are []"),
    (lambda: plan(outputs=(output(name="x"),)), "outputs are [('x'"),
    (lambda: plan(outputs=(output(dtype="float16"),)), "outputs are [('y', 'float16'"),
    (lambda: plan(outputs=(output(dtype="nothing"),)), "outputs are [('y', 'nothing'"),
    (lambda: plan(outputs=(output(shape=(2,)),)), "outputs are [('y', 'float32', (2,))]"),
    (lambda: plan(outputs=(output(strides=()),)), "output y: strides ()"),
    (lambda: plan(outputs=(output(strides=(-1,)),)), "output y: strides (-1,)"),
    (lambda: plan(outputs=(output(strides=(0,)),)), "output y: strides (0,)"),
    (lambda: plan(outputs=(output(strides=(2,)),)), "(1,), as the contract has them"),
    (lambda: plan(outputs=(output(offset=4),)), "output y: bytes 4..20 of `y`"),
    (lambda: plan(outputs=(output(buffer="q"),)), "output y: no buffer `q`"),
]


@pytest.mark.parametrize(("make", "words"), BAD)
def test_a_bad_plan_is_refused_with_the_step_and_the_parameter(
    make: Callable[[], LaunchPlan], words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        check_plan(make(), CONTRACT)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PointerParam(arg="x", buffer="x", offset=-1),
        lambda: output(offset=-4),
        lambda: Fill(fill="x", offset=-1, nbytes=1, pattern="00"),
        lambda: Fill(fill="x", offset=0, nbytes=0, pattern="00"),
        lambda: Fill(fill="x", offset=0, nbytes=1, pattern="0"),
        lambda: Fill(fill="x", offset=0, nbytes=1, pattern="zz"),
        lambda: ScalarParam(arg="n", type="int32", value=1, raw="00" * 4097),
        lambda: PlanBuffer(name="b", role="scratch", nbytes=-1, align=1),
    ],
)
def test_negative_offsets_and_malformed_bytes_cannot_even_be_written_down(
    make: Callable[[], object],
) -> None:
    with pytest.raises(ValidationError):
        make()


def test_arrays_without_elements_have_plans_too() -> None:
    contract = bind(
        Contract.model_validate(
            {"arguments": [{"name": "y", "role": "output", "dtype": "float32", "shape": [0, 3]}]}
        ),
        {},
        "w",
    )
    check_plan(
        plan(
            buffers=argument_buffers(contract),
            steps=(launch(params=(PointerParam(arg="y", buffer="y"),)),),
            outputs=contract_outputs(contract),
        ),
        contract,
    )


def test_a_plan_survives_its_json() -> None:
    made = plan(setup=(Fill(fill="tmp", offset=0, nbytes=8, pattern="00"),))
    assert LaunchPlan.model_validate_json(made.model_dump_json()) == made


def test_behaviour_without_names_is_equal_for_labels_and_hashes_but_not_for_numbers() -> None:
    renamed = PlanKernel(id="k", entry="k", sha256="1" * 64)
    assert without_names(plan(label="v", kernels=(renamed,))) == without_names(plan())
    assert without_names(plan(steps=(launch(grid=(2, 1, 1)),))) != without_names(plan())


def scalar(value: Any, dtype: str) -> BoundArgument:
    contract = Contract.model_validate(
        {
            "arguments": [
                {"name": "s", "role": "scalar", "dtype": dtype, "value": 1},
                {"name": "y", "role": "output", "dtype": "int8", "shape": [1]},
            ]
        }
    )
    bound = bind(contract, {}, "w").arguments[0]
    return BoundArgument(bound.argument, (), (), value)


INTEGERS = [d for d in DTYPES if "int" in d]


@pytest.mark.parametrize("dtype", INTEGERS)
@given(data=st.data())
def test_integers_are_packed_as_numpy_lays_them_out(dtype: str, data: st.DataObject) -> None:
    info = np.iinfo(dtype)
    value = data.draw(st.integers(int(info.min), int(info.max)))
    packed = pack_scalar(scalar(value, dtype))
    assert bytes.fromhex(packed.raw) == np.array(value, dtype).tobytes()
    assert (packed.arg, packed.type, packed.value) == ("s", dtype, value)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_one_beyond_either_end_are_refused(dtype: str) -> None:
    info = np.iinfo(dtype)
    for value in (int(info.min) - 1, int(info.max) + 1):
        with pytest.raises(SpecError, match=f"scalar `s` = {value} does not fit {dtype}"):
            pack_scalar(scalar(value, dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("value", [0.1, -3.0, 1.00390625, math.inf, -math.inf, math.nan])
def test_floats_are_packed_as_numpy_rounds_them(dtype: str, value: float) -> None:
    expected = np.array(value, numpy_dtype(dtype)).tobytes()
    assert bytes.fromhex(pack_scalar(scalar(value, dtype)).raw) == expected


@pytest.mark.parametrize(("dtype", "value"), [("float32", 1e39), ("float16", 70000.0)])
def test_floats_beyond_their_type_are_refused(dtype: str, value: float) -> None:
    with pytest.raises(SpecError, match=f"does not fit {dtype}"):
        pack_scalar(scalar(value, dtype))


def test_a_bool_is_zero_or_one() -> None:
    assert [pack_scalar(scalar(v, "bool")).raw for v in (0, 1, True)] == ["00", "01", "01"]
    with pytest.raises(SpecError, match="a bool is 0 or 1"):
        pack_scalar(scalar(2, "bool"))


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_types_that_c_cannot_pass_by_value_are_refused_with_those_it_can(dtype: str) -> None:
    with pytest.raises(SpecError) as caught:
        pack_scalar(scalar(1.0, dtype))
    assert "float32" in caught.value.valid
