"""Who may propose candidates: a planner is one generator and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from .mixed import mixed_planner
from .planner import Planner, client_planner
from .rules import rules_planner

PlannerName = Literal["rules", "client", "anthropic", "command", "mixed"]
PLANNERS: Mapping[PlannerName, Planner] = {
    "rules": rules_planner,
    "client": client_planner,
    "anthropic": client_planner,
    "command": client_planner,
    "mixed": mixed_planner,
}
"""Those that a driver answers (`search/drivers/drivers.py`) ask as a client is asked."""
RULED: frozenset[PlannerName] = frozenset({"rules", "mixed"})
"""Those of which rules are a part: what is known of a node weighs their candidates."""
