"""One sample: runs of a variant, each on a set of its own, and what they left behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..protocol.messages import RunResult
from .cuda_driver import driver
from .cuda_driver.driver import Bytes
from .keeping import Packed, packed
from .looking import Around, Findings
from .side import Side

How = Literal["by_steps", "warming", "timed", "hot", "early"]
"""Step by step, so that a fault can be placed; as one graph, at once; the same, between events,
with nothing in caches; the same on one set, with there what an equal graph before it left; as
`timed`, but copies of its outputs are queued behind it, and its time is not told."""
BYSTANDER = "buffers of another call"
STRAY = "memory far from its buffers, where nothing of its own lies"
RUNNER = "memory of the runner"


AGAIN = 3
"""calls on what the one before has left: enough for what is the same behind each of them, and for
what turns to and fro (a barrier that changes its sense)"""


@dataclass
class Sample:
    """One side's turn: which seeds, on which sets."""

    side: Side
    slots: tuple[int, ...]
    sets: tuple[int, ...]
    """one for each seed"""
    poison: int
    bystander: tuple[int, int] | None = None
    """a set and a seed: as new, and for no run"""
    turn: int = 0
    """which of the side's two equal graphs"""
    repeats: int = 1
    """runs on each set"""
    given: bool = False
    """each run gets its values right before it; `before`: of which seed they are until then"""
    before: tuple[int, ...] = ()
    again: bool = False
    """a second run: what setup prepared is as the run before has left it"""
    lasting: bool = False
    """what it leaves in its buffers is for a run `again`"""
    how: How = "by_steps"
    expired: bool = False
    """it was held for too long"""
    elapsed_ms: float = 0.0
    busy_ms: float = 0.0
    stash: int = 0
    """where the outputs of the first run lie, dense; the others follow"""
    found: list[Findings] = field(default_factory=list[Findings])
    restoring: Packed | None = None
    overrun: str = ""
    """what it wrote to that is none of any run's buffers"""
    late: bool = False
    """outputs changed behind the event that told their end"""

    @property
    def calls(self) -> int:
        """Runs in this sample."""
        return len(self.slots) * self.repeats

    @property
    def used(self) -> tuple[int, ...]:
        """All sets that it needs."""
        return self.sets if self.bystander is None else (*self.sets, self.bystander[0])

    @property
    def seeds(self) -> dict[int, int]:
        """Of each of these sets, when the sample begins."""
        seeds = dict(zip(self.sets, self.before or self.slots, strict=True))
        return seeds if self.bystander is None else {**seeds, self.bystander[0]: self.bystander[1]}

    @property
    def order(self) -> tuple[int, ...]:
        """The set of each run, in order."""
        return self.sets * self.repeats

    def prepare(self) -> Packed:
        """The table `restore` that makes its sets as new; made once, by whoever asks first."""
        if self.restoring is None:
            table = self.side.restore(self.seeds, self.poison, again=self.again)
            self.restoring = packed({"restore": table})
        return self.restoring

    def last_outputs(self) -> list[tuple[int, int]]:
        """Where those of its last run lie: start and bytes, gaps with them."""
        setting = self.side.setting
        addresses, elements = setting.addresses[self.order[-1]], setting.outputs.elements
        pairs = zip(setting.plan.outputs, elements, strict=True)
        return [(addresses[o.buffer] + o.offset, each.span) for o, each in pairs]

    def judge(self, around: Around, *, words_are_ours: bool) -> None:
        """Note what it did beyond its buffers."""
        if not words_are_ours:
            self.overrun = RUNNER
        elif around.stray:
            self.overrun = STRAY
        elif self.bystander is not None and self._touched(around, self.bystander[1]):
            self.overrun = BYSTANDER

    def _touched(self, around: Around, slot: int) -> bool:
        inputs = self.side.setting.inputs
        wanted = tuple(inputs.digest(slot, name) for name in inputs.names)
        return around.bystander or around.bystander_inputs != wanted

    def digest(self, run: int) -> str:
        """Of the outputs of a run, as it travels: 32 hexadecimal digits."""
        first, second = self.found[run].output
        return f"{first:016x}{second:016x}"

    def result(self, run: int, stored: int | None, busy_s: float = 0.0) -> RunResult:
        """One run, as it is reported. `stored`: the place of its outputs."""
        slot, inputs, found = self.slots[run], self.side.setting.inputs, self.found[run]
        return RunResult(
            slot=slot,
            poison=self.poison,
            overrun=found.overrun or self.overrun,
            changed_inputs=tuple(
                name
                for name, digest in zip(inputs.watched, found.inputs, strict=True)
                if digest != inputs.digest(slot, name)
            ),
            touched_gaps=found.gaps,
            digest=self.digest(run),
            again=self.again,
            late=self.late,
            stored=stored,
            busy_s=busy_s,
        )

    def parts(self, run: int) -> Sequence[Bytes]:
        """The outputs of one run, each dense; only until its memory is blank again."""
        outputs = self.side.setting.outputs
        whole = driver.download(self.stash + run * outputs.nbytes, outputs.nbytes)
        return [
            whole[offset : offset + elements.nbytes]
            for offset, elements in zip(outputs.offsets, outputs.elements, strict=True)
        ]


def drifted(names: Sequence[str], samples: Sequence[Sample]) -> tuple[str, ...]:
    """Which of the buffers that setup fills (`names`, sorted) the further calls of a check, all on
    the same values, left otherwise each time: those that count calls, say."""
    left = [sample.found[0].prepared for sample in samples if sample.again]
    if len(left) < AGAIN or left[-1] in left[:-1]:
        return ()
    last = left[-1]
    return tuple(n for k, n in enumerate(names) if all(last[k] != each[k] for each in left[:-1]))
