"""What servers told clients in a soak, and whether it stayed true: nothing told may be lost."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kernelwright.server.protocol.replies import MOST_CHARS

GOES_ON = ("Valid:", "Next:")
"""what a refusal says, one of them at least"""
TELLS_NOTHING = (
    "Traceback (most recent",
    "Error executing tool",
    "an error in Kernelwright itself",
)
UNDER_WAY = ("queued", "running")
Reply = dict[str, Any]


@dataclass
class Ledger:
    """Jobs and variants that clients were told of, and what was wrong."""

    jobs: dict[str, Reply] = field(default_factory=dict[str, Reply])
    """the last reply of each; of an ended one the first that told its end"""
    ended_at: dict[str, float] = field(default_factory=dict[str, float])
    """when the first reply came that told its end, by `time.monotonic`"""
    variants: set[str] = field(default_factory=set[str])
    tools: Counter[str] = field(default_factory=Counter[str])
    endings: Counter[str] = field(default_factory=Counter[str])
    faults: list[str] = field(default_factory=list[str])
    longest: int = 0

    @property
    def calls(self) -> int:
        """All that were made."""
        return sum(self.tools.values())

    def fault(self, text: str) -> None:
        """Something that must not be."""
        self.faults.append(text[:600])

    def refusal(self, tool: str, text: str) -> None:
        """A call that was refused, in words."""
        self.endings["refused"] += 1
        self._measured(tool, text)
        if any(word in text for word in TELLS_NOTHING):
            self.fault(f"{tool}: {text}")
        elif not any(word in text for word in GOES_ON):
            self.fault(f"{tool}: a refusal without what is valid or next: {text}")

    def reply(self, tool: str, told: Reply, text: str, asked: float) -> None:
        """A call that was answered; `asked`: when, by `time.monotonic`."""
        self.endings["answered"] += 1
        self._measured(tool, text)
        if isinstance(job_id := told.get("job_id"), str) and "status" in told:
            self._job(job_id, told, asked)
        result: Reply = told.get("result") or {}
        if isinstance(variant_id := result.get("variant_id"), str):
            self.variants.add(variant_id)

    def ended(self, job_id: str, told: Reply) -> None:
        """How a job that somebody was told of stands after everything."""
        self._job(job_id, told, time.monotonic())
        if told["status"] in UNDER_WAY:
            self.fault(f"{job_id} never ended: {told}")

    def _job(self, job_id: str, told: Reply, asked: float) -> None:
        before = self.jobs.get(job_id)
        if before is not None and before["status"] not in UNDER_WAY:
            if told["status"] in UNDER_WAY and asked < self.ended_at[job_id]:
                return  # it was said before the end was, and came later, by another connection
            for what in ("status", "result", "error", "kept"):
                if before.get(what) != told.get(what):
                    self.fault(f"{job_id}: {what} was {before.get(what)}, now {told.get(what)}")
            return
        if told["status"] == "failed" and any(w in told["error"] for w in TELLS_NOTHING):
            self.fault(f"{job_id}: {told['error']}")
        if told["status"] not in UNDER_WAY:
            self.ended_at[job_id] = time.monotonic()
        self.jobs[job_id] = told

    def _measured(self, tool: str, text: str) -> None:
        self.longest = max(self.longest, len(text))
        if len(text) > MOST_CHARS:
            self.fault(f"{tool}: a text of {len(text)} characters")
