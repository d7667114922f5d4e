"""Inputs from a seed, from files, and laid out with the contract's strides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.dtypes import DTYPES, numpy_dtype
from kernelwright.runners.errors import AccessError, SpecError
from kernelwright.runners.oracle.inputs import make_inputs, pack, unpack
from kernelwright.runners.specs.contract import BoundArgument, BoundContract, bind
from kernelwright.runners.specs.io_contract import Contract

Array = npt.NDArray[Any]


def contract(*arguments: dict[str, Any], **symbols: int) -> BoundContract:
    made = [{"role": "inout", "dtype": "float32", "shape": [64], **a} for a in arguments]
    return bind(Contract.model_validate({"arguments": made}), symbols, "w")


def one(init: Any, dtype: str = "float32", shape: tuple[int, ...] = (64,), seed: int = 1) -> Array:
    bound = contract({"name": "x", "dtype": dtype, "shape": list(shape), "init": init})
    return make_inputs(bound, seed)["x"]


def from_file(path: Path, dtype: str, shape: list[int]) -> Array:
    init = {"kind": "file", "path": path.name}
    bound = contract({"name": "x", "dtype": dtype, "shape": shape, "init": init})
    return make_inputs(bound, 1, {"x": str(path)})["x"]


@pytest.mark.parametrize("dtype", list(DTYPES))
def test_the_same_seed_gives_the_same_bytes_in_every_dtype(dtype: str) -> None:
    first, again, other = (one(None, dtype, seed=seed) for seed in (1, 1, 2))
    assert first.dtype == numpy_dtype(dtype)
    assert first.flags.c_contiguous
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


def test_arguments_of_one_shape_get_different_values() -> None:
    made = make_inputs(contract({"name": "a"}, {"name": "b"}), 1)
    assert list(made) == ["a", "b"]
    assert not np.array_equal(made["a"], made["b"])


def test_an_arguments_values_do_not_depend_on_the_others() -> None:
    alone = make_inputs(contract({"name": "b"}), 1)["b"]
    assert np.array_equal(make_inputs(contract({"name": "a"}, {"name": "b"}), 1)["b"], alone)


def test_workloads_with_other_symbols_get_other_values() -> None:
    first, other = (make_inputs(contract({"name": "a"}, n=n), 1)["a"] for n in (1, 2))
    assert not np.array_equal(first, other)


def test_outputs_and_scalars_are_not_made() -> None:
    made = contract(
        {"name": "a", "role": "input"},
        {"name": "y", "role": "output"},
        {"name": "n", "role": "scalar", "dtype": "int32", "shape": [], "value": 3},
    )
    assert list(make_inputs(made, 1)) == ["a"]


@pytest.mark.parametrize(
    ("init", "dtype", "wanted"),
    [
        ("zeros", "float16", [0, 0, 0]),
        ("ones", "int8", [1, 1, 1]),
        ("ones", "bool", [True, True, True]),
        ({"kind": "full", "value": 2.5}, "bfloat16", [2.5, 2.5, 2.5]),
        ({"kind": "full", "value": -np.inf}, "float32", [-np.inf] * 3),
        ({"kind": "arange", "low": 1, "scale": 0.5}, "float8_e5m2", [1, 1.5, 2]),
        ({"kind": "arange", "low": 3, "scale": 2}, "uint16", [3, 5, 7]),
    ],
)
def test_constant_kinds_have_the_values_they_name(
    init: Any, dtype: str, wanted: list[float]
) -> None:
    assert one(init, dtype, (3,)).astype(np.float64).tolist() == wanted


def test_random_kinds_follow_their_parameters() -> None:
    normal = one({"kind": "randn", "shift": 5, "scale": 0.1}, shape=(4096,))
    assert normal.mean() == pytest.approx(5, abs=0.02)
    assert normal.std() == pytest.approx(0.1, rel=0.1)
    uniform = one({"kind": "uniform", "low": -2, "high": 3}, shape=(4096,))
    assert -2 <= uniform.min() < -1.9
    assert 2.9 < uniform.max() <= 3
    whole = one({"kind": "randint", "low": -1, "high": 2}, "int8", (4096,))
    assert sorted(set(whole.tolist())) == [-1, 0, 1]


def test_shapes_without_elements_can_be_made() -> None:
    for init in ("randn", "zeros", "arange", {"kind": "randint"}):
        assert one(init, "int32", (3, 0)).shape == (3, 0)


@pytest.mark.parametrize(
    ("init", "dtype"),
    [
        ("randn", "uint8"),
        ({"kind": "randint", "high": 1000}, "int8"),
        ({"kind": "randint", "low": 0, "high": 9}, "bool"),
        ({"kind": "full", "value": 256}, "uint8"),
        ({"kind": "full", "value": np.nan}, "int32"),
        ({"kind": "full", "value": np.inf}, "int64"),
        ({"kind": "full", "value": 2.0**63}, "int64"),
        ({"kind": "arange", "low": 250}, "uint8"),
    ],
)
def test_values_that_an_integer_type_does_not_hold_are_refused_not_wrapped(
    init: Any, dtype: str
) -> None:
    with pytest.raises(SpecError, match=f"init of `x`: .* does not fit {dtype}"):
        one(init, dtype)


# numpy writes float8_e5m2 under a name that it cannot read again
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "float8_e5m2"])
def test_a_file_of_the_arguments_dtype_arrives_bit_by_bit(tmp_path: Path, dtype: str) -> None:
    values = one(None, dtype, (3, 4))
    np.save(tmp_path / "x.npy", values)
    assert from_file(tmp_path / "x.npy", dtype, [3, 4]).tobytes() == values.tobytes()


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_large_integers_from_a_file_keep_every_digit(tmp_path: Path, dtype: str) -> None:
    values = np.array([2**62 + 1, 2**53 + 1], dtype=dtype)
    np.save(tmp_path / "x.npy", values)
    assert from_file(tmp_path / "x.npy", dtype, [2]).tolist() == values.tolist()


def test_a_file_of_another_number_type_is_converted(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([1.25, -3.0]))
    assert from_file(tmp_path / "x.npy", "bfloat16", [2]).astype(float).tolist() == [1.25, -3.0]
    assert from_file(tmp_path / "x.npy", "float32", [2]).tolist() == [1.25, -3.0]


def test_a_file_of_another_shape_is_refused_with_both(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 3)))
    with pytest.raises(SpecError) as caught:
        from_file(tmp_path / "x.npy", "float32", [3, 2])
    assert "(2, 3)" in caught.value.message
    assert caught.value.valid == "(3, 2)"


@pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY\x01\x00"])
def test_a_file_that_is_no_array_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(AccessError) as caught:
        from_file(tmp_path / "x.npy", "float32", [2])
    assert caught.value.message.startswith("init of `x`")
    assert caught.value.valid == "a .npy file"


def test_a_missing_file_and_an_archive_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match="init of `x`"):
        from_file(tmp_path / "missing.npy", "float32", [2])
    np.savez(tmp_path / "x.npz", a=np.zeros(2))
    with pytest.raises(AccessError, match="several arrays"):
        from_file(tmp_path / "x.npz", "float32", [2])


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(AccessError):
        from_file(tmp_path / "x.npy", "float32", [1])


@pytest.mark.parametrize("values", [np.array(["a", "b"]), np.array([1j, 2j])])
def test_a_file_of_what_is_no_real_number_is_refused(tmp_path: Path, values: Array) -> None:
    np.save(tmp_path / "x.npy", values)
    with pytest.raises(SpecError, match="init of `x`: it holds"):
        from_file(tmp_path / "x.npy", "float32", [2])


@st.composite
def strided(draw: st.DrawFn) -> BoundArgument:
    """An array with gaps between its elements and its axes in any order."""
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    strides, step = [0] * len(shape), draw(st.integers(1, 3))
    for axis in draw(st.permutations(range(len(shape)))):
        strides[axis] = step
        step = step * max(1, shape[axis]) + draw(st.integers(0, 3))
    argument = {
        "name": "x",
        "dtype": draw(st.sampled_from(list(DTYPES))),
        "shape": shape,
        "strides": strides,
    }
    return contract(argument).arguments[0]


@given(strided(), st.integers(0, 2**32))
def test_what_is_packed_with_strides_is_unpacked_again_and_gaps_are_left_alone(
    bound: BoundArgument, seed: int
) -> None:
    dtype = numpy_dtype(bound.argument.dtype)
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, bound.shape).astype(dtype)
    into = np.full(bound.nbytes + 8, 0xA5, dtype=np.uint8)
    pack(bound, values, into)
    back = unpack(bound, into)
    assert back.flags.c_contiguous
    assert back.tobytes() == values.tobytes()
    assert (into[bound.nbytes :] == 0xA5).all()
    touched = int((into[: bound.nbytes] != 0xA5).sum())
    assert touched <= values.nbytes


def test_packing_puts_elements_where_the_strides_say() -> None:
    bound = contract({"name": "x", "dtype": "uint8", "shape": [2, 3], "strides": [1, 4]}).arguments[
        0
    ]
    into = np.full(bound.nbytes, 9, dtype=np.uint8)
    pack(bound, np.arange(6, dtype=np.uint8).reshape(2, 3), into)
    assert into.tolist() == [0, 3, 9, 9, 1, 4, 9, 9, 2, 5]


def test_what_lies_in_one_piece_is_looked_at_and_not_copied() -> None:
    bound = contract({"name": "x", "dtype": "uint8", "shape": [3]}).arguments[0]
    data = np.zeros(3, dtype=np.uint8)
    found = unpack(bound, data)
    data[:] = 7
    assert found.tolist() == [7, 7, 7]
