"""Atomic updates of one element by all places, as one update by their fold."""

from __future__ import annotations

from kernelwright.analysis.lift.expressions import Call, Expr, Load, Name, Number
from kernelwright.analysis.lift.fold_laws import plain_fold
from kernelwright.analysis.lift.normal.gathered import gathered
from kernelwright.analysis.lift.statements import Argument, Dim, Lifted, Scatter
from kernelwright.analysis.lift.sums import difference, product, total
from kernelwright.analysis.lift.text import lifted_text

N, J, K, ROW = (Name(each) for each in "njki")
ARGUMENTS = (Argument("x", "float32", True), Argument("y", "float32", True))


def x(index: Expr) -> Expr:
    return Load("x", index, "f32")


def kernel(dims: list[Dim], op: str, index: Expr, value: Expr) -> Lifted:
    return Lifted("f", ARGUMENTS, tuple(dims), (Scatter(op, "y", index, value),))


def told(lifted: Lifted) -> str:
    return lifted_text(gathered(lifted))


def test_an_element_that_all_places_add_to_gets_their_sum_once() -> None:
    found = told(kernel([Dim("j", N)], "add", Number(0), x(J)))
    assert found.split("\n")[:2] == ["once:", "  y[0] add= sum(k1 < n: x[k1]; from 0)"]


def test_what_warps_found_is_the_fold_of_all_that_they_read() -> None:
    warps = Call("div", (total((N, Number(31))), Number(32)), "int")
    left = difference(N, product(Number(32), J))
    count = Call("min", (left, Number(32)), "int")
    place = total((product(Number(32), J), K))
    warp = plain_fold("sum", "k", count, Number(0.0, "f32"), "s", x(place))
    found = told(kernel([Dim("j", warps)], "add", Number(0), warp))
    assert "y[0] add= sum(k1 < n: x[k1]; from 0)" in found


def test_a_dimension_on_which_the_element_hangs_stays() -> None:
    place = total((product(ROW, N), J))
    found = told(kernel([Dim("i", N), Dim("j", N)], "add", ROW, x(place)))
    assert "for all i < n:" in found
    assert "y[i] add= sum(k1 < n: x[" in found


def test_the_greatest_of_floats_is_gathered_and_an_exchange_is_not() -> None:
    assert "y[0] max= max(k1 < n: x[k1]" in told(kernel([Dim("j", N)], "max", Number(0), x(J)))
    kept = kernel([Dim("j", N)], "exch", Number(0), x(J))
    assert gathered(kept) == kept
