"""Evaluations of a search that are under way, one on each device that serves its kernel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial

from ...runners.errors import SpecError
from ...runners.specs.devices import DeviceFacts
from ..engine.work import Evaluate
from .candidate_result import CandidateResult

Result = CandidateResult | SpecError
"""SpecError: the candidate gave no variant"""


@dataclass(frozen=True)
class _UnderWay:
    work: Evaluate
    lane: DeviceFacts | None
    result: Callable[[], Result]


class InFlight:
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
