"""Stress values: legal, unkind, and only where the contract's inits allow them."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kernelwright.runners.dtypes import DTYPES, numpy_dtype
from kernelwright.runners.oracle.inputs import make_inputs
from kernelwright.runners.oracle.values.stress import BOUNDED, FREE, KINDS, kinds_for
from kernelwright.runners.protocol.pools import draw_exchanged, draw_stress
from kernelwright.runners.specs.contract import BoundContract, bind
from kernelwright.runners.specs.io_contract import Contract, StressKind

FLOATS = [name for name, dtype in DTYPES.items() if dtype.floor is not None]
Array = npt.NDArray[Any]


def contract(*inputs: dict[str, Any], **more: Any) -> Contract:
    given = [{"role": "input", "shape": [8, 512], **each} for each in inputs]
    for number, each in enumerate(given):
        each.setdefault("name", f"x{number}")
    output = {"name": "y", "role": "output", "dtype": "float32", "shape": [1]}
    return Contract.model_validate({"arguments": [*given, output], **more})


def bound(*inputs: dict[str, Any]) -> BoundContract:
    return bind(contract(*inputs), {}, "w")


def wide(values: Array) -> Array:
    return values.astype(np.float64)


def values(kind: StressKind, *inputs: dict[str, Any], seed: int = 7) -> list[Array]:
    return list(make_inputs(bound(*inputs), seed, kind=kind).values())


@given(
    dtype=st.sampled_from(list(DTYPES)),
    kind=st.sampled_from(list(KINDS)),
    init=st.sampled_from(["randn", "uniform", "randint"]),
    shape=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    low=st.integers(-3, 3),
    width=st.integers(1, 5),
    seed=st.integers(0, 2**63 - 1),
)
def test_values_have_the_shape_and_dtype_are_finite_and_stay_in_their_range(
    dtype: str, kind: StressKind, init: str, shape: list[int], low: int, width: int, seed: int
) -> None:
    narrow = dtype == "bool" or dtype.startswith("u")
    low = 0 if narrow else low
    width = 2 if dtype == "bool" else width
    if dtype == "bool" or (init == "randn" and DTYPES[dtype].floor is None):
        init = "randint"
    filled = {"kind": init, "low": low, "high": low + width}
    made = bound({"dtype": dtype, "shape": shape, "init": filled})
    (array,) = make_inputs(made, seed, kind=kind).values()
    assert array.shape == tuple(shape)
    assert array.dtype == numpy_dtype(dtype)
    assert array.flags.c_contiguous
    assert np.isfinite(wide(array)).all()
    if init != "randn" and array.size:
        # what rounding to a narrow type may do to a usual value, it does not do to these
        assert wide(array).min() >= low
        assert wide(array).max() < low + width or kind in ("special", "exchanged")
    (again,) = make_inputs(made, seed, kind=kind).values()
    assert array.tobytes() == again.tobytes()


def test_files_ranges_and_constants_stay_as_they_are() -> None:
    fixed: list[dict[str, Any]] = [
        {"dtype": "float32", "init": {"kind": "arange", "scale": 2.0}},
        {"dtype": "float32", "init": "ones"},
        {"dtype": "int32", "init": {"kind": "full", "value": 5}},
    ]
    usual = make_inputs(bound(*fixed), 1)
    for kind in KINDS:
        stressed = make_inputs(bound(*fixed), 1, kind=kind)
        assert all(np.array_equal(usual[name], stressed[name]) for name in usual)
    assert kinds_for(contract(*fixed)) == ()


@pytest.mark.parametrize("dtype", FLOATS)
def test_each_kind_is_what_it_says_in_every_float_type(dtype: str) -> None:
    import ml_dtypes

    limits: Any = cast(Any, ml_dtypes).finfo(numpy_dtype(dtype))
    largest, smallest = float(limits.max), float(limits.smallest_normal)

    def of(kind: StressKind) -> Array:
        return wide(values(kind, {"dtype": dtype})[0])

    assert not of("zeros").any()
    assert abs(of("offset").mean()) > (0.9 if dtype.startswith("float8") else 5)
    assert of("offset").std() > 0.1, "what varies is still there"
    tiny = abs(of("tiny"))
    assert tiny[tiny > 0].min() < smallest, "denormal"
    assert tiny.max() < 16 * smallest
    assert abs(of("large")).max() > min(1e6, largest / 8)
    rows = abs(of("wide")).mean(axis=-1)
    assert rows.max() > 3 * rows.min()


def test_pairs_cancel_to_small_sums_in_random_places() -> None:
    for dtype in ("float64", "float32", "float16"):
        x = wide(values("cancellation", {"dtype": dtype})[0])
        assert abs(x.sum(axis=-1)).max() < 0.05 * abs(x).sum(axis=-1).min()
        neighbours = abs(x[:, 0::2] + x[:, 1::2])
        assert neighbours.mean() > 0.5, "not next to each other"


def test_products_with_another_array_cancel_as_well() -> None:
    a, b = values(
        "cancellation",
        {"dtype": "float64", "shape": [6, 128]},
        {"dtype": "float64", "shape": [128, 4]},
    )
    product = a @ b
    assert abs(product).max() < 0.01 * (abs(a) @ abs(b)).min()
    assert abs(product).max() > 0


def test_an_offset_leaves_what_varies_to_be_resolved_by_the_type() -> None:
    (half,) = values("offset", {"dtype": "float16"})
    (single,) = values("offset", {"dtype": "float32"})
    assert 40 < wide(half).mean() < 60
    assert 990 < wide(single).mean() < 1010


def test_bounded_arrays_get_the_ends_of_their_range_and_constants_in_it() -> None:
    def whole(kind: StressKind) -> set[int]:
        init = {"kind": "randint", "low": 2, "high": 7}
        return set(values(kind, {"dtype": "int32", "init": init})[0].reshape(-1).tolist())

    assert whole("zeros") == {2}
    assert whole("offset") == {6}
    assert whole("wide") == whole("large") == {2, 6}
    init = {"kind": "uniform", "low": -1, "high": 1}
    (ends,) = values("wide", {"dtype": "bfloat16", "init": init})
    assert set(wide(ends).reshape(-1).tolist()) == {-1.0, 0.99609375}


def test_the_kinds_follow_the_contract() -> None:
    free, bounded = {"dtype": "float32"}, {"dtype": "float32", "init": "uniform"}
    assert kinds_for(contract(free)) == FREE
    assert kinds_for(contract(bounded)) == BOUNDED
    assert kinds_for(contract(free, bounded)) == FREE
    assert set(FREE) - set(kinds_for(contract(free, math="tf32"))) == {"cancellation"}
    assert set(FREE) - set(kinds_for(contract(free, math="fast"))) == {"cancellation", "tiny"}
    assert kinds_for(contract({**free, "nonfinite": True})) == (*FREE, "special")


def test_special_values_come_only_where_the_contract_says_nonfinite() -> None:
    with_them, without = values(
        "special", {"dtype": "float16", "nonfinite": True}, {"dtype": "float16"}
    )
    assert np.isnan(with_them).any() and np.isposinf(with_them).any()
    assert np.isneginf(with_them).any()
    assert ((with_them == 0) & np.signbit(with_them)).any(), "-0"
    assert np.isfinite(with_them).mean() > 0.9
    assert np.isfinite(without).all()


@pytest.mark.parametrize(
    "argument",
    [
        {"role": "output", "dtype": "float32"},
        {"role": "input", "dtype": "int32"},
    ],
)
def test_nonfinite_is_for_float_inputs(argument: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="nonfinite is for inputs and inouts of floats"):
        Contract.model_validate(
            {"arguments": [{"name": "x", "shape": [4], "nonfinite": True, **argument}]}
        )


def test_a_stress_pool_has_a_slot_for_each_kind() -> None:
    pool = draw_stress("k", bound({"dtype": "float32"}), FREE, name="stress")
    assert (pool.slots, pool.kinds) == (len(FREE), FREE)
    assert len(set(pool.seeds)) == len(FREE)
    assert all(0 <= seed < 2**63 and math.isfinite(seed) for seed in pool.seeds)


def test_exchanged_values_are_the_same_ones_with_the_same_ends() -> None:
    made = bound({"dtype": "float32"}, {"dtype": "float32", "init": {"kind": "arange"}})
    usual, moved = make_inputs(made, 5), make_inputs(made, 5, kind="exchanged")
    x, y = usual["x0"].reshape(-1), moved["x0"].reshape(-1)
    assert sorted(x) == sorted(y)
    assert (x[0], x[-1]) == (y[0], y[-1])
    assert 4 <= (x != y).sum() <= 32
    assert np.array_equal(usual["x1"], moved["x1"]), "an order may mean something"
    pool = draw_exchanged("k", made, name="exchanged")
    assert pool.seeds[0] == pool.seeds[1]
    assert pool.kinds == (None, "exchanged")
