"""Other values of an input's domain: in what was declared, and not what anyone could know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kernelwright.runners.oracle.inputs import make_inputs
from kernelwright.runners.oracle.values.given import as_given
from kernelwright.runners.oracle.values.structured import (
    OF_DRAWN,
    OF_GIVEN,
    OF_GROWING,
    STRUCTURED,
    structured_kinds,
)
from kernelwright.runners.specs.contract import BoundContract, bind
from kernelwright.runners.specs.io_contract import Contract, StressKind

INDEX = {"kind": "arange", "low": 3}
OFFSETS = {"kind": "arange", "constant": True, "reason": "the mesh is always the same"}


def contract(init: Any, dtype: str = "float32", shape: tuple[int, ...] = (6, 40)) -> BoundContract:
    """A contract with one input."""
    x = {"name": "x", "role": "input", "dtype": dtype, "shape": list(shape), "init": init}
    y = {"name": "y", "role": "output", "dtype": "float32", "shape": [1]}
    return bind(Contract.model_validate({"arguments": [x, y]}), {}, "w")


def values(bound: BoundContract, kind: StressKind | None, seed: int = 5) -> Any:
    """What the input holds, in float64."""
    return make_inputs(bound, seed, kind=kind)["x"].astype(np.float64)


@pytest.mark.parametrize("kind", [*OF_GIVEN, *OF_GROWING])
@pytest.mark.parametrize("init", ["ones", "zeros", {"kind": "full", "value": -3}, INDEX])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "float8_e4m3fn"])
def test_what_a_spec_fills_with_constants_is_not_known(
    kind: StressKind, init: Any, dtype: str
) -> None:
    bound = contract(init, dtype, (6, 15))
    assert np.any(values(bound, kind) != values(bound, None))


@pytest.mark.parametrize("kind", STRUCTURED)
def test_what_is_declared_constant_stays(kind: StressKind) -> None:
    bound = contract(OFFSETS, "int32")
    np.testing.assert_array_equal(values(bound, kind), values(bound, None))


@pytest.mark.parametrize("kind", OF_GIVEN)
def test_a_positive_constant_stays_positive_and_a_negative_one_negative(kind: StressKind) -> None:
    assert np.all(values(contract("ones"), kind) > 0)
    assert np.all(values(contract({"kind": "full", "value": -1e-5}), kind) < 0)


@pytest.mark.parametrize("kind", OF_GIVEN)
def test_an_integer_constant_stays_between_zero_and_itself(kind: StressKind) -> None:
    for value in (1, 9, -4):
        found = values(contract({"kind": "full", "value": value}, "int32"), kind)
        assert found.min() >= min(0, value) and found.max() <= max(0, value)
    assert sorted(set(values(contract("zeros", "bool"), "unknown").flat)) == [0, 1]


@pytest.mark.parametrize("kind", OF_GIVEN)
def test_an_index_keeps_its_values_and_not_their_places(kind: StressKind) -> None:
    bound = contract(INDEX, "int64", (100,))
    usual, found = values(bound, None), values(bound, kind)
    assert np.any(usual != found)
    np.testing.assert_array_equal(np.sort(found), usual)


@pytest.mark.parametrize("length", [4, 5, 100])
@pytest.mark.parametrize("seed", range(8))
def test_an_index_of_which_two_places_are_exchanged_has_its_usual_ends(
    length: int, seed: int
) -> None:
    bound = contract(INDEX, "int64", (3, length))
    usual, found = values(bound, None), values(bound, "unlike", seed)
    assert np.all(np.count_nonzero(usual != found, axis=1) == 2)
    np.testing.assert_array_equal(usual[:, [0, -1]], found[:, [0, -1]])


def test_an_index_too_short_to_exchange_two_places_runs_backwards() -> None:
    bound = contract(INDEX, "int64", (3,))
    np.testing.assert_array_equal(values(bound, "unlike"), values(bound, None)[::-1])


@given(st.integers(0, 1000), st.integers(3, 40), st.sampled_from([2, 4, -3]))
def test_offsets_grow_in_uneven_steps_between_their_usual_ends(
    seed: int, length: int, step: int
) -> None:
    bound = contract({"kind": "arange", "scale": step}, "int32", (length,))
    usual, found = values(bound, None), values(bound, "uneven", seed)
    np.testing.assert_array_equal(usual[[0, -1]], found[[0, -1]])
    assert np.all(np.sign(np.diff(found)) == np.sign(step))
    assert np.any(usual != found)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_edges_of_bins_stay_in_order_and_are_not_evenly_spaced(dtype: str) -> None:
    usual, found = (
        values(contract({"kind": "arange", "scale": 0.5}, dtype, (33,)), kind)
        for kind in (None, "uneven")
    )
    np.testing.assert_array_equal(usual[[0, -1]], found[[0, -1]])
    assert np.all(np.diff(found) > 0) and len(set(np.diff(found))) > 5
    assert found.sum() != usual.sum()


def test_rows_that_a_file_makes_unlike_keep_their_lengths_and_not_their_order() -> None:
    lengths = np.array([3, 0, 1, 7, 0, 2, 5])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    found = as_given("int64", offsets, "uneven", np.random.default_rng(3))
    assert np.any(found != offsets)
    np.testing.assert_array_equal(np.sort(np.diff(found)), np.sort(lengths))


def test_the_sum_of_given_floats_is_another_where_two_are_exchanged() -> None:
    bound = contract({"kind": "arange", "low": 1}, "float64", (2, 9))
    assert np.all(values(bound, "unlike").sum(axis=1) != values(bound, None).sum(axis=1))


@given(st.sampled_from([*OF_DRAWN, "mixed"]), st.integers(0, 1000))
def test_a_declared_range_is_kept(kind: StressKind, seed: int) -> None:
    whole = values(contract({"kind": "randint", "low": -2, "high": 7}, "int16"), kind, seed)
    assert whole.min() >= -2 and whole.max() <= 6
    bound = contract({"kind": "uniform", "low": 100, "high": 101}, "float16")
    assert np.all((values(bound, kind, seed) >= 100) & (values(bound, kind, seed) < 101))


@given(st.integers(0, 1000), st.sampled_from([1, 5]), st.sampled_from([(0, 2), (1, 2), (0, 4)]))
def test_no_part_of_a_row_stands_for_the_whole_where_halves_differ(
    seed: int, rows: int, part: tuple[int, int]
) -> None:
    bound = contract({"kind": "uniform", "low": 100, "high": 100.1}, shape=(rows, 4096))
    x = values(bound, "half", seed)
    first, step = part
    for some in (x[:, : 4096 // step], x[:, first::step]):
        assert np.all(abs(some.mean(axis=1) - x.mean(axis=1)) > 0.005)


@pytest.mark.parametrize("init", [{"kind": "uniform"}, "randn"])
@given(seed=st.integers(0, 1000), part=st.sampled_from([(0, 2), (1, 2), (0, 4)]))
def test_no_part_of_all_rows_stands_for_them_where_halves_differ(
    init: Any, seed: int, part: tuple[int, int]
) -> None:
    x = values(contract(init, shape=(2048, 8)), "half", seed)
    first, step = part
    for some in (x[: 2048 // step], x[first::step]):
        assert np.all(abs(some.mean(axis=0) - x.mean(axis=0)) > 0.005)


@given(st.integers(0, 1000))
def test_a_spike_lies_between_values_as_usual_as_any(seed: int) -> None:
    bound = contract("randn", shape=(8, 512))
    usual, found = values(bound, None, seed), values(bound, "spike", seed)
    changed = usual != found
    assert np.all(changed.sum(axis=1) == 1)
    assert np.all(abs(found[changed]) > 20)


@pytest.mark.parametrize("kind", ["few", "lone"])
@pytest.mark.parametrize("init", ["uniform", "randn", {"kind": "uniform", "low": 100, "high": 101}])
def test_what_a_row_repeats_adds_up_to_the_same_in_any_order_in_double(
    kind: StressKind, init: Any
) -> None:
    (row,) = values(contract(init, "float64", (1, 1 << 16)), kind)
    products = row * row
    in_turn, in_pairs = np.cumsum(products)[-1], products.sum()
    assert in_turn == in_pairs == sum(np.cumsum(products.reshape(16, -1), axis=1)[:, -1])


def test_between_mixed_rows_most_are_usual() -> None:
    bound = contract("randn", shape=(64, 32))
    usual, found = values(bound, None), values(bound, "mixed")
    changed = np.any(abs(usual - found) > 0.5, axis=1)
    assert 2 <= changed.sum() <= 8


def test_kinds_are_asked_for_by_what_the_inits_are() -> None:
    def kinds(init: Any, *, most: bool = True) -> tuple[StressKind, ...]:
        bound = contract(init, "int32")
        return structured_kinds(
            Contract(arguments=tuple(a.argument for a in bound.arguments)), most=most
        )

    assert kinds({"kind": "randint", "low": 0, "high": 4}) == OF_DRAWN
    assert kinds("ones") == OF_GIVEN
    assert kinds("ones", most=False) == ("unknown",)
    assert kinds({"kind": "arange", "scale": 2}, most=False) == ("unknown", "uneven")
    assert kinds({"kind": "arange"}) == OF_GIVEN
    assert kinds(OFFSETS) == ()


@pytest.mark.parametrize(
    ("init", "words"),
    [
        ({"kind": "ones", "constant": True}, "needs `reason`"),
        ({"kind": "ones", "constant": True, "reason": "  "}, "needs `reason`"),
        ({"kind": "ones", "reason": "it is"}, "give `constant: true` too"),
        ({"kind": "randn", "constant": True, "reason": "it is"}, "draws values for every seed"),
    ],
)
def test_a_constant_says_why_and_is_none_that_a_seed_draws(init: Any, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        contract(init)


@pytest.mark.parametrize("init", ["uniform", {"kind": "randint", "low": 0, "high": 1000}, "randn"])
def test_every_second_row_of_a_mixture_says_little_of_the_others(init: Any) -> None:
    bound = contract(init, "float32" if init in ("uniform", "randn") else "int32", (64, 4096))
    spread = values(bound, None).std()
    for seed in range(5):
        means = np.median(values(bound, "mixed", seed), axis=1)
        assert abs(means[::2].mean() - means[1::2].mean()) > 0.03 * spread
        assert np.ptp(means) < 6 * spread, "most rows are nearly as usual"


@pytest.mark.parametrize("hands", [4, 16, 64])
def test_ends_of_a_row_lie_where_one_of_several_threads_reads(hands: int) -> None:
    """Who keeps the largest two of each thread's values loses the third of some rows."""
    bound, lost = contract("randn", shape=(32, 1024)), 0
    for seed in range(8):
        for row in values(bound, "sorted", seed):
            largest = np.argsort(row)[-3:]
            lost += bool(np.ptp(largest % hands) == 0)
    assert lost > 8


def test_values_of_few_are_ties_of_a_rounding_many_times() -> None:
    bound = contract("randn", shape=(4, 64))
    ties = [(values(bound, "few", seed) * 10 % 1 == 0.5).any() for seed in range(6)]
    assert sum(map(bool, ties)) >= 3


def test_the_halves_of_a_lone_row_do_not_cancel() -> None:
    bound = contract("randn", "float64", (4096,))
    assert all(abs(values(bound, "half", seed).mean()) > 1 for seed in range(5))
