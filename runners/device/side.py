"""One variant on the stage: its machine code loaded, its plan bound to every set of buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .cuda_driver import driver
from .cuda_driver.bound import Binder, BoundPlan, Copy
from .cuda_driver.code import Code
from .cuda_driver.driver import Bytes, GraphExec, Stream
from .cuda_driver.faults import RunFault
from .keeping import packed
from .looking import Looking
from .memory import Kept
from .restoring import Images, Restoring
from .setting import Setting
from .support import Support
from .tables import BLANK, Table, pieces, repeated

LOOKS = 16
"""ways to look that are kept ready"""


@dataclass(frozen=True)
class Look:
    """How to look at samples of one kind, and to leave nothing of them: tables, as they travel."""

    looking: Looking
    kept: Kept | None
    data: Bytes
    places: Mapping[str, tuple[int, int]]


class Side:
    """A variant bound to a pool's sets. Raises RunFault and DriverFault from its constructor, and
    from `renew`."""

    def __init__(
        self,
        variant: str,
        files: Mapping[str, str],
        setting: Setting,
        support: Support,
        stream: Stream,
    ) -> None:
        self.variant, self.setting = variant, setting
        self.retired = False
        """it has no machine code loaded"""
        self.seen = set[int]()
        """seeds that this load of the machine code has met"""
        self._files, self._stream = files, stream
        self.images = Images(files, setting)
        self._looks: dict[tuple[object, ...], Look] = {}
        self._graphs: dict[tuple[tuple[int, ...], int, tuple[int, ...]], GraphExec] = {}
        try:
            self.images.upload(support, stream)
            self._restoring = Restoring(setting, self.images)
            self.code, self.bound = self._load()
        except Exception:
            self.images.region.release()
            raise

    @property
    def most_calls(self) -> int | None:
        """Of one sample, where state could pass from one call to the next; None: any."""
        return max(1, self.setting.inputs.pool.slots - 1) if self.code.keeps_state else None

    @property
    def repeatable(self) -> bool:
        """Whether it can run several times on the same set: nothing tells it that it has."""
        roles = {a.argument.role for a in self.setting.inputs.pool.contract.arrays}
        return not self.code.keeps_state and "inout" not in roles

    def restore(self, seeds: Mapping[int, int], poison: int, *, again: bool = False) -> Table:
        """Fresh values, poison and guard bands: a seed for each set that is needed."""
        return self._restoring.table(seeds, poison, again=again)

    def look(
        self,
        sets: tuple[int, ...],
        bystander: int | None,
        poison: int,
        kept: Kept | None,
        stash: tuple[int, int],
    ) -> Look:
        """How traces of runs on these sets are read, and what blanks sets and stash (an address
        and a size)."""
        key = (sets, bystander, poison, id(kept), stash)
        known = self._looks.get(key)
        if known is None:
            looking = Looking(self.setting, sets, bystander, poison, kept)
            used = sets if bystander is None else (*sets, bystander)
            blank = [
                self._restoring.blanking(used),
                pieces([(stash[0], 0, stash[1], repeated(BLANK))]),
            ]
            tables = {**looking.tables(stash[0]), "sets": blank[0], "stash": blank[1]}
            if len(self._looks) >= LOOKS:
                self._looks.clear()
            known = self._looks[key] = Look(looking, kept, *packed(tables))
        return known

    def meet(self, slots: Sequence[int]) -> None:
        """Code that keeps state never meets the same seed twice: it is loaded anew before."""
        if self.code.keeps_state and self.seen.intersection(slots):
            self.reload()
        self.seen.update(slots)

    def reload(self) -> None:
        """Load the machine code anew, so that its variables start as they do in a process."""
        driver.synchronize()
        self.retire()
        self.renew()

    def retire(self) -> None:
        """Give graphs and machine code back, once nothing of it runs; it needs `renew` to run."""
        for graph in self._graphs.values():
            driver.destroy_graph(graph)
        self._graphs.clear()
        self.code.close()
        self.seen.clear()
        self.retired = True

    def renew(self) -> None:
        """Load the machine code."""
        self.code, self.bound = self._load()
        self.retired = False

    def has_graph(self, order: tuple[int, ...], turn: int) -> bool:
        """Whether that graph has run before."""
        return (order, turn, ()) in self._graphs

    def graph(self, order: tuple[int, ...], turn: int, given: tuple[int, ...] = ()) -> GraphExec:
        """Runs of the plan on these sets, as one launch; `turn` picks one of two equals. `given`:
        the seed whose inputs each run gets right before it; empty: they are there."""
        if (order, turn, given) not in self._graphs:
            driver.begin_capture(self._stream)
            fault: RunFault | None = None
            try:
                for number, index in enumerate(order):
                    for each in self._given(index, given[number]) if given else ():
                        each.enqueue(self._stream)
                    for step in self.bound[index].steps:
                        step.enqueue(self._stream)
            except RunFault as error:
                fault = error
            made = driver.end_capture(self._stream, keep=fault is None)
            if fault is not None or made is None:
                raise fault or RunFault("refused", "refused: nothing to launch", lost=False)
            self._graphs[order, turn, given] = made
        return self._graphs[order, turn, given]

    def _given(self, index: int, slot: int) -> list[Copy]:
        """What brings the inputs of a seed to a set."""
        inputs, addresses = self.setting.inputs, self.setting.addresses[index]
        return [
            Copy(addresses[a.name], inputs.address(slot, a.name), a.nbytes)
            for a in inputs.pool.contract.inputs
            if a.nbytes
        ]

    def close(self) -> None:
        """Give graphs, machine code and images back."""
        driver.synchronize()
        self.retire()
        self.images.region.release()

    def _load(self) -> tuple[Code, list[BoundPlan]]:
        plan, raw = self.setting.plan, self.images.raw
        code = Code(self._files, plan)
        try:
            binder = Binder(plan, code, raw)
            bound = [binder.bind(at) for at in self.setting.addresses]
        except RunFault:
            code.close()
            raise
        return code, bound
