"""Index arithmetic: the laws of forms, against integers, and what expressions of C++ have one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.c_source.parsing import parse_cpp
from kernelwright.search.moves.shared.affine import Form, exact_quotient, quotient, remainder
from kernelwright.search.moves.shared.affine_cpp import form_of

NAMES = ("i", "j", "W", "%k")
values = st.fixed_dictionaries({name: st.integers(-9, 9) for name in NAMES})
monomials = st.lists(st.sampled_from(NAMES), max_size=3).map(tuple)
forms = st.lists(st.tuples(monomials, st.integers(-5, 5)), max_size=4).map(Form.of)


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
    assert (one + other).value(where) == one.value(where) + other.value(where)
    assert (one - other).value(where) == one.value(where) - other.value(where)
    assert (one * other).value(where) == one.value(where) * other.value(where)


@given(forms, forms, forms)
def test_forms_that_are_equal_as_polynomials_are_equal_values(a: Form, b: Form, c: Form) -> None:
    assert a + b == b + a
    assert a * b == b * a
    assert a * (b + c) == a * b + a * c
    assert a - a == Form()


@given(forms, st.sampled_from(NAMES))
def test_a_form_is_its_coefficient_times_the_name_plus_the_rest(form: Form, name: str) -> None:
    coefficient = form.coefficient(name)
    if coefficient is not None:
        assert coefficient * Form.name(name) + form.without(name) == form
        assert name not in coefficient.names


@given(forms, values)
def test_a_form_is_a_number_where_all_its_names_are(form: Form, where: dict[str, int]) -> None:
    numbers = {name: Form.number(value) for name, value in where.items()}
    assert form.substitute(numbers).constant == form.value(where)


@given(forms, forms, values)
def test_substitution_is_evaluation_in_two_steps(
    form: Form, other: Form, where: dict[str, int]
) -> None:
    inner = {**where, "i": other.value(where)}
    assert form.substitute({"i": other}).value(where) == form.value(inner)


@given(forms, values)
def test_the_text_of_a_form_computes_it(form: Form, where: dict[str, int]) -> None:
    names = {name.lstrip("%"): value for name, value in where.items()}
    assert eval(form.text().replace("%", ""), {}, names) == form.value(where)


@given(forms, forms)
def test_quotient_and_remainder_give_back_what_was_divided(a: Form, b: Form) -> None:
    assert quotient(a, b) * b + remainder(a, b) == a


@given(forms, monomials, st.integers(1, 9))
def test_an_exact_quotient_is_what_was_multiplied(
    form: Form, monomial: tuple[str, ...], by: int
) -> None:
    product = Form.of([(monomial, by)])
    assert exact_quotient(form * product, product) == form


def test_a_number_from_row_and_column_of_itself_is_itself() -> None:
    i, n = Form.name("i"), Form.name("n")
    assert quotient(i, n) * n + remainder(i, n) == i
    assert quotient(i * Form.number(6), Form.number(3)) == i * Form.number(2)


@given(forms, st.integers(-20, 20), values)
def test_what_is_proved_to_be_at_least_a_bound_is(
    form: Form, bound: int, where: dict[str, int]
) -> None:
    lowest = {name: max(0, value - 2) for name, value in where.items()}
    if form.at_least(bound, lowest) and all(where[n] >= lowest[n] for n in NAMES):
        assert form.value(where) >= bound


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


@pytest.mark.parametrize("cast", ["(index_t)i", "static_cast<T>(i)", "(int2)i", "short(i)"])
def test_a_cast_that_may_cut_an_index_short_has_no_form(cast: str) -> None:
    assert read(cast) is None


def test_sizes_are_compared_by_their_lowest_values() -> None:
    w, h = Form.name("W"), Form.name("H")
    assert (w * h - w).at_least(0, {"W": 1, "H": 1})
    assert not (w - h).at_least(0, {"W": 1, "H": 1})
    assert not (w - Form.number(2)).at_least(0, {"W": 1})
    assert not w.at_least(0, {})
