"""Binding a contract to numbers, and shapes that are legal though nobody listed them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.errors import SpecError
from kernelwright.runners.specs.contract import (
    BoundArgument,
    BoundContract,
    bind,
    odd_shape,
    small_shape,
    workload_contracts,
)
from kernelwright.runners.specs.io_contract import Contract
from kernelwright.runners.specs.spec import KernelSpec


def contract(*arguments: dict[str, Any]) -> Contract:
    output = {"name": "out", "role": "output", "dtype": "float32", "shape": [1]}
    return Contract.model_validate({"arguments": [*arguments, output]})


def array(shape: list[Any], **more: Any) -> dict[str, Any]:
    return {"name": "x", "role": "input", "dtype": "float32", "shape": shape} | more


def scalar(value: Any, dtype: str) -> dict[str, Any]:
    return {"name": "s", "role": "scalar", "dtype": dtype, "value": value}


def first(bound: BoundContract) -> BoundArgument:
    return bound.arguments[0]


def spec(symbols: dict[str, Any], workloads: list[dict[str, int]], **argument: Any) -> KernelSpec:
    shape = sorted(symbols)
    return KernelSpec.model_validate(
        {
            "name": "k",
            "kernel": {
                "kernel_type": "cpp",
                "source_code": "void k();",
                "metadata": {"kernel_name": "k"},
            },
            "io": {
                "arguments": [
                    {"name": "x", "role": "input", "dtype": "int8", "shape": shape, **argument},
                    {"name": "y", "role": "output", "dtype": "int8", "shape": shape},
                ]
            },
            "symbols": symbols,
            "workloads": [{"name": f"w{i}", "symbols": w} for i, w in enumerate(workloads)],
            "reference": "baseline",
        }
    )


def test_sizes_are_expressions_over_symbols_and_strides_default_to_row_major() -> None:
    x = first(bind(contract(array(["n", "cdiv(n, 2)", 3])), {"n": 5}, "w"))
    assert x.shape == (5, 3, 3)
    assert x.strides == (9, 3, 1)
    assert x.nbytes == 5 * 3 * 3 * 4


def test_storage_ends_with_the_last_element_not_with_the_last_row() -> None:
    x = first(bind(contract(array([3, 4], strides=[10, 2])), {}, "w"))
    assert x.nbytes == (2 * 10 + 3 * 2 + 1) * 4


@pytest.mark.parametrize("shape", [[0], [0, 5], [5, 0], [3, 0, 2]])
def test_an_array_without_elements_takes_no_bytes(shape: list[int]) -> None:
    x = first(bind(contract(array(shape)), {}, "w"))
    assert x.nbytes == 0
    assert all(stride >= 1 for stride in x.strides)


@pytest.mark.parametrize(
    ("shape", "strides"), [([3], [0]), ([3, 4], [4, 0]), ([3, 4], [3, 1]), ([2, 2], [1, 1])]
)
def test_strides_that_put_two_elements_in_one_place_are_refused(
    shape: list[int], strides: list[int]
) -> None:
    with pytest.raises(SpecError, match=r"`x` .* strides") as caught:
        bind(contract(array(shape, strides=strides)), {}, "w")
    assert "place of its own" in caught.value.valid


@pytest.mark.parametrize(
    ("shape", "strides"), [([3, 4], [1, 3]), ([1, 4], [0, 1]), ([0, 4], [0, 0]), ([2, 3], [7, 2])]
)
def test_strides_in_any_order_are_fine_while_elements_stay_apart(
    shape: list[int], strides: list[int]
) -> None:
    assert first(bind(contract(array(shape, strides=strides)), {}, "w")).strides == tuple(strides)


def _with_strides(shape: list[int]) -> st.SearchStrategy[tuple[list[int], list[int]]]:
    strides = st.lists(st.integers(0, 20), min_size=len(shape), max_size=len(shape))
    return st.tuples(st.just(shape), strides)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3).flatmap(_with_strides))
def test_bound_strides_always_give_each_element_its_own_place(
    case: tuple[list[int], list[int]],
) -> None:
    shape, strides = case
    try:
        x = first(bind(contract(array(shape, strides=strides)), {}, "w"))
    except SpecError:
        return
    places = {0}
    for size, stride in zip(shape, strides, strict=True):
        places = {p + i * stride for p in places for i in range(size)}
    assert len(places) == math.prod(shape)
    assert x.nbytes == (max(places) + 1) * 4


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (array(["n - 9"]), "`x` has shape (-4,)"),
        (array([4], strides=["n - 9"]), "`x` of shape (4,) has strides (-4,)"),
        (array([1 << 40, 1 << 40]), "`x` would hold"),
        (array(["n / 2"]), "`n / 2` is 2.5"),
        (array(["n / 0"]), "`n / 0` has no value"),
        (scalar("n / 2", "int32"), "scalar `s` is 2.5"),
        (scalar(math.inf, "int32"), "scalar `s` is inf"),
        (scalar(math.nan, "int64"), "scalar `s` is nan"),
        (scalar(10**400, "float64"), "(401 digits), which float64 does not hold"),
        (scalar("n * 10**9", "int32"), "scalar `s` is 5000000000, which int32 does not hold"),
        (scalar("0 - n", "uint16"), "scalar `s` is -5, which uint16 does not hold"),
        (scalar(2, "bool"), "scalar `s` is 2, which bool does not hold"),
        (scalar(1e39, "float32"), "scalar `s` is 1e+39, which float32 does not hold"),
        (scalar(70000.0, "float16"), "scalar `s` is 70000.0, which float16 does not hold"),
    ],
)
def test_what_cannot_be_bound_is_refused_with_the_argument_and_its_value(
    argument: dict[str, Any], words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        bind(contract(argument), {"n": 5}, "w")
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("value", "dtype", "bound"),
    [("n * 2", "int32", 10), ("n / 2", "float32", 2.5), (3, "float64", 3.0), (4.0, "int64", 4)],
)
def test_scalars_get_the_kind_of_number_that_their_dtype_is(
    value: Any, dtype: str, bound: float
) -> None:
    s = first(bind(contract(scalar(value, dtype)), {"n": 5}, "w"))
    assert s.value == bound
    assert type(s.value) is type(bound)
    assert s.nbytes == (8 if dtype.endswith("64") else 4)


def test_inputs_outputs_and_arrays_are_told_apart_in_order() -> None:
    made = bind(
        contract(
            array([2]) | {"name": "a"},
            scalar(1, "int32"),
            array([2]) | {"name": "b", "role": "inout"},
        ),
        {},
        "w",
    )
    assert [a.name for a in made.arrays] == ["a", "b", "out"]
    assert [a.name for a in made.inputs] == ["a", "b"]
    assert [a.name for a in made.outputs] == ["b", "out"]


def test_workloads_are_bound_visible_and_held_out_apart() -> None:
    made = spec({"n": None}, [{"n": 4}, {"n": 5}])
    hidden = made.workloads[1].model_copy(update={"held_out": True})
    made = made.model_copy(update={"workloads": (made.workloads[0], hidden)})
    assert [b.label for b in workload_contracts(made)] == ["w0"]
    assert [b.label for b in workload_contracts(made, held_out=True)] == ["w1"]
    assert workload_contracts(made)[0].arguments[0].shape == (4,)


def _domain(low: int, width: int, step: int) -> dict[str, int]:
    return {"min": low, "max": -(-low // step) * step + width, "multiple_of": step}


DOMAINS = st.builds(
    _domain,
    st.integers(0, 300),
    st.integers(0, 400),
    st.sampled_from([1, 2, 3, 8, 16, 64, 100, 128, 200, 256]),
)


@given(st.dictionaries(st.sampled_from("mnk"), DOMAINS, min_size=1), st.data())
def test_the_odd_shape_is_legal_small_and_never_a_listed_workload(
    symbols: dict[str, dict[str, int]], data: st.DataObject
) -> None:
    def legal(domain: dict[str, int]) -> st.SearchStrategy[int]:
        step = domain["multiple_of"]
        least = -(-domain["min"] // step)
        return st.integers(least, domain["max"] // step).map(step.__mul__)

    sizes = st.fixed_dictionaries({name: legal(domain) for name, domain in symbols.items()})
    made = spec(symbols, data.draw(st.lists(sizes, min_size=1, max_size=4)))
    odd = odd_shape(made, data.draw(st.integers(0, 2**32)))
    listed = [dict(w.symbols) for w in made.workloads]
    if odd is None:
        counts = [d["max"] // d["multiple_of"] - _least(d) + 1 for d in symbols.values()]
        assert math.prod(counts) <= len(listed) + 1, "some small shape is not listed"
        return
    assert dict(odd.symbols) not in listed
    for name, size in odd.symbols.items():
        domain = symbols[name]
        assert domain["min"] <= size <= domain["max"]
        assert size % domain["multiple_of"] == 0
        assert size > 0 or domain["max"] < domain["multiple_of"]
        assert size <= max(163, domain["min"] + 9 * domain["multiple_of"]) + domain["multiple_of"]


def _least(domain: dict[str, int]) -> int:
    return -(-domain["min"] // domain["multiple_of"])


@given(st.integers(0, 2**32))
def test_the_odd_shape_of_a_wide_domain_is_odd_and_not_tiny(seed: int) -> None:
    odd = odd_shape(spec({"n": {"min": 1, "max": 4096}}, [{"n": 64}]), seed)
    assert odd is not None
    assert odd.symbols["n"] % 2 == 1
    assert 37 <= odd.symbols["n"] <= 163


@given(st.integers(0, 2**32))
def test_where_all_odd_shapes_from_37_on_are_listed_a_smaller_one_is_found(seed: int) -> None:
    odd = odd_shape(spec({"n": {"min": 0, "max": 37}}, [{"n": 37}]), seed)
    assert odd is not None and 0 < odd.symbols["n"] < 37


@given(st.integers(0, 2**32))
def test_a_domain_below_37_still_has_an_odd_shape_beside_its_workload(seed: int) -> None:
    odd = odd_shape(spec({"n": {"min": 1, "max": 7}}, [{"n": 7}]), seed)
    assert odd is not None
    assert odd.symbols["n"] in (1, 3, 5)


@given(st.integers(0, 2**32))
def test_a_step_above_163_gives_a_few_steps_and_an_odd_number_of_them(seed: int) -> None:
    domain = {"min": 0, "max": 4096, "multiple_of": 256}
    odd = odd_shape(spec({"n": domain}, [{"n": 1024}]), seed)
    assert odd is not None
    assert odd.symbols["n"] in (256, 768, 1280, 1792)


def test_the_odd_shape_has_no_label_of_a_workload() -> None:
    made = spec({"n": {"min": 1, "max": 4096}}, [{"n": 64}, {"n": 99}])
    one, other = made.workloads
    called = (one.model_copy(update={"name": "odd"}), other.model_copy(update={"name": "odd_"}))
    shape = odd_shape(made.model_copy(update={"workloads": called}), 1)
    assert shape is not None and shape.label == "odd__"


def test_without_domains_only_listed_workloads_are_legal() -> None:
    assert odd_shape(spec({"n": None}, [{"n": 64}]), 1) is None


def test_a_domain_whose_every_value_is_listed_has_no_odd_shape() -> None:
    assert odd_shape(spec({"n": {"min": 1, "max": 2}}, [{"n": 1}, {"n": 2}]), 1) is None


def test_symbols_without_a_domain_keep_a_listed_value() -> None:
    odd = odd_shape(spec({"m": None, "n": {"max": 500}}, [{"m": 9, "n": 64}]), 1)
    assert odd is not None
    assert odd.symbols["m"] == 9
    assert odd.symbols["n"] != 64


def test_the_shape_of_an_array_from_a_file_is_left_as_it_is() -> None:
    init = {"kind": "file", "path": "x.npy"}
    domain = {"min": 1, "max": 500}
    assert odd_shape(spec({"n": domain}, [{"n": 64}], init=init), 1) is None


def test_the_same_seed_gives_the_same_odd_shape_and_seeds_differ() -> None:
    made = spec({"n": {"min": 1, "max": 4096}}, [{"n": 64}])
    sizes = [o.symbols["n"] for s in range(20) if (o := odd_shape(made, s)) is not None]
    again = [o.symbols["n"] for s in range(20) if (o := odd_shape(made, s)) is not None]
    assert sizes == again
    assert len(set(sizes)) > 5


@given(
    domains=st.lists(
        st.tuples(st.integers(0, 5000), st.integers(0, 100000), st.sampled_from([1, 2, 3, 16, 64])),
        min_size=1,
        max_size=4,
    )
)
def test_the_small_shape_is_legal_and_small_and_not_needlessly_none(
    domains: list[tuple[int, int, int]],
) -> None:
    symbols = {f"s{i}": _domain(*d) for i, d in enumerate(domains)}
    least = {n: _least(d) * d["multiple_of"] for n, d in symbols.items()}
    small = small_shape(spec(symbols, [least], shape=list(symbols)))
    if small is None:
        smallest = [(_least(d) + 1) * d["multiple_of"] for d in symbols.values()]
        assert math.prod(smallest) > 1 << 16 or math.prod(smallest[:-1]) > 256
        return
    assert small.label == "logic"
    for name, size in small.symbols.items():
        domain = symbols[name]
        assert domain["min"] <= size <= domain["max"]
        assert size % domain["multiple_of"] == 0
    for array in small.arrays:
        assert math.prod(array.shape) <= 1 << 16
        assert math.prod(array.shape[:-1]) <= 256


@pytest.mark.parametrize(
    ("names", "sizes"),
    [(["n"], [4099]), (["m", "n"], [131, 131]), (["a", "b", "c", "d"], [3, 3, 15, 131])],
)
def test_wide_domains_give_several_blocks_a_ragged_end_and_few_rows(
    names: list[str], sizes: list[int]
) -> None:
    wide = {name: {"min": 1, "max": 1 << 20} for name in names}
    small = small_shape(spec(wide, [dict.fromkeys(names, 4096)], shape=names))
    assert small is not None
    assert list(small.symbols.values()) == sizes


def test_a_listed_shape_is_small_enough_or_there_is_none() -> None:
    small = small_shape(spec({"n": None}, [{"n": 1 << 20}, {"n": 1000}], shape=["n"]))
    assert small is not None
    assert small.symbols == {"n": 1000}
    assert small_shape(spec({"n": None}, [{"n": 1 << 20}], shape=["n"])) is None
    assert small_shape(spec({"n": None}, [{"n": 1000}], shape=["n", 1 << 12])) is None


def test_sizes_below_which_nothing_can_be_bound_end_the_search_for_a_small_shape() -> None:
    made = spec({"n": {"min": 1, "max": 1 << 20}}, [{"n": 1 << 19}], shape=["n - 262144"])
    assert small_shape(made) is None
