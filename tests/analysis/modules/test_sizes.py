"""One text of a kernel for the sizes of several calls."""

from __future__ import annotations

import pytest

from kernelwright.analysis.modules.lowering.sizes import (
    Symbols,
    another,
    one_text,
    symbols_of,
    with_values,
)


def test_sizes_that_follow_from_others_are_no_symbols_of_their_own() -> None:
    calls = [[(8, 64), (64,), (8 * 64,)], [(2, 128), (128,), (2 * 128,)]]
    found = symbols_of(calls)
    assert found is not None
    assert found == Symbols({"n0": (8, 2), "n1": (64, 128)})
    assert found.of_call(1) == {"n0": 2, "n1": 128}
    assert found.expression((8 * 64 * 3, 2 * 128 * 3)) == "n0 * n1 * 3"
    assert found.expression((8, 3)) is None


def test_calls_of_other_ranks_or_of_the_same_sizes_have_no_symbols() -> None:
    assert symbols_of([[(8, 64)], [(8,)]]) is None
    assert symbols_of([[(8, 64)], [(8, 64)]]) is None


def _kernel(rows: int, columns: int) -> str:
    return (
        f"if (at >= {rows * columns}) return;\nint i0 = at / {columns};\n"
        f"out[i0 * {columns} + i1] = x0[i0] / {columns}.0f + 1.0f;\n"
    )


def test_numbers_that_differ_become_sizes_and_the_text_of_other_sizes_follows() -> None:
    symbols = Symbols({"n0": (8, 2), "n1": (64, 128)})
    text = one_text([_kernel(8, 64), _kernel(2, 128)], symbols)
    assert text is not None
    assert "at >= (n0 * n1)" in text and "/ (float)(n1) + 1.0f" in text
    assert with_values(text, {"n0": 5, "n1": 96}) == _kernel(5, 96)
    told = one_text(["view(x, [64, 1]) / 64.0", "view(x, [128, 1]) / 128.0"], symbols, python=True)
    assert told == "view(x, [(n1), 1]) / float(n1)"
    assert with_values(told, {"n0": 1, "n1": 9}) == "view(x, [9, 1]) / 9.0"


@pytest.mark.parametrize("other", ["x[3] + 64;", "y[8] * 64;", "x[8] * 64.0f;"])
def test_texts_that_differ_in_more_than_sizes_have_none_of_all(other: str) -> None:
    symbols = Symbols({"n0": (8, 2), "n1": (64, 128)})
    assert one_text(["x[8] * 64;", other], symbols) is None


@pytest.mark.parametrize(
    ("values", "held"), [((64, 256), 128), ((8, 16), 24), ((3, 5, 9), 6), ((7, 8), 9)]
)
def test_a_size_to_hold_out_lies_between_those_that_were_seen_or_beside_them(
    values: tuple[int, ...], held: int
) -> None:
    assert another(Symbols({"n0": values})) == {"n0": held}
