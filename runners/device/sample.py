"""One sample: `calls` runs of a variant, each on a set of its own, and what they left behind.

All tables of a batch of samples go to the device at once, before the first of them; all
findings come back at once, after the last. What lies between needs nothing of the host but to
queue it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..layout import PAGE
from ..runner_messages import RunResult
from . import driver
from .driver import Event, Stream
from .memory import Digest, Region, aligned
from .side import Side
from .support import SAMPLE, STEP, Support
from .tables import STRIDED, Table, digested, guarded, pieces

Words = npt.NDArray[np.uint64]
How = Literal["by_steps", "warming", "timed"]
"""Step by step, so that a fault can be placed; as one graph, at once; the same, between events."""


@dataclass(frozen=True)
class Findings:
    """What the device found out about the runs of one sample."""

    outputs: tuple[Digest, ...]
    """of each run, all outputs together"""
    inputs: tuple[tuple[Digest, ...], ...]
    """of each run, the watched inputs in order"""
    overruns: tuple[str, ...]
    gaps: tuple[tuple[str, ...], ...]


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
    how: How = "by_steps"
    number: int = 0
    """in its batch, from 1"""
    started: Event | None = None
    ended: Event | None = None
    done: Event = field(default_factory=lambda: driver.make_event(timed=False))
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
        return self.stash + index * self.side.outputs.nbytes

    @property
    def _watched(self) -> tuple[str, ...]:
        return self.side.inputs.watched

    @property
    def _guards(self) -> int:
        shape = self.side.shape
        return len(shape.arguments.slots) + len(shape.own.slots) + 2

    @property
    def _gapped(self) -> list[int]:
        """Outputs that lie in their own argument with bytes between their elements."""
        roles = {a.name: a.argument.role for a in self.side.inputs.pool.contract.arrays}
        return [
            number
            for number, (output, elements) in enumerate(
                zip(self.side.plan.outputs, self.side.outputs.elements, strict=True)
            )
            if roles[output.name] == "output"
            and output.buffer == output.name
            and not elements.gapless
        ]

    @property
    def result_words(self) -> int:
        """Words (uint64) of findings."""
        each = 2 * (1 + len(self._watched)) + 2 * self._guards + len(self._gapped)
        return self.calls * each

    def tables(self) -> dict[str, Table]:
        """What the device is told to do for this sample."""
        return {
            "restore": self.side.restore(self.slots, self.poison),
            "dense": self._dense(),
            "strided": self._strided(),
            "digest": self._digests(),
            "guards": self._guard_rows(),
            "gaps": self._gap_rows(),
        }

    def _dense(self) -> Table:
        rows = list[tuple[int, int, int, int]]()
        for index in range(self.calls):
            for number, elements in enumerate(self.side.outputs.elements):
                if elements.dense:
                    target = self.stashed(index) + self.side.outputs.offsets[number]
                    rows.append((target, self._output(index, number), elements.nbytes, 0))
        return pieces(rows)

    def _strided(self) -> Table:
        rows = list[Table]()
        for index in range(self.calls):
            for number, elements in enumerate(self.side.outputs.elements):
                if not elements.dense and elements.count:
                    target = self.stashed(index) + self.side.outputs.offsets[number]
                    start = self._output(index, number)
                    rows.append(elements.row(start, target, 0, 0, falling=False))
        return _joined(rows)

    def _digests(self) -> Table:
        rows, outputs = list[tuple[int, int, int, int]](), self.side.outputs
        watched = len(self._watched)
        for index in range(self.calls):
            for number, elements in enumerate(outputs.elements):
                offset = outputs.offsets[number]
                start = self.stashed(index) + offset
                rows.append((start, elements.nbytes, offset // 4, index))
            addresses, sizes = self.side.addresses[index], self._sizes()
            for number, name in enumerate(self._watched):
                result = self.calls + index * watched + number
                rows.append((addresses[name], sizes[name], 0, result))
        return digested(rows)

    def _guard_rows(self) -> Table:
        rows = list[tuple[int, int, int]]()
        for index in range(self.calls):
            spans = self.side.shape.guards(self.side.stage, index)
            rows += [
                (start, nbytes, index * len(spans) + number)
                for number, (start, nbytes) in enumerate(spans)
            ]
        return guarded(rows)

    def _gap_rows(self) -> Table:
        gapped, rows = self._gapped, list[Table]()
        for index in range(self.calls):
            for place, number in enumerate(gapped):
                start, result = self._output(index, number), index * len(gapped) + place
                elements = self.side.outputs.elements[number]
                rows.append(elements.row(start, 0, self.poison, result, falling=True))
        return _joined(rows)

    def _output(self, index: int, number: int) -> int:
        output = self.side.plan.outputs[number]
        return self.side.addresses[index][output.buffer] + output.offset

    def _sizes(self) -> dict[str, int]:
        return {s.name: s.nbytes for s in self.side.inputs.pool.inputs.slots}

    def enqueue(self, support: Support, stream: Stream, how: How) -> None:
        """Queue restoring, the runs and the looking."""
        self.how = how
        support.move(*self.places["restore"])
        for bound in self.side.bound[: self.calls]:
            for step in bound.setup:
                step.enqueue(stream)
        if how == "by_steps":
            self._run_by_steps(support, stream)
        elif how == "warming":
            driver.launch_graph(self.side.graph(self.calls, self.turn), stream)
        else:
            self._run_timed(support, stream)
        self._look(support)
        support.mark(SAMPLE, self.number)
        driver.record(self.done, stream)

    def _run_by_steps(self, support: Support, stream: Stream) -> None:
        (bound,) = self.side.bound[: self.calls]
        support.mark(STEP, 0)
        for number, step in enumerate(bound.steps, 1):
            step.enqueue(stream)
            following = bound.steps[number : number + 1]
            if not (following and following[0].overlaps):
                support.mark(STEP, number)

    def _run_timed(self, support: Support, stream: Stream) -> None:
        graph = self.side.graph(self.calls, self.turn)
        support.flush_cache()
        self.started, self.ended = driver.make_event(), driver.make_event()
        self.held = support.hold()
        try:
            driver.record(self.started, stream)
            driver.launch_graph(graph, stream)
            driver.record(self.ended, stream)
        finally:
            support.release()

    def _look(self, support: Support) -> None:
        support.move(*self.places["dense"])
        support.gather(*self.places["strided"])
        guards = self.results + 16 * self.calls * (1 + len(self._watched))
        gaps = guards + 16 * self.calls * self._guards
        support.digest(*self.places["digest"], self.results)
        support.guards(*self.places["guards"], guards)
        support.gaps(*self.places["gaps"], gaps)

    def findings(self, words: Words) -> Findings:
        """What the words mean."""
        watched = len(self._watched)
        digests = [(int(a), int(b)) for a, b in words[: self._digest_words].reshape(-1, 2)]
        inputs = digests[self.calls :]
        return Findings(
            outputs=tuple(digests[: self.calls]),
            inputs=tuple(tuple(inputs[i * watched : (i + 1) * watched]) for i in range(self.calls)),
            overruns=tuple(self._overrun(words, i) for i in range(self.calls)),
            gaps=tuple(self._touched(words, i) for i in range(self.calls)),
        )

    @property
    def _digest_words(self) -> int:
        return 2 * self.calls * (1 + len(self._watched))

    def _overrun(self, words: Words, index: int) -> str:
        count, shape = self._guards, self.side.shape
        start = self._digest_words + 2 * count * index
        found = words[start : start + 2 * count].reshape(-1, 2)
        for number, (before_end, behind_last) in enumerate(found):
            if behind_last:
                nbytes = shape.guards(self.side.stage, index)[number][1]
                first = nbytes - int(before_end)
                return shape.describe_overrun(number, first, int(behind_last), nbytes)
        return ""

    def _touched(self, words: Words, index: int) -> tuple[str, ...]:
        gapped = self._gapped
        start = self._digest_words + 2 * self._guards * self.calls + index * len(gapped)
        outputs = self.side.plan.outputs
        return tuple(
            outputs[number].name for place, number in enumerate(gapped) if words[start + place]
        )

    def result(self, found: Findings, index: int, *, stored: int | None) -> RunResult:
        """One run, as it is reported."""
        slot = self.slots[index]
        changed = tuple(
            name
            for name, digest in zip(self._watched, found.inputs[index], strict=True)
            if digest != self.side.inputs.digest(slot, name)
        )
        return RunResult(
            slot=slot,
            poison=self.poison,
            overrun=found.overruns[index],
            changed_inputs=changed,
            touched_gaps=found.gaps[index],
            digest=digest_name(found.outputs[index]),
            stored=stored,
        )


def digest_name(digest: Digest) -> str:
    """As it travels: 32 hexadecimal digits."""
    return f"{digest[0]:016x}{digest[1]:016x}"


def place_tables(samples: Sequence[Sample], region: Region, stream: Stream) -> None:
    """Upload the tables of a batch, and clear the findings behind them."""
    blobs, cursor = list[npt.NDArray[np.uint8]](), 0
    for number, sample in enumerate(samples, 1):
        sample.number, sample.places = number, {}
        for name, table in sample.tables().items():
            sample.places[name] = (cursor, len(table))
            blobs.append(table.view(np.uint8))
            cursor += table.nbytes
    start = aligned(cursor, PAGE)
    words = sum(s.result_words for s in samples)
    region.reserve(start + 8 * words)
    driver.upload(stream, region.address, np.concatenate(blobs))
    driver.Memset(region.address + start, 4, 0, 2 * words, 4).enqueue(stream)
    at = region.address + start
    for sample in samples:
        sample.results = at
        sample.places = {k: (region.address + o, n) for k, (o, n) in sample.places.items()}
        at += 8 * sample.result_words


def fetch_findings(samples: Sequence[Sample]) -> list[Findings]:
    """What the device found, once the whole batch is done."""
    total = sum(s.result_words for s in samples)
    words = driver.download(samples[0].results, 8 * total).view(np.uint64)
    found, cursor = list[Findings](), 0
    for sample in samples:
        found.append(sample.findings(words[cursor : cursor + sample.result_words]))
        cursor += sample.result_words
    return found


def _joined(rows: Sequence[Table]) -> Table:
    return np.concatenate(rows) if rows else np.zeros(0, dtype=STRIDED)
