"""The whole trace of an eager call: operators first, then their times."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..common.messages import OpRow, Trace
from ..common.torch_library import synchronise, tensors_in
from ..forms.subjects import Loaded
from .operators import Operators, Recipe, Seen, dispatching
from .storages import Storages
from .times import time_operators, typical
from .tree import ModuleTree


@dataclass(frozen=True)
class Traced:
    """The trace, and how to call its heavy operators again."""

    trace: Trace
    recipes: dict[str, Recipe]


def trace_of(loaded: Loaded, scratch: Path) -> Traced:
    """Trace one call (after one that warms up). Raises ProfileFailed (`time_operators`)."""
    loaded.call()
    synchronise(loaded.device)
    storages = Storages()
    there = [*loaded.model.parameters(), *loaded.model.buffers(), *tensors_in(loaded.inputs)]
    for tensor in there:
        storages.known(tensor)
    tree = ModuleTree(loaded.model, lambda: storages.live)
    operators = Operators(tree, storages, loaded.path)
    with tree.hooked(), dispatching(operators.handle):
        loaded.call()
    lost = time_operators(loaded, operators.seen, scratch)
    kept = [(n, each) for n, each in enumerate(operators.seen) if not each.view or each.kernels]
    rows = tuple(_row(n, each) for n, each in kept)
    trace = Trace(ops=rows, modules=tree.rows(), unattributed_us=lost)
    return Traced(trace, operators.recipes)


def _row(n: int, seen: Seen) -> OpRow:
    return OpRow(
        n=n,
        op=seen.op,
        module=seen.module,
        line=seen.line,
        us=round(typical(seen.us), 3),
        kernels=seen.kernels,
        reads=seen.reads,
        writes=seen.writes,
        flops=seen.flops,
        dtype=seen.dtype,
        from_dtype=seen.from_dtype,
        shapes=seen.shapes,
        waits=seen.waits,
        uploads=seen.uploads,
        strided=seen.strided,
        key=seen.key,
    )
