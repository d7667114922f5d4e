"""One variant on the stage: its machine code loaded, its plan bound to every set of buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..plan import SetSymbol
from . import driver
from .bound import BoundPlan, bind_plan
from .code import Code
from .driver import GraphExec, Stream
from .faults import RunFault
from .looking import Looking
from .restoring import Images, Restoring
from .setting import Setting
from .tables import Table


class Side:
    """A variant bound to a pool's sets. Raises RunFault from its constructor and from `reload`."""

    def __init__(
        self, variant: str, files: Mapping[str, str], setting: Setting, stream: Stream
    ) -> None:
        self.variant, self.setting = variant, setting
        self.seen = set[int]()
        """seeds that this load of the machine code has met"""
        self._files, self._stream = files, stream
        self._images = Images(files, setting, stream)
        self._restoring = Restoring(setting, self._images)
        self._looking: dict[tuple[int, int], Looking] = {}
        self._graphs: dict[tuple[int, int], GraphExec] = {}
        try:
            self.code, self.bound = self._load()
        except RunFault:
            self._images.region.release()
            raise

    @property
    def most_calls(self) -> int | None:
        """Of one sample, where state could pass from one call to the next; None: any."""
        if not self.code.keeps_state:
            return None
        symbols = any(isinstance(step, SetSymbol) for step in self.setting.plan.setup)
        return 1 if symbols else max(1, self.setting.inputs.pool.slots - 1)

    def restore(self, slots: Sequence[int], poison: int, *, again: bool = False) -> Table:
        """Fresh values, poison and guard bands for all sets; a seed for each."""
        return self._restoring.table(slots, poison, again=again)

    def looking(self, calls: int, poison: int) -> Looking:
        """How traces of so many runs are read."""
        known = self._looking.get((calls, poison))
        if known is None:
            known = self._looking[calls, poison] = Looking(self.setting, calls, poison)
        return known

    def meet(self, slots: Sequence[int]) -> None:
        """Code that keeps state never meets the same seed twice: it is loaded anew before."""
        if self.code.keeps_state and self.seen.intersection(slots):
            self.reload()
        self.seen.update(slots)

    def reload(self) -> None:
        """Load the machine code anew, so that its variables start as they do in a process."""
        driver.synchronize()
        self._drop_graphs()
        self.code.close()
        self.code, self.bound = self._load()
        self.seen.clear()

    def has_graph(self, calls: int, turn: int) -> bool:
        """Whether that graph has run before."""
        return (calls, turn) in self._graphs

    def graph(self, calls: int, turn: int) -> GraphExec:
        """`calls` runs of the plan, one a set, as one launch; `turn` picks one of two equals."""
        if (calls, turn) not in self._graphs:
            driver.begin_capture(self._stream)
            fault: RunFault | None = None
            try:
                for bound in self.bound[:calls]:
                    for step in bound.steps:
                        step.enqueue(self._stream)
            except RunFault as error:
                fault = error
            made = driver.end_capture(self._stream, keep=fault is None)
            if fault is not None or made is None:
                raise fault or RunFault("refused", "refused: nothing to launch", lost=False)
            self._graphs[calls, turn] = made
        return self._graphs[calls, turn]

    def close(self) -> None:
        """Give graphs, machine code and images back."""
        driver.synchronize()
        self._drop_graphs()
        self.code.close()
        self._images.region.release()

    def _load(self) -> tuple[Code, list[BoundPlan]]:
        plan, raw = self.setting.plan, self._images.raw
        code = Code(self._files, plan)
        try:
            bound = [bind_plan(plan, code, at, raw.__getitem__) for at in self.setting.addresses]
        except RunFault:
            code.close()
            raise
        return code, bound

    def _drop_graphs(self) -> None:
        for graph in self._graphs.values():
            driver.destroy_graph(graph)
        self._graphs.clear()
