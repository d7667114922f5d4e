"""Gates in three sets: named functions from what a variant did to a result with its evidence.

Each reads like a sentence and can be tried alone. `first`: every candidate. `incumbent`: before
one may become the incumbent. `winner`: before one is announced. The first gate that fails decides
the ending (`endings`).
"""

from __future__ import annotations

from .endings import ENDINGS, ending_of
from .first import FIRST_SET, is_right
from .runs import Gate, Run, first_failure, printed_by, together

__all__ = [
    "ENDINGS",
    "FIRST_SET",
    "Gate",
    "Run",
    "ending_of",
    "first_failure",
    "is_right",
    "printed_by",
    "together",
]
