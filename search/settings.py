"""Settings of a search: every constant that a decision of the engine rests on."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..runners.described import Described

PolicyName = Literal["puct", "pucb", "greedy", "beam", "random"]
BackupName = Literal["max", "mean"]
RewardName = Literal["log2", "regrapht"]
BusyGpu = Literal["go_on", "wait", "refuse"]
RegraphMode = Literal["soft", "hard", "off"]

MOST_OF_A_SWEEP = 12
"""builds; beyond them another rewrite promises more, and each rewrite is tuned anew"""


class Settings(Described):
    """Constants of one search; gains are fractions (0.01 = 1 %)."""

    policy: PolicyName = "puct"
    """how an arm is chosen at a node (`policies.POLICIES`)"""
    backup: BackupName = "max"
    """how a node's value follows from its children (`backup.BACKUPS`)"""
    rewards: RewardName = "log2"
    """what a speedup is worth (`rewards.REWARDS`)"""
    c_puct: float = Field(default=0.3, ge=0)
    """weight of exploration; values are normalised to 0..1 (AdaExplore ships 0.25 to 0.28)"""
    first_play: float = Field(default=1.0, ge=0, le=1)
    """what an idea is worth until it is tried: 0 as much as the node that it starts from, 1 as much
    as the best found below that node, and in between"""
    beam_width: int = Field(default=4, ge=1)
    """of policy beam: how many nodes of a depth are expanded"""
    widening_c: float = Field(default=4.0, gt=0)
    """a node of N visits asks for new candidates while it has fewer than ceil(C * N^alpha); with 2
    good candidates of the baseline waited behind the children of the first ones
    (`benchmarks/policy_ablation.py`)"""
    widening_alpha: float = Field(default=0.5, ge=0, le=1)
    """exponent of the widening; 0.5 lets a node widen with the square root of its visits"""
    # Noise, restarts and rollouts are off: in replays of measured tuning spaces the first two made
    # no difference, and rollouts cost more builds than they were worth (they follow every success).
    noise_fraction: float = Field(default=0.0, ge=0, le=1)
    """how much of the priors at the root is noise (AlphaZero: 0.25); 0: none"""
    noise_alpha: float = Field(default=0.3, gt=0, le=100)
    """concentration of that Dirichlet noise (AlphaZero: about 10 over the number of arms)"""
    virtual_loss: float = Field(default=1.0, ge=0)
    """visits that an evaluation under way counts for, so that others go elsewhere meanwhile"""
    restart_epsilon: float = Field(default=0.0, ge=0, le=1)
    """probability that a walk starts at a random node that is available, not at the root"""
    rollout_steps: int = Field(default=0, ge=0)
    """steps that go on from a new variant that worked, until one fails; 0: none"""
    rollout_epsilon: float = Field(default=0.1, ge=0, le=1)
    """probability that a step of a rollout takes any arm"""
    rollout_lambda: float = Field(default=0.1, ge=0)
    """what a visit takes off an arm's value in a rollout; values are normalised to 0..1"""
    min_pred_gain: float = Field(default=0.02, ge=0)
    """candidates that predict less than this over their node are not evaluated"""
    min_weight: float = Field(default=0.0, ge=0)
    """candidates of methods that weigh less than this where they are proposed, such as those that
    take no load off a saturated roof, are put aside until they weigh more; 0: none"""
    min_gain: float = Field(default=0.01, ge=0)
    """the smallest gain that makes an incumbent; values closer than this are not told apart"""
    budget_builds: int = Field(default=50, ge=1)
    """builds that may be spent; known variants cost nothing, nor does what builds to known machine
    code"""
    sweep_builds: int | None = Field(default=None, ge=1)
    """builds that one candidate with knobs may spend on tuning them; None: a quarter of the budget,
    at most 12"""
    budget_seconds: float | None = Field(default=None, gt=0)
    """wall seconds that one process may spend on it, after which it stops; None: no limit"""
    patience: int = Field(default=25, ge=1)
    """the search stops after this many evaluations without a new incumbent"""
    change_over: int = Field(default=6, ge=0)
    """of planner mixed: after so many evaluations without a new incumbent rules no longer pay, and
    whoever answers is asked; with 6 they had 99 % of what they find, in 7 builds instead of 12
    (`benchmarks/change_over.py`); 0: at once"""
    stop_at_headroom: bool = True
    """whether the search stops once the physics floor leaves less than `min_gain`; false where what
    the spec declares of bytes and operations is not trusted, or all is to be seen"""
    repair_visits: int = Field(default=0, ge=0)
    """visits that a failed variant gets after its own evaluation, to be repaired, before it closes
    for good; 0 closes it at once, and the planner sees the failure in its parent's history"""
    failure_reward: float = Field(default=-10.0, le=-2.0)
    """log2 reward of a variant that failed; measured ones are never below `failure_reward + 1`"""
    ncu_every: int | None = Field(default=None, ge=1)
    """after so many evaluations the incumbent of a GPU kernel is profiled, if it was not yet, and
    planners see what that found; None: never"""
    regraph: RegraphMode = "soft"
    """what earlier searches measured, over all kernels (`search/regraph`): soft: a factor on the
    priors of candidates; hard: besides, methods that were tried elsewhere and never after the
    node's own are left out; off: neither"""
    busy_gpu: BusyGpu = "go_on"
    """what a search does where processes that are not ours compute on its GPU: they are named, and
    it goes on, waits until they have ended, or is refused"""
    seed: int = 0
    """decides between arms of equal score, and all that is random"""

    @property
    def sweep_budget(self) -> int:
        """Builds that one candidate with knobs may spend."""
        return self.sweep_builds or max(1, min(MOST_OF_A_SWEEP, self.budget_builds // 4))
