"""The stage: one GPU with its memory, on which variants take turns.

All sides of a comparison run in the same memory, one after the other, so that nobody has an
advantage from where buffers lie.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from ..plans.plan import LaunchPlan
from ..protocol.messages import Placement
from .cuda_driver import driver
from .cuda_driver.faults import DriverFault, OutOfDeviceMemory, RunFault, fault_of
from .cuda_driver.mapping import can_map, granularity
from .memory import STAGE_SHARE, DeviceInputs, Kept, Region, no_room
from .runs import Runs
from .sample import Sample
from .setting import Setting, Shape
from .side import Side
from .support import Support
from .walled import WalledShape, Walls

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
        keys = (secrets.randbits(64), secrets.randbits(64), secrets.randbits(64))
        self.support = Support(self.stream, keys)
        self.runs = Runs(self.support, self.stream)
        self._sets = Region()
        self._sides: dict[tuple[str, int], Side] = {}
        self._inputs: list[DeviceInputs] = []
        self._orders: dict[tuple[int, int], tuple[int, ...]] = {}

    def admit(self, inputs: DeviceInputs) -> None:
        """Inputs that may have to give way to others."""
        self._inputs.append(inputs)
        self.runs.keeping.add(inputs)

    def dismiss(self, inputs: DeviceInputs) -> None:
        """Inputs that nobody will ask for again."""
        self.drop(pool=inputs)
        self.runs.keeping.remove(inputs)
        self._inputs.remove(inputs)
        inputs.release()

    def drop(self, variant: str | None = None, pool: DeviceInputs | None = None) -> None:
        """Forget sides: of a variant, on a pool, or all."""
        for key, side in list(self._sides.items()):
            if variant in (None, side.variant) and pool in (None, side.setting.inputs):
                self.close(self._sides.pop(key))

    def close(self, side: Side) -> None:
        """Give back what a side brought along."""
        self.runs.keeping.remove(side.images)
        side.close()
        if isinstance(side.setting.region, Walls):
            side.setting.region.release()

    def order(self, sets: int, turn: int) -> tuple[int, ...]:
        """All sets in the random order in which runs get them, the same for every side: the first
        that no run gets is the bystander. Another one after `reload`."""
        known = self._orders.get((sets, turn))
        if known is None:
            known = self._orders[sets, turn] = self.shuffled(sets)
        return known

    def shuffled(self, sets: int) -> tuple[int, ...]:
        """All sets in an order that nobody can foresee."""
        return tuple(secrets.SystemRandom().sample(range(sets), sets))

    def reload(self, inputs: DeviceInputs) -> None:
        """Machine code, graphs and orders are made anew when they are needed next: code of all
        sides goes before that of any comes, so that it comes to lie elsewhere."""
        driver.synchronize()
        for side in self._sides.values():
            if side.setting.inputs is inputs:
                side.retire()
        self._orders.clear()

    def sets_for(self, plans: Sequence[LaunchPlan], inputs: DeviceInputs, wanted: int) -> int:
        """How many sets there is room for, up to those wanted; 1 if there is not even that."""
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
            if known.setting.valid and known.setting.sets == sets:
                if known.retired:
                    self._renew(key, known)
                return known
            self.close(self._sides.pop(key))
        made = self.fresh_side(variant, files, plan, inputs, sets)
        self._sides[key] = made
        return made

    def _renew(self, key: tuple[str, int], side: Side) -> None:
        try:
            with _refusals():
                side.renew()
        except RunFault:
            self.close(self._sides.pop(key))
            raise

    def bound_sets(self, inputs: DeviceInputs) -> int:
        """The most sets that a side on these inputs is bound to: whom it is timed against."""
        sides = [s for s in self._sides.values() if s.setting.inputs is inputs]
        return max((s.setting.sets for s in sides if s.setting.valid), default=0)

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
        """A variant with its machine code newly loaded; `close` it. Raises RunFault."""
        shape = Shape.of(plan, inputs.pool.contract, sets, barely_aligned=barely_aligned)
        self.reserve(shape.nbytes, inputs)
        setting = Setting(plan, inputs, shape, self._sets, self._sets.stamp)
        with _refusals():
            made = Side(variant, files, setting, self.support, self.stream)
        self.runs.keeping.add(made.images)
        return made

    def walled_side(
        self,
        variant: str,
        files: Mapping[str, str],
        plan: LaunchPlan,
        inputs: DeviceInputs,
        placement: Placement,
    ) -> Side:
        """A variant with its machine code newly loaded, on one set between walls; `close` it.
        Raises RunFault, of the kind `unplaced` where there is no such memory here."""
        if not can_map():
            text = "this GPU or its driver maps no memory at places that one chooses"
            raise RunFault("unplaced", text, lost=False)
        self.reserve(0, inputs)
        shape = WalledShape.of(plan, placement, granularity())
        try:
            walls = Walls(shape)
        except OutOfDeviceMemory as error:
            why = no_room("a set by itself", shape.set_nbytes).detail
            raise RunFault("unplaced", why, lost=False) from error
        setting = Setting(plan, inputs, shape, walls, walls.stamp, self._sets.beside(0))
        try:
            with _refusals():
                made = Side(variant, files, setting, self.support, self.stream)
        except RunFault:
            walls.release()
            raise
        self.runs.keeping.add(made.images)
        return made

    def reserve(self, nbytes: int, inputs: DeviceInputs) -> None:
        """Room for sets, and the inputs on the device. Raises RunFault when there is none."""
        try:
            self._reserve(nbytes, inputs)
        except OutOfDeviceMemory:
            self._make_room(inputs)
            try:
                self._reserve(nbytes, inputs)
            except OutOfDeviceMemory as error:
                raise no_room("all it needs", nbytes + inputs.nbytes) from error

    def _reserve(self, nbytes: int, inputs: DeviceInputs) -> None:
        if nbytes > self._sets.nbytes:
            driver.synchronize()
            self.drop()
            self._sets.reserve(nbytes, self.stream)
        inputs.upload(self.support, self.stream)

    def _make_room(self, wanted: DeviceInputs) -> None:
        driver.synchronize()
        self.drop()
        for region in (self._sets, self.runs.desk.region, self.runs.stash.region):
            region.release()
        for inputs in self._inputs:
            if inputs is not wanted:
                inputs.release()

    def damaged(self) -> bool:
        """Whether runs have changed what no run may change, once none is under way; it is as it
        was then, and from then on every sample is looked at."""
        keeping = self.runs.keeping
        if keeping.always(self._sets.nbytes):  # every sample was looked at
            return False
        if keeping.damaged(Kept(blank=self._sets.beside(0))):
            keeping.renew()
            self._sets.blank(0, self.stream)
        elif not keeping.suspicious:
            return False
        keeping.careful, keeping.suspicious = True, False
        return True

    @property
    def idle(self) -> bool:
        """Whether nothing ran for so long that clocks may have fallen."""
        return time.monotonic() - self.runs.last > IDLE_S

    def warm_up(self, samples: Sequence[Sample], timeout_s: float) -> None:
        """Run what is new once, and, after a pause, all in turn until clocks are up.

        `samples`: one of each side, of a seed that no timed sample has. Raises RunFault.
        """
        idle = self.idle
        for sample in samples:
            if not sample.side.has_graph(sample.order, sample.turn):
                self.runs.perform(sample, timeout_s, "warming")
        started = time.monotonic()
        while samples and idle and time.monotonic() - started < WARM_S:
            for sample in samples:
                self.runs.perform(sample, timeout_s, "warming")


@contextmanager
def _refusals() -> Generator[None]:
    """What the driver says of machine code that does not load, as RunFault."""
    try:
        yield
    except OutOfDeviceMemory as error:
        raise no_room("its machine code", 0) from error
    except DriverFault as error:
        raise fault_of(error) from error
