"""The files of a kernel that other programs read, as types: what is written is one of them, and
their schemas are published (`published.py`)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ...runners.model import BuildOptions, Ending, Evaluation, Record
from ...store.records import Confirmation
from ..stored.records import SearchRecord


class BuildControl(Record):
    """How host code is built by hand: flags and macros as they were."""

    compiler: str
    flags: tuple[str, ...]
    macros: tuple[str, ...]
    compile: str
    """makes an object beside the source"""
    link: str
    """what a program that calls it is linked with besides"""


class ControlFile(Record):
    """`control.json`: all that makes a variant, beside its source."""

    version: Literal[1] = 1
    kernel_id: str
    variant_id: str
    parent: str | None
    method: str
    detail: str
    kernel_type: str
    entry: str
    parameters: dict[str, int]
    options: BuildOptions
    environment: dict[str, str]
    """OpenMP's variables while it was timed; empty where none was set"""
    build: BuildControl | None
    """what `options` leaves to the spec or to us included; None of GPU kernels"""
    plan: dict[str, Any] | None


class ResultFile(Evaluation):
    """`result.json`: the newest evaluation of a variant."""

    version: Literal[1] = 1
    median_ms: dict[str, float] | None = None
    """of the baseline: milliseconds by visible workload"""
    confirmation: Confirmation | None = None
    """what the winner's gates found, where they were run"""


class OpenedBaseline(Record):
    """`result.json` of a baseline that was timed before it had an evaluation."""

    version: Literal[1] = 1
    median_ms: dict[str, float]


class ConfirmedInBrief(Record):
    """What became of the winner's gates."""

    accepted: bool
    right: bool
    message: str
    rests_on: str
    """`2 shapes and 1 held out`"""


class BestSummary(Record):
    """`best_summary.json`: the winner, or the baseline where nothing is better."""

    version: Literal[1] = 1
    kernel_id: str
    variant_id: str
    is_baseline: bool
    files: str
    """where its files lie, from the kernel's folder"""
    speedup: float | None
    """over the baseline: what was confirmed, before what the search saw"""
    interval: tuple[float, float] | None
    """95 %"""
    confirmed: bool
    speedup_in_the_search: float | None
    baseline_ms: dict[str, float]
    """alone, when it was opened"""
    beside_ms: dict[str, float] = Field(default_factory=dict[str, float])
    """of the baseline in the comparison that `speedup` is of"""
    best_ms: dict[str, float] = Field(default_factory=dict[str, float])
    """of the best variant, in the same comparison"""
    changed: str
    method: str
    parameters: dict[str, int]
    options: BuildOptions
    confirmation: ConfirmedInBrief | None


class NodeState(Record):
    """A variant that a search evaluated. Rewards are log2 of the speedup over the baseline, or as
    the setting `rewards` has them."""

    key: str
    """variant id"""
    root: bool
    ending: Ending
    speedup: float | None
    interval: tuple[float, float] | None
    visits: int
    walked: int
    """steps made when the last of these walks was counted"""
    exhausted: bool
    """the planner has nothing more to propose here"""
    depth: int
    """links on the way by which it was found"""
    available: bool
    """something here or below can still be chosen"""
    reward: float
    """its own"""
    q: float
    """what backup makes of it and of all below"""
    q_interval: tuple[float, float]
    """that of the ends of 95 % intervals"""
    methods: tuple[str, ...]
    """from the baseline to it"""
    files: str
    """folder of its source, from the kernel's folder"""
    source: str
    """file of its source, from the kernel's folder"""


class EdgeState(Record):
    """A candidate and what came of it; its source lies with the variant."""

    edge_id: str
    parent: str
    candidate: dict[str, Any]
    """method, detail and what it changes, without source and diff"""
    prior: float
    """1: that of an average candidate of the same question"""
    state: Literal["open", "running", "done"]
    child: str | None
    variant: str | None
    same_code_as: str | None
    closes_cycle: bool
    ending: Ending | None
    """None and done: put aside, `message` says why"""
    message: str
    visits: int
    walked: int
    walks: tuple[str, ...]
    steps: tuple[int, ...]
    builds: int
    duplicate: bool
    became_incumbent: bool
    rollout: int
    q: float | None
    """of the child; None: it leads to none"""


class SearchState(Record):
    """`search_state.json`: a search with its graph."""

    version: Literal[1] = 1
    search: SearchRecord
    builds: int
    evaluations: int
    incumbent: str
    nodes: tuple[NodeState, ...]
    edges: tuple[EdgeState, ...]
