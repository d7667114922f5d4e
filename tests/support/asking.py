"""A question with its brief, and a place where calls for it are kept: no kernel is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright.runners.model import BuildOptions, Ending
from kernelwright.search.drivers.driver import Asked, ModelTool
from kernelwright.search.drivers.settings import PlannerSettings
from kernelwright.search.planning.brief import Brief, section
from kernelwright.search.planning.planner import Question
from kernelwright.search.session.exchanges import Exchanges
from kernelwright.store.store import STATE_FILE, Store

SEARCH, TICKET = "s1", "t1"
CANDIDATE = {"method": "unroll", "detail": "by four", "parameters": {"UNROLL": 4}}


def asked(tools: Sequence[ModelTool] = ()) -> Asked:
    """A question about a variant."""
    sections = (
        section("contract", "Contract", ["n: 1 to 9"], 100, same_for="kernel"),
        section("source", "Source", ["void f(float* y) {}"], 100),
    )
    brief = Brief(kernel_id="k1", variant_id="v1", sections=tuple(s for s in sections if s))
    question = Question(
        search_id=SEARCH,
        variant_id="v1",
        source="void f(float* y) {}",
        parameters={"UNROLL": 1},
        options=BuildOptions(),
        plan=None,
        speedup=1.0,
        ending=Ending.tie,
        tried=(),
        headroom="",
        wanted=1,
    )
    return Asked(brief, question, tools)


@dataclass
class Keeping:
    """A store, and the calls that are kept in it."""

    folder: Path
    pauses: list[float] = field(default_factory=list[float])

    def __post_init__(self) -> None:
        self.store = Store.open(self.folder / STATE_FILE)

    def exchanges(self, settings: PlannerSettings, ticket: str = TICKET) -> Exchanges:
        """As a search has them that goes on with a question, or begins with it."""
        return Exchanges(self.store, SEARCH, ticket, settings, self.pauses.append)


def looks(answers: dict[str, str], seen: list[Any]) -> ModelTool:
    """A tool `inspect` that answers by `id` and notes what it was asked."""

    def run(arguments: dict[str, Any]) -> str:
        seen.append(arguments)
        return answers.get(arguments.get("id", ""), "nothing of that id")

    return ModelTool("inspect", "Look at something.", {"type": "object"}, run)
