"""Many evaluations: builds on all cores, what is built goes to the first device that is free.

A device takes the next one while what was found of the last one is written down.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")
Built = TypeVar("Built")
Result = TypeVar("Result")
Lane = TypeVar("Lane")
Left = Callable[[], None]
"""Called once a lane is needed no more and can take another item; whatever is left needs none."""
TAKERS = 2
"""threads of a lane: one is measuring, the other finishes what it measured and waits"""


@dataclass(frozen=True)
class Stages(Generic[Item, Built, Result, Lane]):
    """What is done to an item: built by any of `builders` threads, then measured on a lane."""

    build: Callable[[Item], Built]
    measure: Callable[[Built, Lane, Left], Result]
    """an item holds its lane until it has a result, or has left it"""
    lanes: Sequence[Lane]
    builders: int

    @property
    def ahead(self) -> int:
        """How many items are in hand at the same time: as many built ones may wait as there are
        builders, so that none of those stands still while a lane measures."""
        return 2 * self.builders + len(self.lanes)


@dataclass
class _Flow(Generic[Built, Result]):
    """What the threads of one run share."""

    built: queue.SimpleQueue[Built | None] = field(default_factory=queue.SimpleQueue[Built | None])
    """None: nothing more comes"""
    results: queue.SimpleQueue[Result | BaseException] = field(
        default_factory=queue.SimpleQueue[Result | BaseException]
    )
    stopped: threading.Event = field(default_factory=threading.Event)


def run_through(
    items: Iterable[Item], stages: Stages[Item, Built, Result, Lane]
) -> Generator[Result]:
    """The results, in the order in which they come; what a stage raises is raised here.

    Items are taken as there is room for them. Ending the generator early waits for what is being
    measured and drops the rest.
    """
    flow = _Flow[Built, Result]()
    takers = [taker for lane in stages.lanes for taker in _start(flow, stages, lane)]
    try:
        with _Builders(flow, stages) as builders:
            yield from _fed(iter(items), builders.submit, flow, stages.ahead)
    finally:
        flow.stopped.set()
        for _ in takers:
            flow.built.put(None)
        for taker in takers:
            taker.join()


def _fed(
    items: Iterator[Item],
    submit: Callable[[Item], None],
    flow: _Flow[Built, Result],
    ahead: int,
) -> Generator[Result]:
    in_hand, more = 0, True
    while True:
        while more and in_hand < ahead:
            try:
                submit(next(items))
                in_hand += 1
            except StopIteration:
                more = False
        if in_hand == 0:
            return
        result = flow.results.get()
        in_hand -= 1
        if isinstance(result, BaseException):
            raise result
        yield result


class _Builders(Generic[Item, Built, Result, Lane]):
    """The threads that build; leaving the context drops what they have not begun."""

    def __init__(
        self, flow: _Flow[Built, Result], stages: Stages[Item, Built, Result, Lane]
    ) -> None:
        self._flow, self._stages = flow, stages
        self._pool = ThreadPoolExecutor(stages.builders, thread_name_prefix="builds")

    def submit(self, item: Item) -> None:
        """Have an item built."""
        building = self._pool.submit(copy_context().run, self._stages.build, item)
        building.add_done_callback(self._built)

    def __enter__(self) -> _Builders[Item, Built, Result, Lane]:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _built(self, future: Future[Built]) -> None:
        if future.cancelled():
            return
        error = future.exception()
        if error is None:
            self._flow.built.put(future.result())
        else:
            self._flow.results.put(error)


def _start(
    flow: _Flow[Built, Result], stages: Stages[Item, Built, Result, Lane], lane: Lane
) -> list[threading.Thread]:
    """The threads of a lane; as in those that build, whoever hears of progress here hears of it
    there, too."""
    free = threading.Lock()

    def take() -> bool:
        with ExitStack() as place:
            place.enter_context(free)
            built = flow.built.get()
            if built is None or flow.stopped.is_set():
                return False
            try:
                flow.results.put(stages.measure(built, lane, place.close))
            except BaseException as error:
                flow.results.put(error)
            return True

    def work() -> None:
        while take():
            pass

    threads = [
        threading.Thread(target=copy_context().run, args=(work,), name="lane", daemon=True)
        for _ in range(TAKERS)
    ]
    for thread in threads:
        thread.start()
    return threads
