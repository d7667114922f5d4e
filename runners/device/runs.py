"""How a sample is performed: alone on the device, from blank memory to blank memory.

1. The sets that it needs are made as new: one for each run, and one for none (the bystander).
2. What launches leave in a multiprocessor and in local memory is overwritten, and caches are
   flushed.
3. Its code runs, while nothing lies on the device but its sets, inputs, and blank memory.
4. Once it has ended, tables come that say what to look at, and what was found is fetched.
5. Outputs that nobody knows yet are fetched, and all of it is blank again.

So tables and findings are never there together with code that could forge them, and no code finds
outputs of another, nor its own of an earlier sample. What is left to it is memory that the driver
keeps for itself: machine code and variables of other sides, parameters of our launches, events,
memory for `malloc` in kernels (limited to the least). And calls of one
sample find each other's sets: against that stand the bystander and `gates/repeats.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from .cuda_driver import driver
from .cuda_driver.driver import Event, GraphExec, Stream
from .cuda_driver.faults import (
    ILLEGAL_ADDRESS,
    DriverFault,
    OutOfDeviceMemory,
    RunFault,
    fault_of,
)
from .keeping import Desk, Early, Keeping, Laid, Spare
from .memory import no_room
from .sample import How, Sample
from .side import Look
from .support import Support
from .tables import BLANK

SLACK_S = 2.0
"""for restoring and looking, beside the runs themselves"""
SPIN_S, NAP_S = 0.002, 0.0002

Take = Callable[[Sample], None]
"""What fetches outputs, while they are there."""


@dataclass(frozen=True)
class Marks:
    """Events: when restoring begins, runs begin and end, looking begins and ends."""

    began: Event = field(default_factory=driver.make_event)
    started: Event = field(default_factory=driver.make_event)
    ended: Event = field(default_factory=driver.make_event)
    looking: Event = field(default_factory=driver.make_event)
    looked: Event = field(default_factory=driver.make_event)


class Runs:
    """Performs samples, one after the other."""

    def __init__(self, support: Support, stream: Stream) -> None:
        self._support, self._stream = support, stream
        self._marks, self.stash = Marks(), Spare()
        self.desk = Desk(stream)
        self.keeping = Keeping(support, stream, self.desk)
        self.early = Early()
        self.keeping.add(self.stash)
        self.keeping.add(self.early)
        self.busy_s = 0.0
        """seconds that the device has worked for samples"""
        self.last = 0.0
        """when the last one ended (monotonic)"""

    def reserve(self, nbytes: int) -> None:
        """Room for the outputs of a sample. Raises RunFault."""
        try:
            self.stash.region.reserve(nbytes, self._stream)
        except OutOfDeviceMemory as error:
            raise no_room("a copy of its outputs", nbytes) from error

    def perform(
        self,
        sample: Sample,
        timeout_s: float,
        how: How,
        take: Take | None = None,
        following: Sample | None = None,
    ) -> Sample:
        """One sample, with what it left behind. With a second one queued behind it, a kernel of
        14.2 us took up to 15.6 (a graph waits for its own last launch), and 16.3 where lines of L2
        were let go meanwhile. What the host alone needs for the `following` one is made while this
        one runs.

        Raises RunFault with the variant at fault.
        """
        sample.how = how
        try:
            self._perform(sample, timeout_s, take, following)
        except DriverFault as error:
            fault = fault_of(error, self._place(sample))
            if error.name == ILLEGAL_ADDRESS:
                fault.detail += sample.side.setting.shape.words
            if isinstance(error, OutOfDeviceMemory):
                fault = no_room("its tables", 0)
            self._give_up(sample, fault)
            raise fault from error
        except RunFault as fault:
            self._give_up(sample, fault)
            raise
        self.last = time.monotonic()
        return sample

    def _perform(
        self, sample: Sample, timeout_s: float, take: Take | None, following: Sample | None
    ) -> None:
        self.reserve(_stash_bytes(sample))
        if sample.how == "early":
            self.early.reserve(sample.last_outputs(), self._stream)
        if sample.how in ("timed", "hot", "early"):
            driver.reset_persisting_l2()
        driver.record(self._marks.began, self._stream)
        self._restore(sample)
        self._run(sample)
        try:  # the device is at work: nothing waits for the host
            look = self._look_of(sample)
            if following is not None:
                following.prepare()
        finally:
            self._wait(sample, timeout_s)
        if sample.how == "early":
            sample.late = self.early.late(self._support, self._stream)
        laid = self._look(sample, look)
        if take is not None:
            take(sample)
        self._blank(laid)

    def _restore(self, sample: Sample) -> None:
        support, side = self._support, sample.side
        support.move(*self.desk.lay(*sample.prepare()).places["restore"])
        self.desk.clear()
        if not sample.again:
            for index in sample.used:
                for step in side.bound[index].setup:
                    step.enqueue(self._stream)
        if side.code.local_bytes:
            support.scrub_local(side.code.local_bytes)
        if sample.how != "hot":
            support.flush_cache()
        support.scrub()

    def _run(self, sample: Sample) -> None:
        if sample.how == "by_steps":
            self._run_by_steps(sample)
        else:
            given = sample.slots if sample.given else ()
            graph = sample.side.graph(sample.order, sample.turn, given)
            if sample.how not in ("timed", "early"):
                driver.launch_graph(graph, self._stream)
            if sample.how != "warming":
                self._run_timed(sample, graph)
                return
        driver.record(self._marks.ended, self._stream)

    def _run_timed(self, sample: Sample, graph: GraphExec) -> None:
        self._support.hold()
        try:
            driver.record(self._marks.started, self._stream)
            driver.launch_graph(graph, self._stream)
            driver.record(self._marks.ended, self._stream)
            if sample.how == "early":
                self.early.enqueue(self._stream)
        finally:
            sample.expired = self._support.release()

    def _run_by_steps(self, sample: Sample) -> None:
        (index,) = sample.order
        steps = sample.side.bound[index].steps
        self._support.mark(0)
        for number, step in enumerate(steps, 1):
            step.enqueue(self._stream)
            following = steps[number : number + 1]
            if not (following and following[0].overlaps):
                self._support.mark(number)

    def _wait(self, sample: Sample, timeout_s: float) -> None:
        since, limit = time.monotonic(), timeout_s * sample.calls + SLACK_S
        while not driver.is_done(self._marks.ended):
            waited = time.monotonic() - since
            if waited > limit:
                text = f"it did not end within {timeout_s:g} s{self._place(sample)}"
                raise RunFault("timed_out", text, lost=True)
            if waited > SPIN_S:
                time.sleep(NAP_S)

    def _place(self, sample: Sample) -> str:
        """Which step was under way."""
        steps = sample.side.bound[0].steps
        if sample.how != "by_steps":
            return " while it was timed"
        done = min(self._support.marked, len(steps) - 1)
        return f" ({steps[done].words})"

    def _look_of(self, sample: Sample) -> Look:
        keeping = self.keeping
        kept = keeping.kept if keeping.now(_unused(sample)) else None
        bystander = None if sample.bystander is None else sample.bystander[0]
        stash = (self.stash.region.address, _stash_bytes(sample))
        return sample.side.look(sample.sets, bystander, sample.poison, kept, stash)

    def _look(self, sample: Sample, look: Look) -> Laid:
        support, looking, marks = self._support, look.looking, self._marks
        driver.record(marks.looking, self._stream)
        laid = self.desk.lay(look.data, look.places, looking.words)
        places, results = laid.places, laid.results
        support.guards(*places["guards"], results + 8 * looking.guards_at)
        support.move(*places["dense"])
        support.gather(*places["strided"])
        support.digest(*places["digest"], results)
        support.gaps(*places["gaps"], results + 8 * looking.gaps_at)
        driver.record(marks.looked, self._stream)
        words = driver.fetch(self._stream, results, 8 * looking.words).view(np.uint64)
        if not sample.lasting:  # what is read of them now lies in stash and words
            support.move(*places["sets"])
        sample.stash = self.stash.region.address
        digests = looking.digests(words)
        sample.found = looking.findings(words, digests)
        around = looking.around(words, digests)
        if around.stray:
            self.keeping.renew()
            for start, nbytes in sample.side.setting.unused(sample.used):
                driver.Memset(start, 1, BLANK, nbytes, 1).enqueue(self._stream)
            if not self.keeping.always(_unused(sample)):  # it may have been one before
                self.keeping.suspicious = True
                around = replace(around, stray=False)
        sample.judge(around, words_are_ours=support.words_are_ours())
        self._read_clocks(sample)
        return laid

    def _read_clocks(self, sample: Sample) -> None:
        marks = self._marks
        if sample.how in ("timed", "hot"):
            sample.elapsed_ms = driver.elapsed_ms(marks.started, marks.ended)
        sample.busy_ms = driver.elapsed_ms(marks.began, marks.ended)
        sample.busy_ms += driver.elapsed_ms(marks.looking, marks.looked)
        self.busy_s += sample.busy_ms * 1e-3

    def _blank(self, laid: Laid) -> None:
        self._support.move(*laid.places["stash"])
        self.desk.clear()

    def _give_up(self, sample: Sample, fault: RunFault) -> None:
        """Leave a device that is still of use as blank as after a sample that ended well."""
        fault.variant = sample.side.variant
        if not fault.lost:
            sample.side.setting.region.blank(0, self._stream)
            self.stash.renew(self._stream)
            self.early.renew(self._stream)
            self.desk.clear()


def _unused(sample: Sample) -> int:
    """Bytes for sets that it has nothing to do with."""
    setting = sample.side.setting
    if setting.blank:
        return sum(nbytes for _, nbytes in setting.blank)
    return setting.region.nbytes - len(sample.used) * setting.shape.set_nbytes


def _stash_bytes(sample: Sample) -> int:
    return len(sample.slots) * sample.side.setting.outputs.nbytes
