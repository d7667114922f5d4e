"""All rules, one row each; a new one is a row in one of these files and a page in `skills/`."""

from __future__ import annotations

from . import accesses, parallelism, stalls, throughput
from .model import Rule

RULES: tuple[Rule, ...] = (
    *throughput.RULES,
    *parallelism.RULES,
    *accesses.RULES,
    *stalls.RULES,
)
