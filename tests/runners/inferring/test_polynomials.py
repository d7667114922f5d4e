"""Polynomials over sizes."""

from __future__ import annotations

from kernelwright.runners.inferring.polynomials import Polynomial, number, variable

M, N = variable("m"), variable("n")


def test_equal_sums_are_equal_however_they_were_made() -> None:
    assert (M + N) * (M - N) == M * M - N * N
    assert M - M == Polynomial() == number(0)


def test_division_gives_quotient_and_rest() -> None:
    wide = N + number(2)
    assert ((M + number(2)) * wide).divided(wide) == (M + number(2), number(0))
    assert (M * N + N - number(1)).divided(N) == (M + number(1), number(-1))
    assert (number(2) * M + number(1)).divided(number(2)) == (M, number(1))
    assert (number(7) * M).divided(number(2) * M) == (number(3), M)
    assert number(-1).divided(number(2)) == (number(-1), number(1))


def test_what_holds_for_all_sizes_of_one_or_more_is_certain() -> None:
    assert (M * N - N).never_negative()
    assert (N - number(1)).never_negative()
    assert not (M - N).never_negative()
    assert not (N - number(2)).never_negative()


def test_a_polynomial_is_written_as_a_spec_writes_it() -> None:
    assert (M * N + number(2) * M - number(1)).written() == "m * n + 2 * m - 1"
    assert (number(4) * N).written() == "4 * n"
    assert (number(1) - N).written() == "-n + 1"
    assert number(3).written() == 3
    assert Polynomial().written() == 0
