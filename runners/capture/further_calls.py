"""Whether later calls of a wrapper launch what its first one did: a plan holds one call.

What a wrapper keeps between calls is in no plan. Scratch memory may be kept; where it was cleared
once it is part of the plan's setup, which is not repeated, so that runs show whether each call
leaves it as it was. What is launched, with which numbers, what is cleared of an output, and that
each call returns memory of its own may not depend on the call before.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..errors import SpecError
from ..plans.plan import Fill, Launch, PlanBuffer
from ..specs.contract import BoundContract
from .calling import Call, result_tensors
from .device_tensors import DeviceTensors
from .lent_memory import check_lent
from .recorder import Place, Recorder

FURTHER = (2, 4)
"""calls after the first, at least and at most: how many is drawn, so that nobody knows from which
one on he is not looked at; what shows later still is not seen"""
ADVICE = (
    "launch the same in every call; what a call keeps (a result, what it prepared from its inputs) "
    "is no part of a plan, and wrong once its caller changes them"
)


@dataclass(frozen=True)
class Trace:
    """One call: its launches and fills with buffers under names that do not depend on the call, and
    where its results lie."""

    launches: tuple[Mapping[str, Any], ...]
    words: tuple[str, ...]
    """of each launch, for people"""
    fills: Counter[tuple[str, str]]
    """name of the buffer, and what is written where"""
    results: Mapping[str, tuple[str, int]]
    places: Mapping[str, Place]
    buffers: Mapping[str, str]
    """the names of this call's buffers, by those that do not depend on it"""

    def kept(self, later: Trace) -> frozenset[tuple[str, str]]:
        """Buffers that this first call fills and a later one does not, with what is written."""
        return frozenset((self.buffers[name], what) for name, what in self.fills - later.fills)


def trace(recorder: Recorder, tensors: DeviceTensors, results: Mapping[str, Any]) -> Trace:
    """Of the steps that are recorded now."""
    named = _Names({buffer.name: buffer for buffer in recorder.buffers})
    launches = [step for step in recorder.steps if isinstance(step, Launch)]
    told = tuple(named.replaced(step.model_dump(mode="json")) for step in launches)
    places = {name: tensors.place(tensor) for name, tensor in results.items()}
    found = {name: (named(place.buffer.name), place.offset) for name, place in places.items()}
    fills = Counter(
        (named(step.fill), written(step))
        for step in recorder.steps
        if isinstance(step, Fill) and named.knows(step.fill)
    )
    words = tuple(f"`{step.launch}` on {step.grid}" for step in launches)
    return Trace(told, words, fills, found, places, named.known)


def written(fill: Fill) -> str:
    """What a fill writes where, in its buffer."""
    return f"{fill.offset} {fill.nbytes} {fill.pattern}"


class _Names:
    """Names of buffers by what they are and, for scratch, when a call first used them."""

    def __init__(self, buffers: Mapping[str, PlanBuffer]) -> None:
        self._buffers, self._known = buffers, dict[str, str]()

    @property
    def known(self) -> dict[str, str]:
        """The names of the call's own buffers, by these names."""
        return {told: name for name, told in self._known.items()}

    def knows(self, name: str) -> bool:
        """Whether a launch or a result names it: a fill alone needs no buffer."""
        return name in self._known

    def __call__(self, name: str) -> str:
        if name not in self._known:
            buffer = self._buffers[name]
            own = {"argument": name, "const": buffer.sha256 or name}
            scratch = f"{buffer.role} {len(self._known)} of {buffer.nbytes} bytes"
            self._known[name] = own.get(buffer.role, scratch)
        return self._known[name]

    def replaced(self, value: Any) -> Any:
        """A step with them."""
        if isinstance(value, dict):
            pairs = cast(dict[str, Any], value).items()
            return {k: self(v) if k == "buffer" and v else self.replaced(v) for k, v in pairs}
        if isinstance(value, list):
            return [self.replaced(each) for each in cast(list[Any], value)]
        return value


def check_further_calls(
    call: Call,
    run: Callable[[], Any],
    contract: BoundContract,
    recorder: Recorder,
    tensors: DeviceTensors,
    first: Trace,
) -> frozenset[tuple[str, str]]:
    """Call it again, on the same arguments; the fills (buffer and `written`) that only the first
    call makes. Raises SpecError where it does something else.

    `run` calls it, with numbers drawn as for the first call: what draws them is for two captures to
    tell. The plan has to be assembled before: steps of these calls take the place of the first's.
    """
    seen = [first]
    check_lent(recorder, _where_results_lie(seen))
    least, most = FURTHER
    for number in range(2, 2 + least + secrets.randbelow(most - least + 1)):
        recorder.steps = []
        results = result_tensors(call, contract, run())
        other = trace(recorder, tensors, results)
        for earlier in (first, *seen[1:]):
            if why := difference(earlier, other):
                raise SpecError(
                    f"call {number} of `{call.name}` is another than its first one: {why}",
                    next_step=ADVICE,
                )
        seen.append(other)
        check_lent(recorder, _where_results_lie(seen))
    return first.kept(seen[1])


def _where_results_lie(calls: Sequence[Trace]) -> frozenset[str]:
    return frozenset(place.buffer.name for call in calls for place in call.places.values())


def difference(first: Trace, other: Trace) -> str:
    """Where a later call differs from an earlier one, in words; empty: nowhere that matters."""
    if first.launches != other.launches:
        return _launches(first, other)
    if first.results != other.results:
        return f"its results lie in {dict(other.results)}, not in {dict(first.results)}"
    outputs = {name for name, _ in first.results.values()}
    missing = {name for name, _ in first.fills - other.fills} & outputs
    if missing or other.fills - first.fills:
        return "it fills other memory before it launches"
    for name, place in other.places.items():
        if place.buffer.role != "argument" and first.places[name] == place:
            return f"it returns the memory of `{name}` that its caller still has from the first"
    return ""


def _launches(first: Trace, other: Trace) -> str:
    counts = len(first.launches), len(other.launches)
    if counts[0] != counts[1]:
        return f"it has {counts[1]} launches, not {counts[0]}"
    number = next(n for n in range(counts[0]) if first.launches[n] != other.launches[n])
    if first.words[number] != other.words[number]:
        return f"launch {number + 1} is {other.words[number]}, not {first.words[number]}"
    pairs = zip(first.launches[number]["params"], other.launches[number]["params"], strict=False)
    unequal = (one["arg"] for one, another in pairs if one != another)
    return f"argument `{next(unequal, '')}` of launch {number + 1} is another"
