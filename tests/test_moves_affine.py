"""Index arithmetic: the laws of forms, and what expressions of C++ have one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.normalise import parse_cpp
from kernelwright.search.moves.affine import Form, form_of

NAMES = ("i", "j", "W")
values = st.fixed_dictionaries({name: st.integers(-9, 9) for name in NAMES})
forms = st.lists(
    st.tuples(st.lists(st.sampled_from(NAMES), max_size=3).map(tuple), st.integers(-5, 5)),
    max_size=4,
).map(Form.of)


def at(form: Form, where: dict[str, int]) -> int:
    found = form.substitute({name: Form.number(value) for name, value in where.items()}).constant
    assert found is not None
    return found


def read(text: str) -> Form | None:
    declaration = parse_cpp(f"long x = {text};".encode()).root_node.children[0]
    value = declaration.child_by_field_name("declarator")
    assert value is not None
    expression = value.child_by_field_name("value")
    assert expression is not None
    return form_of(expression, Form.name)


@given(forms, forms, values)
def test_sums_and_products_of_forms_are_those_of_their_values(
    one: Form, other: Form, where: dict[str, int]
) -> None:
    assert at(one + other, where) == at(one, where) + at(other, where)
    assert at(one - other, where) == at(one, where) - at(other, where)
    assert at(one * other, where) == at(one, where) * at(other, where)
    assert one + other == other + one and (one - one) == Form()


@given(forms, st.sampled_from(NAMES))
def test_a_form_is_its_coefficient_times_the_name_plus_the_rest(form: Form, name: str) -> None:
    coefficient = form.coefficient(name)
    if coefficient is not None:
        assert coefficient * Form.name(name) + form.without(name) == form


@given(forms, st.integers(-20, 20), values)
def test_what_is_proved_to_be_at_least_a_bound_is(
    form: Form, bound: int, where: dict[str, int]
) -> None:
    lowest = {name: max(0, value - 2) for name, value in where.items()}
    if form.at_least(bound, lowest) and all(where[n] >= lowest[n] for n in NAMES):
        assert at(form, where) >= bound


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("i * W + j", "j + W * i"),
        ("(i + 1) * W", "i * W + W"),
        ("static_cast<size_t>(i) * W", "(size_t)i * (W)"),
        ("i << 2", "4 * i"),
        ("i - (j - 1)", "i - j + 1"),
        ("-(-0x10u)", "16"),
    ],
)
def test_expressions_that_mean_one_number_have_one_form(one: str, other: str) -> None:
    assert read(one) is not None
    assert read(one) == read(other)


@pytest.mark.parametrize("text", ["i / 2", "i % W", "a[i]", "f(i)", "(float)i", "i > 0 ? i : 0"])
def test_what_is_no_polynomial_has_no_form(text: str) -> None:
    assert read(text) is None


def test_sizes_are_compared_by_their_lowest_values() -> None:
    w, h = Form.name("W"), Form.name("H")
    assert (w * h - w).at_least(0, {"W": 1, "H": 1})
    assert not (w - h).at_least(0, {"W": 1, "H": 1})
    assert not (w - Form.number(2)).at_least(0, {"W": 1})
    assert not w.at_least(0, {})
