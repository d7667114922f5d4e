"""Whether a narrow type or an approximation is suspicious, which the contract alone can say.

A cast to half is nothing in a kernel of halves, and a downgrade in one of floats that promises
IEEE arithmetic. It never blocks: three tf32 products make one of fp32 precision, and a rounding
may happen where no result depends on it. The gates on values decide.
"""

from __future__ import annotations

from typing import Literal

from ..dtypes import DTYPES, is_float
from ..specs.io_contract import Contract
from .findings import ScreenTier

Precision = Literal["16 bit", "8 bit", "tf32", "approximate"]
BYTES = {"16 bit": 2, "8 bit": 1}


def precision_tier(kind: Precision, contract: Contract | None) -> ScreenTier | None:
    """The tier of a finding; None: the contract allows it. Without a contract it is a note."""
    if contract is None:
        return "note"
    if kind == "approximate":
        return None if contract.math == "fast" else "probe"
    narrowest = narrowest_float(contract)
    if narrowest is None:
        return "note"
    if kind == "tf32":
        return "probe" if contract.math == "ieee" and narrowest >= 4 else None
    if BYTES[kind] >= narrowest:
        return None
    return "note" if contract.math == "fast" else "probe"


def narrowest_float(contract: Contract) -> int | None:
    """Bytes of the narrowest floating-point type among the arguments; None: it has none."""
    sizes = [DTYPES[a.dtype].itemsize for a in contract.arguments if is_float(a.dtype)]
    return min(sizes, default=None)
