"""The stage: one GPU with its memory, on which variants take turns.

All sides of a comparison run in the same memory, one after the other, so that nobody has an
advantage from where buffers lie.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence

from ..plan import LaunchPlan
from . import driver
from .driver import Stream
from .faults import DriverFault, OutOfDeviceMemory, RunFault, fault_of
from .looking import Findings
from .memory import STAGE_SHARE, STASH_SHARE, DeviceInputs, Region, no_room
from .sample import How, Sample, fetch_findings, place_tables
from .setting import Setting, Shape
from .side import Side
from .support import Support

SLACK_S = 2.0
"""for restoring and looking, beside the runs themselves"""
SPIN_S, NAP_S = 0.002, 0.0002
WARM_S, IDLE_S = 0.05, 0.25
"""GPU work until clocks are up, and the pause after which they may have fallen"""
HEAP_BYTES = PRINTF_BYTES = 1 << 16
"""For malloc in kernels, whose memory is state that outlives a launch, and for what they print,
which nobody reads: as little as the driver grants."""


class Stage:
    """Owns the context, the stream and all device memory but what a side brings along."""

    def __init__(self) -> None:
        driver.make_current()
        driver.limit(driver.LIMIT_HEAP, HEAP_BYTES)
        driver.limit(driver.LIMIT_PRINTF, PRINTF_BYTES)
        driver.limit(driver.LIMIT_PERSISTING_L2, 0)
        self.stream = driver.make_stream()
        keys = (secrets.randbits(64), secrets.randbits(64))
        self.support = Support(self.stream, keys)
        self._sets, self._tables, self._stash = Region(), Region(), Region()
        self._sides: dict[tuple[str, int], Side] = {}
        self._inputs: list[DeviceInputs] = []
        self._busy = 0.0

    @property
    def tools(self) -> tuple[Support, Stream]:
        """Our kernels and the stream that they run on."""
        return self.support, self.stream

    def admit(self, inputs: DeviceInputs) -> None:
        """Inputs that may have to give way to others."""
        self._inputs.append(inputs)

    def dismiss(self, inputs: DeviceInputs) -> None:
        """Inputs that nobody will ask for again."""
        self.drop(pool=inputs)
        self._inputs.remove(inputs)
        inputs.release()

    def drop(self, variant: str | None = None, pool: DeviceInputs | None = None) -> None:
        """Forget sides: of a variant, on a pool, or all."""
        for key, side in list(self._sides.items()):
            if variant in (None, side.variant) and pool in (None, side.setting.inputs):
                self._sides.pop(key).close()

    def sets_for(self, plans: Sequence[LaunchPlan], inputs: DeviceInputs, wanted: int) -> int:
        """How many sets there is room for, up to those wanted. Raises RunFault for not even one."""
        shapes = [Shape.of(p, inputs.pool.contract, 1, barely_aligned=False) for p in plans]
        room = driver.free_memory() + self._sets.nbytes
        each = max(shape.nbytes for shape in shapes)
        return max(1, min(wanted, int(STAGE_SHARE * room) // each))

    def reserve_for(self, plans: Sequence[LaunchPlan], inputs: DeviceInputs, sets: int) -> None:
        """Room for the largest of them, before any is bound. Raises RunFault."""
        shapes = [Shape.of(p, inputs.pool.contract, sets, barely_aligned=False) for p in plans]
        self.reserve(max(shape.nbytes for shape in shapes), inputs)

    def side(
        self,
        variant: str,
        files: Mapping[str, str],
        plan: LaunchPlan,
        inputs: DeviceInputs,
        sets: int,
    ) -> Side:
        """A variant bound to at least so many sets, from an earlier block where there is one."""
        key = (variant, id(inputs))
        known = self._sides.get(key)
        if known is not None:
            same = known.setting.stage == self._sets.address
            if same and known.setting.sets == sets:
                return known
            self._sides.pop(key).close()
        made = self.fresh_side(variant, files, plan, inputs, sets)
        self._sides[key] = made
        return made

    def bound_sets(self, variants: Sequence[str], inputs: DeviceInputs) -> int:
        """The sets that some of these variants are bound to already."""
        sides = [
            s for s in self._sides.values() if s.variant in variants and s.setting.inputs is inputs
        ]
        return max((s.setting.sets for s in sides), default=0)

    def fresh_side(
        self,
        variant: str,
        files: Mapping[str, str],
        plan: LaunchPlan,
        inputs: DeviceInputs,
        sets: int,
        *,
        barely_aligned: bool = False,
    ) -> Side:
        """A variant with its machine code newly loaded; the caller closes it. Raises RunFault."""
        shape = Shape.of(plan, inputs.pool.contract, sets, barely_aligned=barely_aligned)
        self.reserve(shape.nbytes, inputs)
        try:
            setting = Setting(plan, inputs, shape, self._sets.address)
            return Side(variant, files, setting, self.stream)
        except OutOfDeviceMemory as error:
            raise no_room("its machine code", 0) from error
        except DriverFault as error:
            raise fault_of(error) from error

    def reserve(self, nbytes: int, inputs: DeviceInputs) -> None:
        """Room for sets, and the inputs on the device. Raises RunFault when there is none."""
        try:
            self._reserve(nbytes, inputs)
        except OutOfDeviceMemory:
            self._make_room(inputs)
            try:
                self._reserve(nbytes, inputs)
            except OutOfDeviceMemory as error:
                needed = nbytes + inputs.pool.inputs.nbytes * inputs.pool.slots
                raise no_room("all it needs", needed) from error

    def _reserve(self, nbytes: int, inputs: DeviceInputs) -> None:
        if nbytes > self._sets.nbytes:
            driver.synchronize()
            self.drop()
            self._sets.reserve(nbytes)
        inputs.upload(*self.tools)

    def _make_room(self, wanted: DeviceInputs) -> None:
        driver.synchronize()
        self.drop()
        for region in (self._sets, self._tables, self._stash):
            region.release()
        for inputs in self._inputs:
            if inputs is not wanted:
                inputs.release()

    def stash(self, total: int, least: int) -> tuple[int, int]:
        """Address and size of room for outputs: all of them, or a share. Raises RunFault."""
        room = driver.free_memory() + self._stash.nbytes
        nbytes = max(least, min(total, int(STASH_SHARE * room)))
        try:
            self._stash.reserve(nbytes)
        except OutOfDeviceMemory as error:
            raise no_room("a copy of its outputs", least) from error
        return self._stash.address, self._stash.nbytes

    def run_once(
        self, side: Side, slot: int, poison: int, timeout_s: float, *, again: bool = False
    ) -> tuple[Sample, Findings]:
        """One checked run on the first set; see `Sample.again`. Raises RunFault."""
        stash, _ = self.stash(side.setting.outputs.nbytes, side.setting.outputs.nbytes)
        sample = Sample(side, (slot,), poison, stash, again=again)
        ((found,),) = self.run([sample], timeout_s, "by_steps")
        return sample, found

    def run(self, batch: Sequence[Sample], timeout_s: float, how: How) -> list[list[Findings]]:
        """All samples of a batch, one after the other, and what each run left behind.

        Raises RunFault with the variant at fault.
        """
        try:
            place_tables(batch, self._tables, self.stream)
        except OutOfDeviceMemory as error:
            raise no_room("its tables", 0) from error
        for sample in batch:
            try:
                self._run(sample, timeout_s, how)
            except RunFault as fault:
                fault.variant = sample.side.variant
                if not fault.lost:
                    sample.give_back()
                raise
        self._busy = time.monotonic()
        return fetch_findings(batch)

    def _run(self, sample: Sample, timeout_s: float, how: How) -> None:
        """One sample, alone on the device: with a second one queued behind it, a kernel of
        14.2 us took up to 15.6 (a graph waits for its own last launch), and 16.3 where lines of
        L2 were let go meanwhile."""
        try:
            if how == "timed":
                driver.reset_persisting_l2()
            sample.enqueue(self.support, self.stream, how)
            self._wait(sample, timeout_s)
            sample.finish()
        except DriverFault as error:
            raise fault_of(error, self._place(sample)) from error

    def _wait(self, sample: Sample, timeout_s: float) -> None:
        since, limit = time.monotonic(), timeout_s * sample.calls + SLACK_S
        while sample.done is not None and not driver.is_done(sample.done):
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
        done = min(self.support.marked, len(steps) - 1)
        return f" ({steps[done].words})"

    def warm_up(self, samples: Sequence[Sample], timeout_s: float) -> None:
        """Run what is new once, and, after a pause, all in turn until clocks are up.

        `samples`: one of each side, of a seed that no timed sample has. Raises RunFault.
        """
        idle = time.monotonic() - self._busy > IDLE_S
        for sample in samples:
            if not sample.side.has_graph(sample.calls, sample.turn):
                self.run([sample], timeout_s, "warming")
        started = time.monotonic()
        while idle and time.monotonic() - started < WARM_S:
            self.run(samples, timeout_s, "warming")
