"""What an integer of a lift may be by the spec's domains: its largest value, what divides it."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from .....analysis.lift.expressions import Call, Expr, Name, Number, Sum
from .....runners.errors import ExpressionError
from .....runners.specs.expressions import evaluate_int
from .....runners.specs.spec import KernelSpec
from ..sizes import divisor_of
from .computed import Computed
from .proof import elements

UNKNOWN = 1 << 62
INT_LIMIT = (1 << 31) - (1 << 24)
"""below which every index must stay to be an int, with room for a grid that goes a step too far"""


def largest(expr: Expr, plain: Computed, more: Mapping[str, int] | None = None) -> int:
    """An upper bound of an integer that is not negative; UNKNOWN where none is known. `more`: of
    names that the kernel is not given."""
    match expr:
        case Number(value):
            return int(value)
        case Name(name):
            if more and name in more:
                return more[name]
            return _largest_size(name, plain)
        case Sum(terms):
            found = 0
            for factors, number in terms:
                if number < 0:
                    continue
                term = number
                for each in factors:
                    term = min(UNKNOWN, term * largest(each, plain, more))
                found = min(UNKNOWN, found + term)
            return found
        case Call("div", (left, Number(by))) if by > 0:
            return largest(left, plain, more) // int(by)
        case Call("div", (left, _)):
            return largest(left, plain, more)
        case Call("rem", (left, right)):
            return min(largest(left, plain, more), largest(right, plain, more))
        case _:
            return UNKNOWN


def _largest_size(name: str, plain: Computed) -> int:
    if name not in plain.sizes:
        return UNKNOWN
    return max(_values_at_most(plain.spec, plain.sizes[name]))


def _values_at_most(spec: KernelSpec, size: object) -> list[int]:
    at = [
        {
            name: max(w.symbols[name] for w in spec.workloads) if domain is None else domain.max
            for name, domain in spec.symbols.items()
        },
        *(dict(w.symbols) for w in spec.workloads),
    ]
    try:
        return [evaluate_int(size, each) for each in at]  # type: ignore[arg-type]
    except ExpressionError:
        return [UNKNOWN]


def workload_values(expr: Expr, plain: Computed) -> tuple[int, ...]:
    """What a size of the kernel's parameters is in the visible workloads; empty: not known."""
    found = list[int]()
    for workload in (w for w in plain.spec.workloads if not w.held_out):
        value = _value(expr, plain, workload.symbols)
        if value is None:
            return ()
        found.append(value)
    return tuple(found)


def _value(expr: Expr, plain: Computed, symbols: Mapping[str, int]) -> int | None:
    match expr:
        case Number(value):
            return int(value)
        case Name(name) if name in plain.sizes:
            try:
                return evaluate_int(plain.sizes[name], symbols)
            except ExpressionError:
                return None
        case Sum(terms):
            found = 0
            for factors, number in terms:
                term = number
                for each in factors:
                    value = _value(each, plain, symbols)
                    if value is None:
                        return None
                    term *= value
                found += term
            return found
        case Call("div", (left, right)):
            above, below = (_value(e, plain, symbols) for e in (left, right))
            return None if above is None or not below else above // below
        case _:
            return None


def divisor(expr: Expr, plain: Computed, more: Mapping[str, int] | None = None) -> int:
    """A number that divides an integer for all legal sizes; 0 for 0. `more`: of other names."""
    match expr:
        case Number(value):
            return abs(int(value))
        case Name(name):
            if more and name in more:
                return more[name]
            return divisor_of(plain.sizes[name], plain.spec) if name in plain.sizes else 1
        case Sum(terms):
            found = 0
            for factors, number in terms:
                term = abs(number)
                for each in factors:
                    term *= divisor(each, plain, more)
                found = gcd(found, term)
            return found
        case _:
            return 1


def fits_int(plain: Computed, *counts: Expr) -> bool:
    """Whether indices may be ints: no array has more elements, and no count is larger."""
    symbols = {
        name: max(w.symbols[name] for w in plain.spec.workloads) if domain is None else domain.max
        for name, domain in plain.spec.symbols.items()
    }
    try:
        most = [elements(each.elements, symbols) for each in plain.arrays.values()]
    except ExpressionError:
        return False
    return max([*most, *(largest(each, plain) for each in counts)]) < INT_LIMIT
