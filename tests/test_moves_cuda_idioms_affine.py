"""Index expressions in their normal form, against integers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.search.moves.cuda.idioms.affine import Poly, quotient, remainder
from kernelwright.search.moves.cuda.idioms.product_terms import exact

NAMES = ("i", "j", "n", "%k")
numbers = st.integers(-9, 9)
values = st.fixed_dictionaries({name: numbers for name in NAMES})
monomials = st.lists(st.sampled_from(NAMES), max_size=2).map(tuple)
polys = st.lists(st.tuples(monomials, numbers), max_size=4).map(Poly.of)


@given(polys, polys, values)
def test_sums_differences_and_products_are_those_of_numbers(
    a: Poly, b: Poly, at: dict[str, int]
) -> None:
    assert (a + b).value(at) == a.value(at) + b.value(at)
    assert (a - b).value(at) == a.value(at) - b.value(at)
    assert (a * b).value(at) == a.value(at) * b.value(at)


@given(polys, polys, polys)
def test_equal_polynomials_are_equal_values(a: Poly, b: Poly, c: Poly) -> None:
    assert a + b == b + a
    assert a * b == b * a
    assert a * (b + c) == a * b + a * c
    assert a - a == Poly()


@given(polys, values)
def test_the_text_of_a_polynomial_computes_it(a: Poly, at: dict[str, int]) -> None:
    names = {name.lstrip("%"): value for name, value in at.items()}
    assert eval(a.text().replace("%", ""), {}, names) == a.value(at)


@given(polys, values)
def test_what_is_linear_in_a_name_is_its_coefficient_times_it_and_the_rest(
    a: Poly, at: dict[str, int]
) -> None:
    factor = a.coefficient("i")
    if factor is not None:
        assert (factor * Poly.name("i") + a.without("i")).value(at) == a.value(at)
        assert "i" not in factor.names


@given(polys, polys, values)
def test_substitution_is_evaluation_in_two_steps(a: Poly, b: Poly, at: dict[str, int]) -> None:
    assert a.substitute({"i": b}).value(at) == a.value({**at, "i": b.value(at)})


@given(polys, polys)
def test_quotient_and_remainder_give_back_what_was_divided(a: Poly, b: Poly) -> None:
    assert quotient(a, b) * b + remainder(a, b) == a


@given(polys, monomials, st.integers(1, 9))
def test_an_exact_quotient_is_what_was_multiplied(
    a: Poly, monomial: tuple[str, ...], by: int
) -> None:
    b = Poly.of([(monomial, by)])
    assert exact(a * b, b) == a


def test_a_number_from_row_and_column_of_itself_is_itself() -> None:
    i, n = Poly.name("i"), Poly.name("n")
    assert quotient(i, n) * n + remainder(i, n) == i
    assert quotient(i * Poly.number(6), Poly.number(3)) == i * Poly.number(2)
