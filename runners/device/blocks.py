"""One block of timed samples: who runs when, on which seeds and sets, and what comes of it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest

from ..protocol.messages import Block, RunResult, SideTimes
from .handover import Handover
from .looking import Findings
from .sample import How, Sample
from .side import Side
from .stage import Stage

WARM_UP_SLOT = 0
DRAWN = random.SystemRandom()


@dataclass
class Collected:
    """What one side has given so far."""

    side: Side
    handover: Handover
    nanoseconds: list[float] = field(default_factory=list[float])
    disturbed: list[float] = field(default_factory=list[float])
    results: dict[tuple[int, Findings, str, bool], RunResult] = field(
        default_factory=dict[tuple[int, Findings, str, bool], RunResult]
    )
    """by seed and what was found: what is the same was judged and is told once"""

    def take(self, sample: Sample) -> None:
        """What a sample left behind, while its outputs are there."""
        for run, (slot, findings) in enumerate(zip(sample.slots, sample.found, strict=True)):
            key = (slot, findings, sample.overrun, sample.late)
            if key not in self.results:
                digest = sample.digest(run)
                place = self.handover.place(slot, digest, lambda r=run: sample.parts(r))
                self.results[key] = sample.result(run, place)

    def clock(self, sample: Sample) -> None:
        """How long it took."""
        self.nanoseconds.append(sample.elapsed_ms * 1e6 / sample.calls)
        self.disturbed.append(float(sample.expired))

    def times(self) -> SideTimes:
        """As it is reported."""
        return SideTimes(
            variant=self.side.variant,
            nanoseconds=tuple(self.nanoseconds),
            disturbed=tuple(self.disturbed),
            results=tuple(self.results.values()),
        )


def run_block(
    stage: Stage, message: Block, sides: Mapping[str, Side], handover: Handover, turn: int
) -> list[SideTimes]:
    """Time all sides, in the order given; `turn` picks one of two equal graphs. Raises RunFault."""
    block = _Plan(stage, message, sides, turn)
    collected = {v: Collected(side, handover) for v, side in sides.items()}
    planned, warm = block.samples(), block.warming()
    how: How = "hot" if message.hot else "timed"
    stage.warm_up(warm, message.timeout_s)
    for sample, following in zip_longest(planned, planned[1:]):
        if stage.idle:
            stage.warm_up(warm, message.timeout_s)
        _make_ready(stage, block, sample)
        mine = collected[sample.side.variant]
        stage.runs.perform(sample, message.timeout_s, how, mine.take, following)
        mine.clock(sample)
    for sample in block.early():
        _make_ready(stage, block, sample)
        stage.runs.perform(sample, message.timeout_s, "early", collected[sample.side.variant].take)
    return [each.times() for each in collected.values()]


def calls_of(message: Block, sides: Mapping[str, Side]) -> dict[str, int]:
    """Calls of one sample, no more than state allows, of any side, so that those which are to have
    the same number keep it; and so that a set is left over that no call gets."""
    limits = [side.most_calls for side in sides.values() if side.most_calls is not None]
    if not message.hot:
        limits.append(next(iter(sides.values())).setting.sets - 1)
    most = max(1, min(limits, default=max((1, *message.calls.values()))))
    return {v: max(1, min(most, message.calls.get(v, 1))) for v in sides}


class _Plan:
    """All samples of a block; the sides of a round get the same seeds, as far as they have as many
    calls, on the same sets."""

    def __init__(self, stage: Stage, message: Block, sides: Mapping[str, Side], turn: int) -> None:
        self.message, self._turn = message, turn
        self._sides = {v: s for v, s in sides.items() if _can(s, message)}
        self._calls = calls_of(message, sides)
        setting = next(iter(sides.values())).setting
        self._order = stage.order(setting.sets, turn % 2)
        kept = {WARM_UP_SLOT, *chain(*message.hidden)}
        slots = range(setting.inputs.pool.slots)
        self._usable = [slot for slot in slots if slot not in kept] or [WARM_UP_SLOT]

    def samples(self) -> list[Sample]:
        """In the order in which they are taken."""
        made, cursor = list[Sample](), 0 if self.message.given else self._turn
        cycle = self.message.cycle
        for order, hidden in zip_longest(
            self.message.rounds, self.message.hidden, fillvalue=tuple[()]()
        ):
            for variant in order:
                if variant in self._sides:
                    seeds = (cursor + (i % cycle if cycle else i) for i in self._numbers(variant))
                    mine = [self._usable[s % len(self._usable)] for s in seeds]
                    made.append(self._sample(variant, with_hidden(mine, hidden)))
            if (
                not self.message.given
            ):  # there a graph belongs to its seeds, and is to be used again
                cursor += cycle or max(self._calls[variant] for variant in order)
        return made

    def early(self) -> list[Sample]:
        """One more of each side where the message says so: what is queued behind a sample, to look
        at its outputs early, could change its time."""
        message = self.message
        if message.hot or message.given or message.cycle or not message.early:
            return []
        usable = self._usable
        seeds = {v: [usable[n % len(usable)] for n in self._numbers(v)] for v in self._sides}
        return [self._sample(variant, mine) for variant, mine in seeds.items()]

    def _numbers(self, variant: str) -> range:
        return range(self._calls[variant])

    def warming(self) -> list[Sample]:
        """One of each side."""
        return [self.warm(variant) for variant in self._sides]

    def warm(self, variant: str) -> Sample:
        """What makes a side ready, on values that are not timed."""
        return self._sample(variant, [WARM_UP_SLOT] * self._calls[variant], given=False)

    def _sample(self, variant: str, seeds: list[int], *, given: bool | None = None) -> Sample:
        slots = tuple(seeds[:1] if self.message.hot else seeds)
        left = self._order[len(slots) :]
        given = bool(self.message.given) if given is None else given
        late = given and self.message.given == "late"
        return Sample(
            self._sides[variant],
            slots,
            self._order[: len(slots)],
            self.message.poison,
            bystander=(left[0], random.choice(self._usable)) if left else None,
            turn=self._turn % 2,
            repeats=len(seeds) if self.message.hot else 1,
            given=given,
            before=self._others(slots) if late else (),
        )

    def _others(self, slots: tuple[int, ...]) -> tuple[int, ...]:
        """As many other seeds, as far as there are any."""
        others = [slot for slot in self._usable if slot not in slots] or self._usable
        return tuple(others[number % len(others)] for number in range(len(slots)))


def with_hidden(seeds: Sequence[int], hidden: Sequence[int]) -> list[int]:
    """Seeds of a sample, some of which give way at drawn places to those that are hidden."""
    made, few = list(seeds), hidden[: len(seeds)]
    for place, seed in zip(DRAWN.sample(range(len(made)), len(few)), few, strict=True):
        made[place] = seed
    return made


def _can(side: Side, message: Block) -> bool:
    """Whether a side can be asked: code that keeps state would know that values come again, and
    so would code that finds on the same set what it changed there."""
    if message.hot:
        return side.repeatable
    return not (message.cycle and side.code.keeps_state)


def _make_ready(stage: Stage, block: _Plan, sample: Sample) -> None:
    """Load code that keeps state anew before it meets a seed again, and warm its new graph."""
    sample.side.meet((*sample.slots, *sample.before))
    if not sample.side.has_graph(sample.order, sample.turn):
        warm = block.warm(sample.side.variant)
        stage.runs.perform(warm, block.message.timeout_s, "warming")
