"""All rules, one row each.

A new one is a row in one of these files, a page in `skills/`, rows in `analysis/prior/table.py` for
the moves that it asks for (or a reason in `SILENT` there), and a planted fault in
`tests/support/planted.py`.
"""

from __future__ import annotations

from . import accesses, parallelism, stalls, throughput
from .model import Rule

RULES: tuple[Rule, ...] = (
    *throughput.RULES,
    *parallelism.RULES,
    *accesses.RULES,
    *stalls.RULES,
)
