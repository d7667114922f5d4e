"""Sums of products of bytes, four at a time: the device has an instruction for them, `__dp4a`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ......analysis.lift.expressions import ZERO, Call, Expr, Load, Number
from ......analysis.lift.sums import terms_of
from ....shared.lifted.domains import largest
from ....shared.lifted.names import Names
from ....shared.lifted.row_program import Reduction
from .plain import Plain

LARGEST: Final = {"int8": 128 * 128, "uint8": 255 * 255}
"""of a product, by the type of both factors"""
INT_MAX: Final = (1 << 31) - 1
_MASKS: Final = (("bitand", Number(255)), ("rem", Number(256)))


def _text(name: str, vector: str) -> str:
    return f"""\
// the products of neighbouring bytes, added to a sum: four by an instruction
template <typename T, int N>
__device__ __forceinline__ int {name}(const {vector}<T, N>& left, const {vector}<T, N>& right,
                                      int sum) {{
    if (N % 4 == 0) {{
        const int* a = reinterpret_cast<const int*>(left.at);
        const int* b = reinterpret_cast<const int*>(right.at);
#pragma unroll
        for (int word = 0; word < N / 4; ++word) {{
            sum = T(-1) < T(0) ? __dp4a(a[word], b[word], sum)
                               : (int)__dp4a((unsigned)a[word], (unsigned)b[word], (unsigned)sum);
        }}
        return sum;
    }}
#pragma unroll
    for (int lane = 0; lane < N; ++lane) sum += left.at[lane] * right.at[lane];
    return sum;
}}"""


class ByteProducts:
    """Knows which passes are such sums, and whether any was."""

    def __init__(self, plain: Plain, names: Names, vector: str) -> None:
        self._plain, self._vector = plain, vector
        self._name = names.fresh("byte_products")
        self._used = False

    @property
    def texts(self) -> list[str]:
        """The device function, where it is used."""
        return [_text(self._name, self._vector)] if self._used else []

    def of(
        self,
        step: Sequence[tuple[Reduction, Expr, Expr]],
        loads: Mapping[Load, Expr],
        columns: Expr,
    ) -> list[tuple[Load, Load]]:
        """The two factors of each reduction of a pass, which are loaded as vectors; empty where one
        is another fold, or its sum may be too large for 32 bits."""
        found = list[tuple[Load, Load]]()
        for reduction, term, _ in step:
            products = list(terms_of(term).items())
            if reduction.kind != "sum" or reduction.start != ZERO or len(products) != 1:
                return []
            (factors, times), dtypes = products[0], self._plain.dtypes
            bare = map(self._bare, factors)
            pair = tuple(each for each in bare if isinstance(each, Load) and each in loads)
            if times != 1 or len(factors) != 2 or len(pair) != 2:
                return []
            kinds = {dtypes[each.array] for each in pair}
            most = LARGEST.get(kinds.pop(), 0) if len(kinds) == 1 else 0
            if not most or most * largest(columns, self._plain) > INT_MAX:
                return []
            found.append((pair[0], pair[1]))
        self._used = self._used or bool(found)
        return found

    def _bare(self, factor: Expr) -> Expr:
        """An unsigned byte without the mask by which the compiler widened it."""
        if isinstance(factor, Call) and (factor.op, *factor.args[1:]) in _MASKS:
            load = factor.args[0]
            if isinstance(load, Load) and self._plain.dtypes[load.array] == "uint8":
                return load
        return factor

    def added(
        self,
        named: Sequence[Sequence[str]],
        factors: Sequence[tuple[Load, Load]],
        vector: Callable[[Load], str],
    ) -> list[str]:
        """Statements: the products of two vectors each go to the sum of a name."""
        return [
            f"{name} = {self._name}({vector(left)}, {vector(right)}, {name});"
            for (name, *_), (left, right) in zip(named, factors, strict=True)
        ]
