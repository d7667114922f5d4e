"""One block of timed samples: who runs when, on which seeds, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..runner_messages import Block, RunResult, SideTimes
from . import driver
from .handover import Handover, Parts
from .looking import Findings
from .sample import Sample
from .side import Side
from .stage import Stage

WARM_UP_SLOT = 0


@dataclass
class Collected:
    """What one side has given so far."""

    side: Side
    nanoseconds: list[float] = field(default_factory=list[float])
    disturbed: list[float] = field(default_factory=list[float])
    results: dict[tuple[int, Findings], RunResult] = field(
        default_factory=dict[tuple[int, Findings], RunResult]
    )
    """by seed and what was found: what is the same was judged and is told once"""

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
    """Time all sides, in the order given, in as few batches as memory allows.

    `turn` picks one of two equal graphs. Raises RunFault.
    """
    calls = calls_of(message, sides)
    collected = {v: Collected(side) for v, side in sides.items()}
    planned = _planned(message, sides, calls, turn)
    needed = [_stash_bytes(sample) for sample in planned]
    address, room = stage.stash(sum(needed), max(needed))
    warm = [_warming(side, calls[v], message.poison, address, turn) for v, side in sides.items()]
    stage.warm_up(warm, message.timeout_s)
    for batch in _batches(planned, address, room):
        for sample in batch:
            _make_ready(stage, sample, message, address)
        found = stage.run(batch, message.timeout_s, "timed")
        for sample, findings in zip(batch, found, strict=True):
            _collect(collected[sample.side.variant], stage, sample, findings, handover)
    return [each.times() for each in collected.values()]


def calls_of(message: Block, sides: Mapping[str, Side]) -> dict[str, int]:
    """Calls of one sample, no more than there are sets, and than state allows: of any side, so
    that those which are to have the same number keep it."""
    limits = [side.most_calls for side in sides.values() if side.most_calls is not None]
    sets = next(iter(sides.values())).setting.sets
    most = min([sets, *limits])
    return {v: max(1, min(most, message.calls.get(v, 1))) for v in sides}


def _planned(
    message: Block, sides: Mapping[str, Side], calls: Mapping[str, int], turn: int
) -> list[Sample]:
    """All samples; the sides of a round get the same seeds, as far as they have as many calls."""
    slots = next(iter(sides.values())).setting.inputs.pool.slots
    usable = [s for s in range(slots) if s != WARM_UP_SLOT] or [WARM_UP_SLOT]
    samples, cursor = list[Sample](), turn
    for order in message.rounds:
        for variant in order:
            seeds = tuple(usable[(cursor + i) % len(usable)] for i in range(calls[variant]))
            samples.append(Sample(sides[variant], seeds, message.poison, 0, turn % 2))
        cursor += max(calls[variant] for variant in order)
    return samples


def _stash_bytes(sample: Sample) -> int:
    return sample.calls * sample.side.setting.outputs.nbytes


def _warming(side: Side, calls: int, poison: int, stash: int, turn: int) -> Sample:
    return Sample(side, (WARM_UP_SLOT,) * calls, poison, stash, turn % 2)


def _batches(samples: Sequence[Sample], address: int, room: int) -> Iterator[list[Sample]]:
    """As many samples as have room for their outputs; one alone where code keeps state, since it
    may have to be loaded anew before."""
    batch, used = list[Sample](), 0
    for sample in samples:
        alone = sample.side.code.keeps_state
        if batch and (alone or used + _stash_bytes(sample) > room):
            yield batch
            batch, used = [], 0
        sample.stash = address + used
        used += _stash_bytes(sample)
        batch.append(sample)
        if alone:
            yield batch
            batch, used = [], 0
    if batch:
        yield batch


def _make_ready(stage: Stage, sample: Sample, message: Block, stash: int) -> None:
    """Load code that keeps state anew before it meets a seed again, and warm its new graph."""
    sample.side.meet(sample.slots)
    if not sample.side.has_graph(sample.calls, sample.turn):
        warm = _warming(sample.side, sample.calls, message.poison, stash, sample.turn)
        stage.run([warm], message.timeout_s, "warming")


def _collect(
    collected: Collected,
    stage: Stage,
    sample: Sample,
    found: Sequence[Findings],
    handover: Handover,
) -> None:
    collected.nanoseconds.append(sample.elapsed_ms * 1e6 / sample.calls)
    collected.disturbed.append(float(stage.support.expired(sample.held)))
    for index, (slot, findings) in enumerate(zip(sample.slots, found, strict=True)):
        if (slot, findings) not in collected.results:
            result = sample.result(findings, index)
            place = handover.place(slot, result.digest, lambda i=index: parts_of(sample, i))
            told = result.model_copy(update={"stored": place})
            collected.results[slot, findings] = told


def parts_of(sample: Sample, index: int) -> Parts:
    """The outputs of one run, from where they wait."""
    outputs = sample.side.setting.outputs
    whole = driver.download(sample.stashed(index), outputs.nbytes)
    return [
        whole[offset : offset + elements.nbytes]
        for offset, elements in zip(outputs.offsets, outputs.elements, strict=True)
    ]
