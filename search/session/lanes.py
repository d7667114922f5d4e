"""Evaluations of a search that are under way, one on each device that serves its kernel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial

from ...runners.errors import SpecError
from ...runners.model import Ending, Evaluation
from ...runners.specs.devices import DeviceFacts
from ..engine.work import Evaluate, Outcome
from ..graph.nodes import Node


@dataclass(frozen=True)
class Several:
    """What the tuning of a candidate's knobs cost, beside its best configuration."""

    builds: int
    said: str
    """how many were tried, and how they ended"""
    seconds: Mapping[str, float]
    """spent on all, by stage"""


@dataclass(frozen=True)
class Tried:
    """A candidate's variant with its evaluation. `known`: it was on disk before. `several`: it is
    the best of several configurations. `promoted`: it was reconsidered, and is the incumbent."""

    variant_id: str
    evaluation: Evaluation
    known: bool
    several: Several | None = None
    promoted: bool = False

    @property
    def builds(self) -> int:
        """What it cost."""
        if self.several is not None:
            return self.several.builds
        return int(not self.known and self.evaluation.ending is not Ending.rejected)

    @property
    def seconds(self) -> Mapping[str, float]:
        """What was spent on it, by stage."""
        return self.evaluation.seconds if self.several is None else self.several.seconds

    def outcome(self, node: Node | None) -> Outcome:
        """The engine's view of it. `node`: the variant's in the search's graph, if it has one."""
        evaluation, several = self.evaluation, self.several
        # beside it another candidate may have given the same variant: it was evaluated once
        fresh = not self.known and (node is None or not node.ending.final)
        builds = self.builds if fresh or several else 0
        return Outcome(
            ending=evaluation.ending,
            variant_id=self.variant_id,
            speedup=evaluation.speedup,
            interval=evaluation.interval,
            became_incumbent=self.promoted
            or (evaluation.became_incumbent and (fresh or node is None)),
            duplicate_of_known=node is not None and not fresh and not builds,
            message=f"{several.said}: {evaluation.message}" if several else evaluation.message,
            same_code_as=evaluation.same_code_as,
            builds=builds,
        )


Result = Tried | SpecError
"""SpecError: the candidate gave no variant"""


@dataclass(frozen=True)
class _UnderWay:
    work: Evaluate
    lane: DeviceFacts | None
    result: Callable[[], Result]


class Lanes:
    """First begun, first told. With one lane nothing runs before it is asked for, in the thread
    that asks; with several, each runs in a thread of its own."""

    def __init__(self, lanes: Sequence[DeviceFacts | None]) -> None:
        self._free = deque(lanes)
        self._under_way: deque[_UnderWay] = deque()
        self._threads = None if len(lanes) == 1 else ThreadPoolExecutor(len(lanes), "lane")

    def free(self, most: int) -> bool:
        """Whether another evaluation may begin, of `most` at the same time."""
        return bool(self._free) and len(self._under_way) < most

    def begin(self, work: Evaluate, evaluate: Callable[[DeviceFacts | None], Result]) -> None:
        """Evaluate on a free lane."""
        lane = self._free.popleft()
        if self._threads is None:
            result = partial(evaluate, lane)
        else:
            result = self._threads.submit(copy_context().run, evaluate, lane).result
        self._under_way.append(_UnderWay(work, lane, result))

    def first(self) -> tuple[Evaluate, Result] | None:
        """What began first, with its result; waits for it. None: nothing is under way."""
        if not self._under_way:
            return None
        found = self._under_way.popleft()
        self._free.append(found.lane)
        return found.work, found.result()

    def close(self) -> None:
        """Wait for all that is under way."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
