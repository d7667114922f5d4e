"""How the device looks at what runs left behind: tables made once, and what they found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .memory import Digest
from .setting import Setting
from .tables import STRIDED, Elements, Table, digested, guarded, pieces

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


class Looking:
    """The tables for `calls` runs in a setting, whose poison was `poison`.

    Findings are words (uint64): two for the outputs of each run, two for each watched input of
    each run, two for each guard band of each run, one for each output with gaps of each run.
    """

    def __init__(self, setting: Setting, calls: int, poison: int) -> None:
        self._setting, self._calls, self._poison = setting, calls, poison
        self._watched = setting.inputs.watched
        roles = {a.name: a.argument.role for a in setting.inputs.pool.contract.arrays}
        self._gapped = [
            number
            for number, (output, elements) in enumerate(
                zip(setting.plan.outputs, setting.outputs.elements, strict=True)
            )
            if roles[output.name] == "output"
            and output.buffer == output.name
            and not elements.gapless
        ]
        """outputs that lie in their own argument with bytes between their elements"""
        self._guards = [setting.guards(index) for index in range(calls)]
        self.guards_at = 2 * calls * (1 + len(self._watched))
        self.gaps_at = self.guards_at + 2 * sum(map(len, self._guards))
        self.words = self.gaps_at + calls * len(self._gapped)

    def tables(self, stash: int) -> dict[str, Table]:
        """What the device is told to do; dense outputs go to `stash`, one run after the other."""
        dense, strided, digests = self._dense.copy(), self._strided.copy(), self._digests.copy()
        dense["target"] += np.uint64(stash)
        strided["dense"] += np.uint64(stash)
        digests["start"][digests["result"] < self._calls] += np.uint64(stash)
        return {
            "dense": dense,
            "strided": strided,
            "digest": digests,
            "guards": self._guard_rows,
            "gaps": self._gap_rows,
        }

    @cached_property
    def _dense(self) -> Table:
        outputs = self._setting.outputs
        return pieces(
            [
                (index * outputs.nbytes + offset, self._output(index, number), elements.nbytes, 0)
                for index in range(self._calls)
                for number, (offset, elements) in enumerate(self._places)
                if elements.dense
            ]
        )

    @cached_property
    def _strided(self) -> Table:
        nbytes = self._setting.outputs.nbytes
        return _joined(
            [
                elements.row(
                    self._output(index, number), index * nbytes + offset, 0, 0, falling=False
                )
                for index in range(self._calls)
                for number, (offset, elements) in enumerate(self._places)
                if not elements.dense and elements.count
            ]
        )

    @cached_property
    def _digests(self) -> Table:
        rows, nbytes = list[tuple[int, int, int, int]](), self._setting.outputs.nbytes
        sizes = {s.name: s.nbytes for s in self._setting.inputs.pool.inputs.slots}
        for index in range(self._calls):
            for offset, elements in self._places:
                rows.append((index * nbytes + offset, elements.nbytes, offset // 4, index))
            addresses = self._setting.addresses[index]
            first = self._calls + index * len(self._watched)
            for result, name in enumerate(self._watched, first):
                rows.append((addresses[name], sizes[name], 0, result))
        return digested(rows)

    @cached_property
    def _guard_rows(self) -> Table:
        spans = [span for each in self._guards for span in each]
        return guarded([(start, nbytes, number) for number, (start, nbytes) in enumerate(spans)])

    @cached_property
    def _gap_rows(self) -> Table:
        count, elements = len(self._gapped), self._setting.outputs.elements
        return _joined(
            [
                elements[number].row(
                    self._output(index, number),
                    0,
                    self._poison,
                    index * count + place,
                    falling=True,
                )
                for index in range(self._calls)
                for place, number in enumerate(self._gapped)
            ]
        )

    @property
    def _places(self) -> list[tuple[int, Elements]]:
        outputs = self._setting.outputs
        return list(zip(outputs.offsets, outputs.elements, strict=True))

    def _output(self, index: int, number: int) -> int:
        output = self._setting.plan.outputs[number]
        return self._setting.addresses[index][output.buffer] + output.offset

    def findings(self, words: Words) -> list[Findings]:
        """What the words mean, run by run."""
        watched = len(self._watched)
        pairs: list[list[int]] = words[: self.guards_at].reshape(-1, 2).tolist()
        digests = [(a, b) for a, b in pairs]
        inputs = digests[self._calls :]
        overrun = bool(words[self.guards_at : self.gaps_at].any())
        return [
            Findings(
                output=digests[index],
                inputs=tuple(inputs[index * watched : (index + 1) * watched]),
                overrun=self._overrun(words, index) if overrun else "",
                gaps=self._touched(words, index),
            )
            for index in range(self._calls)
        ]

    def _overrun(self, words: Words, index: int) -> str:
        spans, shape = self._guards[index], self._setting.shape
        start = self.guards_at + 2 * index * len(spans)
        found = words[start : start + 2 * len(spans)].reshape(-1, 2)
        for number, (before_end, behind_last) in enumerate(found):
            if behind_last:
                nbytes = spans[number][1]
                first = nbytes - int(before_end)
                return shape.describe_overrun(number, first, int(behind_last), nbytes)
        return ""

    def _touched(self, words: Words, index: int) -> tuple[str, ...]:
        start = self.gaps_at + index * len(self._gapped)
        outputs = self._setting.plan.outputs
        return tuple(
            outputs[number].name
            for place, number in enumerate(self._gapped)
            if words[start + place]
        )


def _joined(rows: Sequence[Table]) -> Table:
    return np.concatenate(rows) if rows else np.zeros(0, dtype=STRIDED)
