"""A maximum and the sum of exponentials under it in one pass: the sum is carried along with the
maximum so far, and scaled whenever that grows (Milakov and Gimelshein 2018), all in powers of two.

    m = max(m, x);  s = s * 2^((m before - m) * c) + 2^((x - m) * c)

Elements of -inf add nothing, also where all before them are; a row of nothing else has the sum NaN,
as two passes give it.
"""

from __future__ import annotations

from dataclasses import replace
from math import e, log2
from typing import TypeGuard

from ......analysis.lift.expressions import ZERO, Call, DType, Expr, Fold, Number
from ......analysis.lift.rewriting import rebuilt
from ......analysis.lift.statements import changed
from ....shared.lifted.row_program import Reduction, RowProgram, Running
from .c_text import VALUES, Unwritable, number_text

BASES = {"exp": log2(e), "fast_exp": log2(e), "exp2": 1.0, "fast_exp2": 1.0}
"""what an exponent is multiplied by for one of base 2"""
FLOATS = ("f32", "f64")


def with_running_maximum(program: RowProgram) -> RowProgram:
    """The program with each such pair as one reduction, its exponentials of base 2. Raises
    Unwritable where there is none."""
    passes = [list(step) for step in program.passes]
    found = 0
    for at, step in enumerate(passes[:-1]):
        for place, greatest in enumerate(step):
            for total in passes[at + 1]:
                running = _running(greatest, total)
                if running is not None:
                    found += 1
                    step[place] = replace(
                        greatest, fold=total.fold, kind="running", running=running
                    )
                    passes[at + 1].remove(total)
                    break
    if not found:
        raise Unwritable("no sum of exponentials under their own maximum is folded along rows")
    return replace(
        program,
        passes=tuple(tuple(step) for step in passes if step),
        elements=tuple(changed(body, _base_two) for body in program.elements),
    )


def _running(greatest: Reduction, total: Reduction) -> Running | None:
    """How a sum hangs on a maximum of the same columns; None: not as exponentials under it."""
    first, term = total.first, total.term
    begun = isinstance(first, Number) and first.value == 0
    if (greatest.kind, total.kind) != ("max", "sum") or not begun or not _is_exponential(term):
        return None
    if (greatest.start, total.start) != (ZERO, ZERO) or greatest.columns != total.columns:
        return None
    (exponent,) = term.args
    factor = BASES[term.op]
    if isinstance(exponent, Call) and exponent.op == "mul":
        for inner, by in (exponent.args, exponent.args[::-1]):
            if isinstance(by, Number) and by.value > 0:  # else the maximum is no bound of it
                exponent, factor = inner, factor * by.value
                break
    if exponent != Call("sub", (greatest.term, greatest.fold), term.dtype):
        return None
    return Running(greatest.fold, factor)


def _is_exponential(expr: Expr) -> TypeGuard[Call]:
    return isinstance(expr, Call) and expr.op in BASES and expr.dtype in FLOATS


def _base_two(expr: Expr) -> Expr:
    """With 2^(x * log2 e) for e^x; folds stay as they are, as values are known by them."""
    if isinstance(expr, Fold):
        return expr
    inner = rebuilt(expr, _base_two)
    if _is_exponential(inner) and BASES[inner.op] != 1:
        factor = Number(BASES[inner.op], inner.dtype)
        return Call("exp2", (Call("mul", (inner.args[0], factor), inner.dtype),), inner.dtype)
    return inner


def begun(reduction: Reduction, names: list[str], first: str) -> list[str]:
    """Declarations of the sum and the maximum so far."""
    dtype = reduction.fold.dtype
    total, greatest = names
    zero = number_text(Number(0.0, dtype))
    return [f"{VALUES[dtype]} {total} = {zero}, {greatest} = {first};"]


def step(reduction: Reduction, value: str, names: list[str], at: str) -> list[str]:
    """One element's part; `at` is a free name for it."""
    total, greatest = names
    dtype = reduction.fold.dtype
    return [
        f"const {VALUES[dtype]} {at} = {value};",
        f"if ({at} > {greatest}) {{",
        f"    {total} *= {power(reduction, f'({greatest} - {at})')};",
        f"    {greatest} = {at};",
        "}",
        f"if ({at} != {lowest(dtype)}) {total} += {power(reduction, f'({at} - {greatest})')};",
    ]


def ended(reduction: Reduction, names: list[str]) -> str:
    """Of a row of -inf alone the sum is NaN."""
    total, greatest = names
    return f"if ({greatest} == {lowest(reduction.fold.dtype)}) {total} = {greatest} - {greatest};"


def power(reduction: Reduction, exponent: str) -> str:
    """2^(exponent * c) in C."""
    by = scaling(reduction)
    return f"exp2{'f' if reduction.fold.dtype == 'f32' else ''}({exponent}{by and f' * {by}'})"


def scaling(reduction: Reduction) -> str:
    """The c of its exponents as a literal; empty: 1."""
    assert reduction.running is not None
    factor = reduction.running.factor
    return "" if factor == 1 else number_text(Number(factor, reduction.fold.dtype))


def lowest(dtype: DType) -> str:
    """-inf of a type, in C."""
    return number_text(Number(float("-inf"), dtype))
