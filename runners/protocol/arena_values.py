"""Values laid into an arena before a run, and what the run left there.

The same for every runner whose variants work in shared memory of the host.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..specs.contract import BoundArgument, BoundContract
from .layout import Record, Slot, record
from .messages import Pool, RunResult
from .outputs import OutputKey, OutputSink
from .patterns import Bytes, holds, put, repeated, same_bytes
from .shared_arena import SharedArena

Gaps = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class InputPool:
    """The inputs of every seed of one workload: `slots` records of `inputs.nbytes`."""

    contract: BoundContract
    inputs: Record
    outputs: Record
    slots: int
    values: Bytes
    gaps: Mapping[str, Gaps]
    """of arrays that are both input and output: nobody but the caller owns what lies there"""
    allowed: tuple[str, ...] = ()
    """what the contract allows of all that screens block, by name"""

    @classmethod
    def of(cls, message: Pool, fd: int) -> InputPool:
        """The pool of a message, with the values that lie in `fd`."""
        contract = message.bound()
        inputs = record(contract.inputs)
        mapped = mmap.mmap(fd, inputs.nbytes * message.slots, prot=mmap.PROT_READ)
        values = np.frombuffer(mapped, dtype=np.uint8)
        in_place = [a for a in contract.outputs if a.argument.role == "inout"]
        gaps = {a.name: found for a in in_place if (found := _gaps(a)).any()}
        allowed = tuple(each.name for each in message.contract.allow)
        return cls(contract, inputs, record(contract.outputs), message.slots, values, gaps, allowed)

    @cached_property
    def places(self) -> Mapping[str, Slot]:
        """Where each input lies in a record, by name."""
        return {place.name: place for place in self.inputs.slots}

    @cached_property
    def written(self) -> frozenset[str]:
        """Names of arrays without a value on entry."""
        return frozenset(a.name for a in self.contract.arrays if a.argument.role == "output")

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """Names of arrays that nobody may change."""
        return tuple(a.name for a in self.contract.inputs if a.argument.role == "input")

    @cached_property
    def between(self) -> Mapping[str, Gaps]:
        """Gaps of all outputs that have some, by name."""
        return {a.name: found for a in self.contract.outputs if (found := _gaps(a)).any()}

    def value(self, slot: int, name: str) -> Bytes:
        """The bytes of one input of one seed."""
        place = self.places[name]
        start = slot * self.inputs.nbytes + place.offset
        return self.values[start : start + place.nbytes]

    def started(self, slot: int, name: str, poison: int) -> Bytes:
        """As `value`, with the poison in gaps."""
        value, gaps = self.value(slot, name), self.gaps.get(name)
        if gaps is not None:
            value = value.copy()
            poisoned = repeated(poison, value.size)
            value.reshape(gaps.size, -1)[gaps] = poisoned.reshape(gaps.size, -1)[gaps]
        return value


def fill(shared: SharedArena, pool: InputPool, index: int, slot: int, poison: int) -> None:
    """Fresh values for one set: inputs from the pool, outputs poisoned."""
    base = shared.layout.span(index)[0]
    for place in shared.layout.slots:
        start = base + place.offset
        target = shared.memory[start : start + place.nbytes]
        if place.name in pool.written:
            put(target, poison)
        else:
            target[:] = pool.started(slot, place.name, poison)


def collect(
    shared: SharedArena, pool: InputPool, index: int, key: OutputKey, poison: int, sink: OutputSink
) -> RunResult:
    """What a run left behind: guards, inputs, gaps between strides, outputs."""
    memory, base = shared.memory, shared.layout.span(index)[0]
    places = {s.name: s for s in shared.layout.slots}

    def array(name: str) -> Bytes:
        start = base + places[name].offset
        return memory[start : start + places[name].nbytes]

    changed = [n for n in pool.kept if not same_bytes(array(n), pool.value(key.slot, n))]
    between = pool.between.items()
    gaps = [name for name, each in between if not _untouched(each, array(name), poison)]
    parts = [array(a.name) for a in pool.contract.outputs]
    digest, stored = sink.add(key, parts)
    overrun = _overrun(shared, index)
    if overrun:
        shared.restore(index)  # the arena serves others, too
    return RunResult(
        slot=key.slot,
        poison=poison,
        overrun=overrun,
        changed_inputs=tuple(changed),
        touched_gaps=tuple(gaps),
        digest=digest,
        stored=stored,
    )


def touched(shared: SharedArena, pool: InputPool, index: int, slot: int, poison: int) -> str:
    """What was written in a set that was filled and not called, in words; empty: nothing."""
    base = shared.layout.span(index)[0]
    for place in shared.layout.slots:
        start = base + place.offset
        found = shared.memory[start : start + place.nbytes]
        if place.name in pool.written:
            same = holds(found, poison)
        else:
            same = same_bytes(found, pool.started(slot, place.name, poison))
        if not same:
            return f"`{place.name}` of a call that was not made"
    overrun = _overrun(shared, index)
    if overrun:
        shared.restore(index)
    return overrun


def _overrun(shared: SharedArena, index: int) -> str:
    """Where a guard band was written, in words; empty when none was."""
    names = [s.name for s in shared.layout.slots]
    for number, behind, before in shared.damaged(index):
        if number == len(names) or (number > 0 and behind < before):
            return f"byte {behind + 1} behind the end of `{names[number - 1]}`"
        return f"byte {before} before the start of `{names[number]}`"
    return ""


def _untouched(gaps: Gaps, data: Bytes, poison: int) -> bool:
    """Whether the bytes between strided elements still hold the poison."""
    poisoned = repeated(poison, data.size).reshape(gaps.size, -1)
    return bool((data.reshape(gaps.size, -1)[gaps] == poisoned[gaps]).all())


def _gaps(bound: BoundArgument) -> Gaps:
    """Which elements from the first to the last are none of the array's."""
    mask = np.ones(_span(bound), dtype=bool)
    np.lib.stride_tricks.as_strided(mask, bound.shape, bound.strides)[...] = False
    return mask


def _span(bound: BoundArgument) -> int:
    """Elements from the first to the last."""
    if 0 in bound.shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(bound.shape, bound.strides, strict=True))
