"""How the device looks at what runs left behind: tables made once, and what they found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from .memory import Digest, Kept, Span, digest_rows
from .setting import Setting
from .tables import (
    BLANK,
    GAP,
    GUARD,
    STRIDED,
    Elements,
    Table,
    digested,
    filled,
    guarded,
    pieces,
    repeated,
)

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Findings:
    """What the device found out about one run."""

    output: Digest
    """of all outputs together"""
    inputs: tuple[Digest, ...]
    """of the watched inputs, in order"""
    overrun: str
    gaps: tuple[str, ...]
    prepared: tuple[Digest, ...] = ()
    """of the buffers that setup fills, by name"""


@dataclass(frozen=True)
class Around:
    """What the device found around the runs of a sample."""

    bystander: bool
    """the set that no run was given holds something else, but for its inputs"""
    bystander_inputs: tuple[Digest, ...]
    """of all inputs, in order"""
    stray: bool
    """what no run may change is not what it was"""


class Looking:
    """The tables for runs in a setting, whose poison was `poison`.

    `sets`: which set each run had; `bystander`: one more, as new, that none of them had; `kept`:
    what no run may change beside the rest of the stage; None: not looked at now.

    Findings are words (uint64): two for each digest (the outputs of each run, the watched inputs of
    each run, the bystander's inputs, what setup fills of each run, what is kept), two for each
    guard (the bands of each run, the bystander, what is blank), one for each output with gaps.
    """

    def __init__(
        self,
        setting: Setting,
        sets: Sequence[int],
        bystander: int | None,
        poison: int,
        kept: Kept | None,
    ) -> None:
        self._setting, self._sets, self._bystander = setting, tuple(sets), bystander
        self._poison, self._kept = repeated(poison), _with_stage(kept, setting, sets, bystander)
        self._calls, self._watched = len(sets), setting.inputs.watched
        self._gapped = _gapped(setting)
        self._guards = [setting.guards[index] for index in sets]
        names = () if bystander is None else setting.inputs.names
        self._beside_at = self._calls * (1 + len(self._watched))
        self._filled, self._filled_at = sorted(setting.prepared), self._beside_at + len(names)
        self._kept_at = self._filled_at + self._calls * len(self._filled)
        self._digests = self._kept_at + len(self._kept.digests)
        self._bands = sum(map(len, self._guards))
        self.guards_at = 2 * self._digests
        self.gaps_at = self.guards_at + 2 * (self._bands + 2)
        self.words = self.gaps_at + self._calls * len(self._gapped)

    def tables(self, stash: int) -> dict[str, Table]:
        """What the device is told to do; dense outputs go to `stash`, one run after the other."""
        return {
            "guards": self._guard_rows(),
            "dense": self._dense(stash),
            "strided": self._strided(stash),
            "digest": self._digest_rows(stash),
            "gaps": self._gap_rows(),
        }

    def _dense(self, stash: int) -> Table:
        outputs = self._setting.outputs
        return pieces(
            [
                (
                    stash + run * outputs.nbytes + offset,
                    self._output(index, number),
                    elements.nbytes,
                    0,
                )
                for run, index in enumerate(self._sets)
                for number, (offset, elements) in enumerate(self._places)
                if elements.dense
            ]
        )

    def _strided(self, stash: int) -> Table:
        nbytes = self._setting.outputs.nbytes
        return _joined(
            [
                elements.row(
                    self._output(index, number), stash + run * nbytes + offset, 0, 0, falling=False
                )
                for run, index in enumerate(self._sets)
                for number, (offset, elements) in enumerate(self._places)
                if not elements.dense and elements.count
            ]
        )

    def _digest_rows(self, stash: int) -> Table:
        rows, nbytes = list[tuple[int, int, int, int]](), self._setting.outputs.nbytes
        sizes = {s.name: s.nbytes for s in self._setting.inputs.pool.inputs.slots}
        for run, index in enumerate(self._sets):
            for offset, elements in self._places:
                rows.append((stash + run * nbytes + offset, elements.nbytes, offset // 4, run))
            addresses = self._setting.addresses[index]
            first = self._calls + run * len(self._watched)
            for result, name in enumerate(self._watched, first):
                rows.append((addresses[name], sizes[name], 0, result))
        if self._bystander is not None:
            addresses = self._setting.addresses[self._bystander]
            for result, name in enumerate(self._setting.inputs.names, self._beside_at):
                rows.append((addresses[name], sizes[name], 0, result))
        buffers = {b.name: b.nbytes for b in self._setting.plan.buffers}
        for result, (index, name) in enumerate(product(self._sets, self._filled), self._filled_at):
            rows.append((self._setting.addresses[index][name], buffers[name], 0, result))
        kept = digest_rows([span for span, _ in self._kept.digests], self._kept_at)
        return np.concatenate([digested(rows), kept])

    def _guard_rows(self) -> Table:
        spans = [span for each in self._guards for span in each]
        bands = guarded([(start, nbytes, number) for number, (start, nbytes) in enumerate(spans)])
        blank = blank_rows(self._kept.blank, self._bands + 1)
        return np.concatenate([bands, self._bystander_rows(), blank])

    def _bystander_rows(self) -> Table:
        """Guard bands, and what is poisoned and stays so: setup fills it, too."""
        if self._bystander is None:
            return _filled([], 0, 0)
        addresses = self._setting.addresses[self._bystander]
        names = self._setting.poisoned - self._setting.prepared
        spans = [
            (addresses[b.name], b.nbytes) for b in self._setting.plan.buffers if b.name in names
        ]
        bands = _filled(self._setting.guards[self._bystander], GUARD, self._bands)
        return np.concatenate([bands, _filled(spans, self._poison, self._bands)])

    def _gap_rows(self) -> Table:
        count, elements = len(self._gapped), self._setting.outputs.elements
        outputs, poisoned = self._setting.plan.outputs, self._setting.poisoned
        patterns = [
            self._poison if outputs[n].name in poisoned else repeated(GAP) for n in self._gapped
        ]
        return _joined(
            [
                elements[number].row(
                    self._output(index, number),
                    0,
                    patterns[place],
                    run * count + place,
                    falling=True,
                )
                for run, index in enumerate(self._sets)
                for place, number in enumerate(self._gapped)
            ]
        )

    @cached_property
    def _places(self) -> list[tuple[int, Elements]]:
        outputs = self._setting.outputs
        return list(zip(outputs.offsets, outputs.elements, strict=True))

    def _output(self, index: int, number: int) -> int:
        output = self._setting.plan.outputs[number]
        return self._setting.addresses[index][output.buffer] + output.offset

    def findings(self, words: Words, digests: Sequence[Digest]) -> list[Findings]:
        """What the words mean, run by run. `digests`: of the same words."""
        watched, inputs = len(self._watched), digests[self._calls :]
        count, left = len(self._filled), digests[self._filled_at :]
        overrun = bool(words[self.guards_at : self.guards_at + 2 * self._bands].any())
        touched = bool(words[self.gaps_at :].any())
        return [
            Findings(
                output=digests[run],
                inputs=tuple(inputs[run * watched : (run + 1) * watched]),
                overrun=self._overrun(words, run) if overrun else "",
                gaps=self._touched(words, run) if touched else (),
                prepared=tuple(left[run * count : (run + 1) * count]),
            )
            for run in range(self._calls)
        ]

    def around(self, words: Words, digests: Sequence[Digest]) -> Around:
        """What the words say of everything else. `digests`: of the same words."""
        beside, blank = words[self.guards_at + 2 * self._bands : self.gaps_at].reshape(2, 2)
        wanted = [digest for _, digest in self._kept.digests]
        return Around(
            bystander=bool(beside.any()),
            bystander_inputs=tuple(digests[self._beside_at : self._filled_at]),
            stray=bool(blank.any()) or list(digests[self._kept_at :]) != wanted,
        )

    def digests(self, words: Words) -> list[Digest]:
        """All digests, in the order of the class."""
        pairs = words[: self.guards_at]
        return list(zip(pairs[::2].tolist(), pairs[1::2].tolist(), strict=True))

    def _overrun(self, words: Words, run: int) -> str:
        spans, shape = self._guards[run], self._setting.shape
        start = self.guards_at + 2 * run * len(spans)
        found = words[start : start + 2 * len(spans)].reshape(-1, 2)
        for number, (before_end, behind_last) in enumerate(found):
            if behind_last:
                nbytes = spans[number][1]
                first = nbytes - int(before_end)
                return shape.describe_overrun(number, first, int(behind_last), nbytes)
        return ""

    def _touched(self, words: Words, run: int) -> tuple[str, ...]:
        start = self.gaps_at + run * len(self._gapped)
        outputs = self._setting.plan.outputs
        return tuple(
            outputs[number].name
            for place, number in enumerate(self._gapped)
            if words[start + place]
        )


def _with_stage(
    kept: Kept | None, setting: Setting, sets: Sequence[int], bystander: int | None
) -> Kept:
    if kept is None:
        return Kept()
    used = [*sets] if bystander is None else [*sets, bystander]
    return Kept.joined([kept, Kept(blank=tuple(setting.unused(used)))])


def _gapped(setting: Setting) -> list[int]:
    """Outputs that lie in their own argument with bytes between their elements."""
    outputs = zip(setting.plan.outputs, setting.outputs.elements, strict=True)
    return [
        number
        for number, (output, elements) in enumerate(outputs)
        if output.buffer == output.name and not elements.gapless
    ]


def blank_rows(spans: Sequence[Span], result: int) -> Table:
    """Rows of `guards` for spans that must be blank, with one result."""
    return _filled(spans, repeated(BLANK), result)


def _filled(spans: Sequence[Span], pattern: int, result: int) -> Table:
    """Rows of `guards` for spans of any size, which must all hold `pattern`."""
    return filled([(start, nbytes, pattern, result) for start, nbytes in spans])


def _joined(rows: Sequence[Table]) -> Table:
    return np.concatenate(rows) if rows else np.zeros(0, dtype=STRIDED)
