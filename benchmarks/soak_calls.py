"""Calls of a soak, drawn: mostly what only looks, some that build, measure, search and cancel."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernels import FASTER, SOURCE
from soak_ledger import UNDER_WAY, Ledger

LOOKS = ("jobs", "kernels", "host", "settings")
PARTS = ("source", "diff", "summary")
RESOURCES = ("kernelwright://host", "kernelwright://kernel/{kernel}", "kernelwright://jobs")
FLAGS = (["-O2", "-std=c++17"], FASTER["flags"], ["-O3", "-std=c++17"])
KNOWN_JOBS = 40
"""of the newest, which are waited for and cancelled"""


@dataclass(frozen=True)
class Call:
    """One request: of a tool, or of a resource or list."""

    tool: str
    arguments: dict[str, Any]
    method: str = "tools/call"


class Drawn:
    """One client's calls, seeded; they use what any client was told."""

    def __init__(self, seed: int, kernel: str, baseline: str, ledger: Ledger) -> None:
        self.random = random.Random(seed)
        self.seed, self.kernel, self.baseline, self.ledger = seed, kernel, baseline, ledger
        self._number = 0
        self._ticket: tuple[str, str] | None = None
        kinds: tuple[tuple[int, Callable[[], Call]], ...] = (
            (24, self.look),
            (16, self.look_at_variant),
            (8, lambda: Call("propose_moves", {"kernel_id": self.kernel})),
            (10, self.resource),
            (3, lambda: Call("", {}, "tools/list")),
            (12, self.wait),
            (10, self.build),
            (3, self.measure_known),
            (2, self.measure_new),
            (2, self.search),
            (3, self.ask_or_answer),
            (3, self.cancel),
            (1, self.export),
            (4, self.nonsense),
        )
        self._weights, self._kinds = zip(*kinds, strict=True)

    def call(self) -> Call:
        """The next one."""
        return self.random.choices(self._kinds, self._weights)[0]()

    def look(self) -> Call:
        """Lists and facts."""
        return Call("inspect", {"what": self.random.choice(LOOKS)})

    def look_at_variant(self) -> Call:
        """One of those that somebody was told of."""
        return Call(
            "inspect",
            {"what": "variant", "id": self._variant(), "part": self.random.choice(PARTS)},
        )

    def resource(self) -> Call:
        """The same by an address."""
        uri = self.random.choice(RESOURCES).format(kernel=self.kernel)
        return Call("", {"uri": uri}, "resources/read")

    def wait(self) -> Call:
        """For a job, shortly."""
        job_id = self._job(lambda _: True)
        if job_id is None:
            return self.look()
        return Call("job", {"job_id": job_id, "wait_s": self.random.choice((0, 0.2, 1, 3))})

    def build(self) -> Call:
        """Now and then of a source that nobody built."""
        self._number += 1
        arguments: dict[str, Any] = {"kernel_id": self.kernel, "base": "baseline"}
        if self.random.random() < 0.5:
            arguments["options"] = {"flags": self.random.choice(FLAGS)}
        else:
            arguments["source"] = f"{SOURCE}// {self.seed} {self._number}\n"
        return Call("compile_variant", arguments | {"wait_s": self.random.choice((0, 1, 5))})

    def measure_known(self) -> Call:
        """What is measured already, mostly."""
        return Call("time_variant", {"variant_id": self.baseline, "wait_s": 5})

    def measure_new(self) -> Call:
        """Whatever was built last."""
        return Call("time_variant", {"variant_id": self._variant(), "wait_s": 1})

    def search(self) -> Call:
        """A step by rules; the same search goes on where another client has begun one."""
        steps = {"steps": self.random.choice((1, 2)), "wait_s": self.random.choice((0, 2))}
        known = [t["search_id"] for t in self.ledger.jobs.values() if t.get("search_id")]
        if known and self.random.random() < 0.7:
            return Call("search_step", {"search_id": self.random.choice(known), **steps})
        return Call("search_step", {"kernel_id": self.kernel, "planner": "rules", **steps})

    def ask_or_answer(self) -> Call:
        """A question of a client's search, or candidates for the last one."""
        if self._ticket is None:
            return Call("search_step", {"kernel_id": self.kernel, "planner": "client", "wait_s": 9})
        (search, ticket), self._ticket = self._ticket, None
        self._number += 1
        answer = {"method": "a comment", "source": f"{SOURCE}// by {self.seed} {self._number}\n"}
        return Call(
            "search_step",
            {"search_id": search, "ticket": ticket, "candidates": [answer], "wait_s": 1},
        )

    def cancel(self) -> Call:
        """What is under way, or was."""
        job_id = self._job(lambda told: told["status"] in UNDER_WAY) or self._job(lambda _: True)
        return Call("cancel_job", {"job_id": job_id or "j1", "wait_s": 5})

    def export(self) -> Call:
        """To a file of this client's own."""
        path = f"client{self.seed}.cpp"
        given = {"variant_id": self.baseline, "path": path, "confirm": False, "force": True}
        return Call("export_variant", given | {"wait_s": 2})

    def nonsense(self) -> Call:
        """Refused."""
        return self.random.choice(
            (
                Call("inspect", {"what": "variant", "id": "v000000000000"}),
                Call("time_variant", {"variant": "baseline"}),
                Call("export_variant", {"variant_id": self.baseline, "path": "/etc/passwd"}),
                Call("job", {"job_id": "j99999"}),
                Call("compile_variant", {"kernel_id": self.kernel, "source": "int broken("}),
            )
        )

    def told(self, told: dict[str, Any]) -> None:
        """Remember the question of a reply, if it asks one."""
        result: dict[str, Any] = told.get("result") or {}
        if needed := result.get("needs_candidates"):
            self._ticket = result["search_id"], needed["ticket"]

    def _variant(self) -> str:
        return self.random.choice((self.baseline, *sorted(self.ledger.variants)))

    def _job(self, wanted: Callable[[dict[str, Any]], bool]) -> str | None:
        newest = list(self.ledger.jobs.items())[-KNOWN_JOBS:]
        found = [job_id for job_id, told in newest if wanted(told)]
        return self.random.choice(found) if found else None
