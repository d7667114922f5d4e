"""Who may propose candidates: a planner is one generator and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from .planner import Planner, client_planner
from .rules import rules_planner

PlannerName = Literal["rules", "client", "anthropic", "command"]
PLANNERS: Mapping[PlannerName, Planner] = {
    "rules": rules_planner,
    "client": client_planner,
    "anthropic": client_planner,
    "command": client_planner,
}
"""Those that a driver answers (`search/drivers/drivers.py`) ask as a client is asked."""
