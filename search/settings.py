"""Settings of a search: every constant that a decision of the engine rests on."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

PolicyName = Literal["puct"]
BackupName = Literal["max"]
RegraphMode = Literal["soft", "hard", "off"]


class Settings(BaseModel):
    """Constants of one search; gains are fractions (0.01 = 1 %), rewards are log2 of a speedup."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    policy: PolicyName = "puct"
    """how an arm is chosen at a node (`selection.POLICIES`)"""
    backup: BackupName = "max"
    """how a node's value follows from its children (`backup.BACKUPS`)"""
    c_puct: float = Field(default=0.3, ge=0)
    """weight of exploration; values are normalised to 0..1 (AdaExplore ships 0.25 to 0.28)"""
    widening_c: float = Field(default=2.0, gt=0)
    """a node of N visits asks for new candidates while it has fewer than ceil(C * N^alpha)"""
    widening_alpha: float = Field(default=0.5, ge=0, le=1)
    """exponent of the widening; 0.5 lets a node widen with the square root of its visits"""
    min_pred_gain: float = Field(default=0.02, ge=0)
    """candidates that predict less than this over their node are not evaluated"""
    min_gain: float = Field(default=0.01, ge=0)
    """the smallest gain that makes an incumbent; values closer than this are not told apart"""
    budget_builds: int = Field(default=50, ge=1)
    """builds that may be spent; known variants cost nothing"""
    budget_seconds: float | None = Field(default=None, gt=0)
    """wall seconds that one process may spend on it, after which it stops; None: no limit"""
    patience: int = Field(default=25, ge=1)
    """the search stops after this many evaluations without a new incumbent"""
    repair_visits: int = Field(default=0, ge=0)
    """visits that a failed variant gets after its own evaluation, to be repaired, before it closes
    for good; 0 closes it at once, and the planner sees the failure in its parent's history"""
    failure_reward: float = Field(default=-10.0, le=-2.0)
    """reward of a variant that failed; measured ones are never below `failure_reward + 1`"""
    ncu_every: int | None = Field(default=None, ge=1)
    """after so many evaluations the incumbent of a GPU kernel is profiled, if it was not yet, and
    planners see what that found; None: never"""
    regraph: RegraphMode = "soft"
    """what earlier searches measured, over all kernels (`search/regraph`): soft: a factor on the
    priors of candidates; hard: besides, methods that were tried elsewhere and never after the
    node's own are left out; off: neither"""
    seed: int = 0
    """decides between arms of equal score"""
