"""Loops that are said to be apart are: over random nests of loops and indices, no two iterations of
such a loop touch one element that one of them writes."""

from __future__ import annotations

from itertools import product as combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.analysis.lift.expressions import Expr, Load, Name, Number
from kernelwright.analysis.lift.host.apart import apart
from kernelwright.analysis.lift.statements import Each, Store
from kernelwright.analysis.lift.sums import product, terms_of, total

N, M = Name("n"), Name("m")
SIZES: tuple[Expr, ...] = (N, M, Number(2), Number(3), total((N, Number(-1))))
STRIDES: tuple[Expr, ...] = (
    *map(Number, (0, 1, 2, 3, -1)), N, M, product(N, M), product(Number(-1), N),
    total((N, Number(1))),
)  # fmt: skip
OFFSETS: tuple[Expr, ...] = (*map(Number, (0, 1, -1)), N, total((M, Number(-1))))
INDICES = st.tuples(*(st.sampled_from(STRIDES) for _ in range(2)), st.sampled_from(OFFSETS))


def number(expr: Expr, names: dict[str, int]) -> int:
    found = 0
    for factors, times in terms_of(expr).items():
        for each in factors:
            times *= names[each.name] if isinstance(each, Name) else number(each, names)
        found += times
    return found


def index_of(parts: tuple[Expr, Expr, Expr]) -> Expr:
    outer, inner, offset = parts
    return total((product(outer, Name("k1")), product(inner, Name("k2")), offset))


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(SIZES),
    st.sampled_from((*SIZES, total((Name("k1"), Number(1))))),
    INDICES,
    INDICES,
)
def test_what_is_said_to_be_apart_is(
    outer: Expr, inner: Expr, wrote: tuple[Expr, Expr, Expr], read: tuple[Expr, Expr, Expr]
) -> None:
    store = Store("y", index_of(wrote), Load("y", index_of(read), "f32"))
    if not apart(Each("k1", outer, (), (Each("k2", inner, (), (store,)),))):
        return
    for n, m in combinations(range(5), repeat=2):
        names = {"n": n, "m": m}
        written, touched = list[set[int]](), list[set[int]]()
        for k1 in range(number(outer, names)):
            there = names | {"k1": k1}
            places = [there | {"k2": k2} for k2 in range(number(inner, there))]
            written.append({number(index_of(wrote), each) for each in places})
            touched.append(written[-1] | {number(index_of(read), each) for each in places})
        for one, other in combinations(range(len(written)), repeat=2):
            assert one == other or not written[one] & touched[other]


def test_rows_and_columns_of_a_matrix_are_apart() -> None:
    row = Store("y", index_of((M, Number(1), Number(0))), Number(0.0, "f32"))
    column = Store("y", index_of((Number(1), N, Number(0))), Number(0.0, "f32"))
    assert apart(Each("k1", N, (), (Each("k2", M, (), (row,)),)))
    assert apart(Each("k1", N, (), (Each("k2", M, (), (column,)),)))
    assert not apart(Each("k1", N, (), (Each("k2", N, (), (row,)),)))
