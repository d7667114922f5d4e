"""Programs of one axis that count the tiles of several dimensions."""

from __future__ import annotations

from kernelwright.analysis.lift.expressions import ONE, Call, Expr, Load, Name, Number, call
from kernelwright.analysis.lift.statements import Body, Store
from kernelwright.analysis.lift.sums import difference, product, total
from kernelwright.analysis.lift.ttir.programs import in_axes

PROGRAM, M, N = Name("ctaid.x"), Name("m"), Name("n")
LAUNCHES = ({"m": 5, "n": 7, "nctaid.x": 35}, {"m": 8, "n": 3, "nctaid.x": 24})


def _div(left: Expr, right: Expr) -> Expr:
    return call("div", left, right, dtype="int")


def _rem(left: Expr, right: Expr) -> Expr:
    return call("rem", left, right, dtype="int")


def _stored(row: Expr, column: Expr) -> Body:
    place = total((product(Number(64), N, row), product(Number(64), column), Name("tid.x")))
    return (Store("y", place, Load("x", place, "f32")),)


def test_quotient_and_rest_of_a_program_are_two_axes_of_known_lengths() -> None:
    body, tiles = in_axes(_stored(_div(PROGRAM, N), _rem(PROGRAM, N)), LAUNCHES)
    assert tiles["nctaid.y"] == N or tiles["nctaid.x"] == N
    axes = [Name(f"ctaid.{letter}") for letter in "xy"]
    assert body in (_stored(*axes), _stored(*reversed(axes)))


def test_programs_in_groups_have_the_same_axes() -> None:
    group = Number(4)
    first = product(group, _div(PROGRAM, product(group, N)))
    height = Call("min", (difference(M, first), group), "int")
    inside = _rem(PROGRAM, product(group, N))
    grouped = _stored(total((first, _rem(inside, height))), _div(inside, height))
    body, tiles = in_axes(grouped, LAUNCHES)
    axes = [Name(f"ctaid.{letter}") for letter in "xy"]
    assert body in (_stored(*axes), _stored(*reversed(axes)))
    assert M in tiles.values()


def test_an_order_that_gives_a_tile_twice_is_left_as_it_is() -> None:
    twice = _stored(_div(PROGRAM, N), _rem(PROGRAM, total((N, ONE))))
    assert in_axes(twice, LAUNCHES) == (twice, {})


def test_an_order_is_not_told_from_few_tiles() -> None:
    plain = _stored(_div(PROGRAM, N), _rem(PROGRAM, N))
    assert in_axes(plain, ({"m": 2, "n": 2, "nctaid.x": 4},)) == (plain, {})
