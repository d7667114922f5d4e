"""A whole optimization, call by call, for whichever client makes the calls.

`journey.json` lists the calls; `$name` stands for a value that an earlier reply gave. A call that
goes on as a job is waited for by `job`, as its reply says. `journey.mjs` says the same in
JavaScript.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

PLAN = Path(__file__).with_name("journey.json")
UNDER_WAY = ("queued", "running")
WAIT_S = 45.0

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Step:
    """One tool that came to its end."""

    tool: str
    seconds: float
    calls: int
    """1, and one for each wait"""


@dataclass
class Report:
    """What a client finished."""

    era: str = ""
    tools: int = 0
    steps: list[Step] = field(default_factory=list[Step])
    kept: dict[str, Any] = field(default_factory=dict[str, Any])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    """what this client alone can show"""

    def line(self) -> str:
        """As a child prints it for the runner."""
        return json.dumps(asdict(self))


def journey(report: Report) -> Generator[Call, dict[str, Any]]:
    """The calls in order; each wants the structured reply sent back. Fills the report."""
    for step in json.loads(PLAN.read_text(encoding="utf-8")):
        began, calls = time.monotonic(), 1
        reply = yield step["tool"], filled(step["arguments"], report.kept)
        while reply.get("status") in UNDER_WAY:
            calls += 1
            reply = yield "job", {"job_id": reply["job_id"], "wait_s": WAIT_S}
        if reply.get("status", "done") != "done":
            raise RuntimeError(f"{step['tool']} ended as {reply}")
        found = reply.get("result", reply)
        report.kept |= {name: found[name] for name in step.get("keep", ())}
        report.steps.append(Step(step["tool"], round(time.monotonic() - began, 2), calls))


def filled(arguments: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """The arguments with what was kept in place of `$name`."""
    return {
        name: kept[value[1:]] if isinstance(value, str) and value.startswith("$") else value
        for name, value in arguments.items()
    }
