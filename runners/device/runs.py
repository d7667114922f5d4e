"""How a sample is performed: alone on the device, from blank memory to blank memory.

1. The sets that it needs are made as new: one for each run, and one for none (the bystander).
2. What launches leave in a multiprocessor is overwritten, and caches are flushed.
3. Its code runs, while nothing lies on the device but its sets, inputs, and blank memory.
4. Once it has ended, tables come that say what to look at, and what was found is fetched.
5. Outputs that nobody knows yet are fetched, and all of it is blank again.

Sets of the sample that follows are made as new right behind 4., while the host reads what was
found; its code waits for the end of 5., and caches are flushed after that.

So tables and findings are never there together with code that could forge them, and no code finds
outputs of another, nor its own of an earlier sample. What is left to it is memory that the driver
keeps for itself: machine code and variables of other sides, parameters of our launches, events,
the stacks of threads, memory for `malloc` in kernels (limited to the least). And calls of one
sample find each other's sets: against that stand the bystander and `gates/repeats.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from . import driver
from .driver import Event, GraphExec, Stream
from .faults import DriverFault, OutOfDeviceMemory, RunFault, fault_of
from .keeping import Desk, Keeping, Laid, Spare
from .memory import make_blank, no_room
from .sample import How, Sample
from .side import Look
from .support import Support

SLACK_S = 2.0
"""for restoring and looking, beside the runs themselves"""
TIMED = frozenset[How](("timed", "hot"))
SPIN_S, NAP_S = 0.002, 0.0002

Take = Callable[[Sample], None]
"""What fetches outputs, while they are there."""


@dataclass(frozen=True)
class Marks:
    """Events of one sample: when restoring begins and ends, the device is made ready, runs begin
    and end, looking begins and ends."""

    began: Event = field(default_factory=driver.make_event)
    restored: Event = field(default_factory=driver.make_event)
    ready: Event = field(default_factory=driver.make_event)
    started: Event = field(default_factory=driver.make_event)
    ended: Event = field(default_factory=driver.make_event)
    looking: Event = field(default_factory=driver.make_event)
    looked: Event = field(default_factory=driver.make_event)


class Runs:
    """Performs samples, one after the other."""

    def __init__(self, support: Support, stream: Stream) -> None:
        self._support, self._stream = support, stream
        self._findings = driver.make_stream()
        """what is found travels here, and waits for nothing that is enqueued behind it"""
        self._marks, self._next_marks, self.stash = Marks(), Marks(), Spare()
        self.desk, self.restoring = Desk(stream), Desk(stream)
        self._ahead: Sample | None = None
        """the sample whose sets are as new before its turn"""
        self._lines_kept = True
        """code of others has run since lines of L2 were let go"""
        self.keeping = Keeping(support, stream, self.desk)
        self.keeping.add(self.stash)
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
        were let go meanwhile. So nothing is enqueued behind one until it has ended; sets of the
        `following` one are then made as new before anything is known of this one.

        Raises RunFault with the variant at fault.
        """
        sample.how = how
        try:
            self._perform(sample, timeout_s, take, following)
        except DriverFault as error:
            fault = fault_of(error, self._place(sample))
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
        if sample is self._ahead:
            self._ahead, self._marks, self._next_marks = None, self._next_marks, self._marks
        else:
            self._drop_ahead()
            self._restore(sample, self._marks)
        if sample.how in TIMED:
            self._let_lines_go()
        self._make_ready(sample)
        self._lines_kept = True
        self._run(sample)
        try:  # the device is at work: nothing waits for the host
            look = self._look_of(sample)
            if following is not None:
                following.prepare()
        finally:
            self._wait(sample, timeout_s)
        laid = self._look(sample, look, None if sample.lasting else following)
        if take is not None:
            take(sample)
        self._blank(laid)

    def _restore(self, sample: Sample, marks: Marks) -> None:
        driver.record(marks.began, self._stream)
        self._support.move(*self.restoring.lay(*sample.prepare()).places["restore"])
        self.restoring.clear()
        driver.record(marks.restored, self._stream)

    def _restore_ahead(self, following: Sample) -> None:
        self._restore(following, self._next_marks)
        self._ahead = following

    def _drop_ahead(self) -> None:
        """Leave nothing of what was made as new for a sample that does not come next."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.side.setting.valid:
            spans = ahead.side.setting.spans
            make_blank([span for index in ahead.used for span in spans[index]], self._stream)

    def _let_lines_go(self) -> None:
        """What earlier code asked to keep in L2, before caches are flushed."""
        if self._lines_kept:
            driver.reset_persisting_l2()
            self._lines_kept = False

    def _make_ready(self, sample: Sample) -> None:
        """All that comes before its code, once memory but its sets is blank."""
        support, side = self._support, sample.side
        driver.record(self._marks.ready, self._stream)
        if not sample.again:
            for index in sample.used:
                for step in side.bound[index].setup:
                    step.enqueue(self._stream)
        if sample.how != "hot":
            support.flush_cache()
        support.scrub()

    def _run(self, sample: Sample) -> None:
        if sample.how == "by_steps":
            self._run_by_steps(sample)
        else:
            given = sample.slots if sample.given else ()
            graph = sample.side.graph(sample.order, sample.turn, given)
            if sample.how != "timed":
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

    def _look(self, sample: Sample, look: Look, following: Sample | None) -> Laid:
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
        driver.wait_for(self._findings, marks.looked)
        if not sample.lasting:  # what is read of them now lies in stash and words
            support.move(*places["sets"])
        if following is not None:
            self._restore_ahead(following)
            if sample.how in TIMED:  # then it is timed as well
                self._let_lines_go()
        words = driver.fetch(self._findings, results, 8 * looking.words).view(np.uint64)
        sample.stash = self.stash.region.address
        digests = looking.digests(words)
        sample.found = looking.findings(words, digests)
        around = looking.around(words, digests)
        if around.stray:
            self._drop_ahead()
            self.keeping.renew()
            make_blank(sample.side.setting.unused(sample.used), self._stream)
            if not self.keeping.always(_unused(sample)):  # it may have been one before
                self.keeping.suspicious = True
                around = replace(around, stray=False)
        sample.judge(around, words_are_ours=support.words_are_ours())
        self._read_clocks(sample)
        return laid

    def _read_clocks(self, sample: Sample) -> None:
        marks = self._marks
        if sample.how in TIMED:
            sample.elapsed_ms = driver.elapsed_ms(marks.started, marks.ended)
        spans = (
            (marks.began, marks.restored),
            (marks.ready, marks.ended),
            (marks.looking, marks.looked),
        )
        sample.busy_ms = sum(driver.elapsed_ms(start, end) for start, end in spans)
        self.busy_s += sample.busy_ms * 1e-3

    def _blank(self, laid: Laid) -> None:
        self._support.move(*laid.places["stash"])
        self.desk.clear()

    def _give_up(self, sample: Sample, fault: RunFault) -> None:
        """Leave a device that is still of use as blank as after a sample that ended well."""
        fault.variant = sample.side.variant
        self._ahead = None
        if not fault.lost:
            sample.side.setting.region.blank(0, self._stream)
            self.stash.renew(self._stream)
            self.desk.clear()
            self.restoring.clear()


def _unused(sample: Sample) -> int:
    """Bytes of the stage that it has nothing to do with."""
    setting = sample.side.setting
    return setting.region.nbytes - len(sample.used) * setting.shape.set_nbytes


def _stash_bytes(sample: Sample) -> int:
    return len(sample.slots) * sample.side.setting.outputs.nbytes
