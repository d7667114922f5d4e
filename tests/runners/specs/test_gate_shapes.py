"""Further legal shapes: small, ragged and odd, and never outside a domain."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kernelwright.runners.specs.contract import odd_shape
from kernelwright.runners.specs.gate_shapes import (
    DRAWS,
    NEAR_BYTES,
    TILE,
    VECTORS_BYTES,
    gate_shapes,
    long_shapes,
    near_shape,
    smallest_shape,
    vector_shape,
)
from kernelwright.runners.specs.spec import KernelSpec


def spec(
    symbols: dict[str, Any], first: dict[str, int], shape: list[Any] | None = None
) -> KernelSpec:
    shape = list(symbols) if shape is None else shape
    return KernelSpec.model_validate(
        {
            "name": "k",
            "kernel": {"kernel_type": "cpp", "source_code": "", "metadata": {"kernel_name": "k"}},
            "io": {
                "arguments": [
                    {"name": "x", "role": "input", "dtype": "float32", "shape": shape},
                    {"name": "y", "role": "output", "dtype": "float32", "shape": shape},
                ]
            },
            "symbols": symbols,
            "workloads": [{"name": "w", "symbols": first}],
            "reference": "baseline",
        }
    )


def test_one_of_each_with_its_own_label() -> None:
    made = spec({"m": {"max": 5000}, "n": {"max": 5000}}, {"m": 512, "n": 1000})
    shapes = {s.label: dict(s.symbols) for s in gate_shapes(made, 1, [])}
    assert shapes["smallest"] == {"m": 1, "n": 1}
    assert shapes["near"] == {"m": 511, "n": 999}
    assert shapes["long_m"] == {"m": 4999, "n": 3}
    assert shapes["long_n"] == {"m": 3, "n": 4999}
    assert set(shapes) == {"smallest", "near", "long_m", "long_n", "vectors", "other"}


def test_beside_a_workload_called_odd_the_other_shape_keeps_its_label() -> None:
    made = spec({"n": {"max": 5000}}, {"n": 1000})
    workload = made.workloads[0].model_copy(update={"name": "odd"})
    labels = [
        s.label for s in gate_shapes(made.model_copy(update={"workloads": (workload,)}), 1, [])
    ]
    assert labels == ["smallest", "near", "long_n", "vectors", "other"]


def test_what_is_known_already_is_left_out() -> None:
    made = spec({"n": {"max": 5000}}, {"n": 1000})
    labels = [s.label for s in gate_shapes(made, 1, [{"n": 1}, {"n": 999}])]
    assert labels == ["long_n", "vectors", "other"]


@pytest.mark.parametrize(
    ("symbols", "least"),
    [
        ({"n": {"max": 1 << 20}}, 4096),
        ({"m": {"max": 5000}, "n": {"max": 5000}}, 256),
        ({"m": {"max": 5000, "multiple_of": 8}, "n": {"max": 5000}}, 256),
    ],
)
def test_sizes_of_vectors_are_odd_multiples_of_sixteen_beyond_a_tile(
    symbols: dict[str, Any], least: int
) -> None:
    made = spec(symbols, dict.fromkeys(symbols, 1024))
    for seed in range(20):
        shape = vector_shape(made, random.Random(seed))
        assert shape is not None
        assert all(size % 32 == 16 and size > least for size in shape.symbols.values())


def test_without_a_multiple_of_sixteen_there_is_no_shape_of_vectors() -> None:
    assert vector_shape(spec({"n": {"max": 15}}, {"n": 8}), random.Random(1)) is None
    short = vector_shape(
        spec({"m": {"max": 15}, "n": {"max": 90}}, {"m": 8, "n": 8}), random.Random(1)
    )
    assert short is not None and dict(short.symbols) == {"m": 15, "n": 80}


def test_the_arrays_of_the_shape_of_vectors_are_few_bytes() -> None:
    names = ["b", "h", "s", "d"]
    made = spec({name: {"max": 4096} for name in names}, dict.fromkeys(names, 64), names)
    shape = vector_shape(made, random.Random(1))
    assert shape is not None and shape.nbytes <= VECTORS_BYTES


def test_a_long_shape_counts_beyond_16_bits_and_beyond_every_workload() -> None:
    short = spec({"n": {"max": 1 << 20}}, {"n": 1000})
    assert [dict(s.symbols) for s in long_shapes(short)] == [{"n": 70001}]
    long = spec({"n": {"max": 1 << 20}}, {"n": 100000})
    assert [s.symbols["n"] > 100000 for s in long_shapes(long)] == [True]
    assert not long_shapes(spec({"n": {"max": 100000}}, {"n": 100000})), "nothing is longer"


@pytest.mark.parametrize(
    ("flops", "long"), [("2 * n", 1_100_003), ("n * n", 70001), (None, 70001), (7, 1_100_003)]
)
def test_a_lone_size_is_longer_where_that_is_known_to_be_little_work(flops: Any, long: int) -> None:
    made = spec({"n": {"max": 1 << 22}}, {"n": 1000})
    declared = made.model_copy(update={"io": made.io.model_copy(update={"flops": flops})})
    assert [dict(s.symbols) for s in long_shapes(declared)] == [{"n": long}]


def test_without_a_domain_no_shape_is_invented() -> None:
    assert gate_shapes(spec({"n": None}, {"n": 64}), 1, []) == ()


def test_the_shape_near_a_large_workload_is_bounded_in_bytes() -> None:
    made = spec({"m": {"max": 1 << 20}, "n": {"max": 1 << 20}}, {"m": 1 << 16, "n": 1 << 14})
    near = near_shape(made)
    assert near is not None
    total = sum(array.nbytes for array in near.arrays)
    assert NEAR_BYTES / 8 < total <= NEAR_BYTES
    assert all(size % 2 for size in near.symbols.values())


def test_the_smallest_shape_has_elements_where_sizes_are_differences() -> None:
    found = smallest_shape(spec({"n": {"min": 0, "max": 500}}, {"n": 300}, ["n - 60"]))
    assert found is not None
    assert found.symbols == {"n": 64}


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 3000), st.sampled_from([1, 2, 3, 8, 16, 128])),
        min_size=1,
        max_size=3,
    ),
    st.data(),
)
def test_every_shape_lies_in_its_domains_and_is_new(
    domains: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    symbols, first = dict[str, Any](), dict[str, int]()
    for number, (low, room, step) in enumerate(domains):
        high = low + room
        assume(-(-low // step) * step <= high)
        symbols[f"s{number}"] = {"min": low, "max": high, "multiple_of": step}
        first[f"s{number}"] = step * data.draw(st.integers(-(-low // step), high // step))
    shapes = gate_shapes(spec(symbols, first), data.draw(st.integers(0, 99)), [])
    seen = [first]
    for shape in shapes:
        assert dict(shape.symbols) not in seen
        seen.append(dict(shape.symbols))
        for name, size in shape.symbols.items():
            domain = symbols[name]
            assert domain["min"] <= size <= domain["max"]
            assert size % domain["multiple_of"] == 0


@given(st.integers(0, 1 << 20), st.sampled_from([8, 16, 32, 64, 128]))
def test_whole_tiles_reach_behind_an_array_on_the_smallest_or_the_odd_shape_whatever_is_drawn(
    seed: int, tile: int
) -> None:
    made = spec({"m": {"min": 9, "max": 5000}, "n": {"min": 33, "max": 5000}}, {"m": 64, "n": 1024})
    placed = [
        dict(s.symbols) for s in gate_shapes(made, seed, []) if s.label in ("smallest", "other")
    ]
    behind = [4 * (-size["n"] % tile) for size in placed]
    aligned = [-4 * size["m"] * size["n"] % 16 for size in placed]
    assert any(far > near for far, near in zip(behind, aligned, strict=True))


@given(st.integers(0, 1 << 20))
def test_the_odd_shape_that_leaves_tiles_most_room_is_taken(seed: int) -> None:
    made = spec({"n": {"max": 5000}}, {"n": 1024})
    (other,) = [s.symbols["n"] for s in gate_shapes(made, seed, []) if s.label == "other"]
    rng = random.Random(seed)
    drawn = [odd_shape(made, rng.getrandbits(32)) for _ in range(DRAWS)]
    rooms = [-shape.symbols["n"] % TILE for shape in drawn if shape is not None]
    assert -other % TILE == max(rooms)
