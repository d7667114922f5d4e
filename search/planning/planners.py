"""Who may propose candidates: a planner is one generator and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from .planner import Planner, client_planner
from .rules import rules_planner

PlannerName = Literal["rules", "client"]
PLANNERS: Mapping[PlannerName, Planner] = {"rules": rules_planner, "client": client_planner}
