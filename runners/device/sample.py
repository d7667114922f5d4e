"""One sample: `calls` runs of a variant, each on a set of its own, and what they left behind.

All tables of a batch of samples go to the device at once, before the first of them; all
findings come back at once, after the last. What lies between needs nothing of the host but to
queue it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..layout import PAGE
from ..plan import Fill
from ..runner_messages import RunResult
from . import driver
from .driver import Event, Stream
from .looking import Findings, Looking
from .memory import Digest, Region, aligned
from .side import Side
from .support import Support
from .tables import Table

How = Literal["by_steps", "warming", "timed"]
"""Step by step, so that a fault can be placed; as one graph, at once; the same, between events."""


@dataclass
class Sample:
    """One side's turn: which seeds, and where its outputs wait to be looked at."""

    side: Side
    slots: tuple[int, ...]
    poison: int
    stash: int
    """address of the first run's outputs; the others follow"""
    turn: int = 0
    """which of the side's two equal graphs"""
    again: bool = False
    """a second run: what fills of setup prepared is as the run before has left it"""
    how: How = "by_steps"
    events: tuple[Event, Event] | None = None
    """before and after the runs"""
    done: Event | None = None
    elapsed_ms: float = 0.0
    held: int = 0
    places: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """address and rows of each table"""
    results: int = 0

    @property
    def calls(self) -> int:
        """Runs in this sample."""
        return len(self.slots)

    def stashed(self, index: int) -> int:
        """Where the outputs of one run lie, dense."""
        return self.stash + index * self.side.setting.outputs.nbytes

    @cached_property
    def looking(self) -> Looking:
        """How its traces are read."""
        return self.side.looking(self.calls, self.poison)

    def tables(self) -> dict[str, Table]:
        """What the device is told to do for this sample."""
        restore = self.side.restore(self.slots, self.poison, again=self.again)
        return {"restore": restore, **self.looking.tables(self.stash)}

    def enqueue(self, support: Support, stream: Stream, how: How) -> None:
        """Queue restoring, the runs and the looking."""
        self.how, self.done, self.events = how, driver.make_event(timed=False), None
        support.move(*self.places["restore"])
        for bound in self.side.bound[: self.calls]:
            for declared, step in zip(self.side.setting.plan.setup, bound.setup, strict=True):
                if not (self.again and isinstance(declared, Fill)):
                    step.enqueue(stream)
        if how == "by_steps":
            self._run_by_steps(support, stream)
        elif how == "warming":
            driver.launch_graph(self.side.graph(self.calls, self.turn), stream)
        else:
            self._run_timed(support, stream)
        self._look(support)
        driver.record(self.done, stream)

    def _run_by_steps(self, support: Support, stream: Stream) -> None:
        (bound,) = self.side.bound[: self.calls]
        support.mark(0)
        for number, step in enumerate(bound.steps, 1):
            step.enqueue(stream)
            following = bound.steps[number : number + 1]
            if not (following and following[0].overlaps):
                support.mark(number)

    def _run_timed(self, support: Support, stream: Stream) -> None:
        graph = self.side.graph(self.calls, self.turn)
        support.flush_cache()
        started, ended = self.events = driver.make_event(), driver.make_event()
        self.held = support.hold()
        try:
            driver.record(started, stream)
            driver.launch_graph(graph, stream)
            driver.record(ended, stream)
        finally:
            support.release()

    def _look(self, support: Support) -> None:
        support.move(*self.places["dense"])
        support.gather(*self.places["strided"])
        support.digest(*self.places["digest"], self.results)
        support.guards(*self.places["guards"], self.results + 8 * self.looking.guards_at)
        support.gaps(*self.places["gaps"], self.results + 8 * self.looking.gaps_at)

    def finish(self) -> None:
        """Read the clock, once all is done."""
        if self.events is not None:
            self.elapsed_ms = driver.elapsed_ms(*self.events)
        self.give_back()

    def give_back(self) -> None:
        """Give the events back."""
        for event in (*(self.events or ()), self.done):
            if event is not None:
                driver.destroy_event(event)
        self.events = self.done = None

    def result(self, found: Findings, index: int) -> RunResult:
        """One run, as it is reported, but for the place of its outputs."""
        slot, inputs = self.slots[index], self.side.setting.inputs
        return RunResult(
            slot=slot,
            poison=self.poison,
            overrun=found.overrun,
            changed_inputs=tuple(
                name
                for name, digest in zip(inputs.watched, found.inputs, strict=True)
                if digest != inputs.digest(slot, name)
            ),
            touched_gaps=found.gaps,
            digest=digest_name(found.output),
        )


def digest_name(digest: Digest) -> str:
    """As it travels: 32 hexadecimal digits."""
    return f"{digest[0]:016x}{digest[1]:016x}"


def place_tables(samples: Sequence[Sample], region: Region, stream: Stream) -> None:
    """Upload the tables of a batch, and clear the findings behind them."""
    blobs, cursor = list[npt.NDArray[np.uint8]](), 0
    for sample in samples:
        sample.places = {}
        for name, table in sample.tables().items():
            sample.places[name] = (cursor, len(table))
            blobs.append(table.view(np.uint8))
            cursor += table.nbytes
    start = aligned(cursor, PAGE)
    words = sum(s.looking.words for s in samples)
    region.reserve(start + 8 * words)
    driver.upload(stream, region.address, np.concatenate(blobs))
    driver.Memset(region.address + start, 4, 0, 2 * words, 4).enqueue(stream)
    at = region.address + start
    for sample in samples:
        sample.results = at
        sample.places = {k: (region.address + o, n) for k, (o, n) in sample.places.items()}
        at += 8 * sample.looking.words


def fetch_findings(samples: Sequence[Sample]) -> list[list[Findings]]:
    """What the device found of each run of each sample, once the whole batch is done."""
    total = sum(s.looking.words for s in samples)
    words = driver.download(samples[0].results, 8 * total).view(np.uint64)
    found, cursor = list[list[Findings]](), 0
    for sample in samples:
        looking = sample.looking
        found.append(looking.findings(words[cursor : cursor + looking.words]))
        cursor += looking.words
    return found
