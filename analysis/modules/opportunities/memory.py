"""Memory: who makes the peak."""

from __future__ import annotations

from collections.abc import Iterable

from .base import Finder, Found, Opportunity
from .pages import SKILLS

LEAST_BYTES = 64 << 20


def peak(found: Found) -> Iterable[Opportunity]:
    """The innermost module in which most memory lives, and the largest tensors there."""
    modules = found.cost.trace.modules
    if not modules:
        return
    top = max(m.peak_bytes for m in modules)
    if top < LEAST_BYTES:
        return
    at = [m for m in modules if m.peak_bytes == top]
    where = max(at, key=lambda m: len(m.path))
    within = [op for op in found.ops if op.module.startswith(where.path)]
    largest = max(within, key=lambda op: max((b for _, _, b in op.writes), default=0), default=None)
    if largest is None:
        return
    size = max((b for _, _, b in largest.writes), default=0)
    yield Opportunity(
        kind="memory",
        skill=SKILLS["memory"],
        what=f"{top / 2**20:.4g} MiB of activations live at once, in {where.path or 'the module'} "
        f"({where.class_name}); the largest tensor there is {size / 2**20:.4g} MiB of {largest.op}",
        how="a smaller batch or sequence at a time, an operator that does not write it (attention, "
        "losses over large vocabularies), or in place",
        where=(largest.line or largest.module,),
        error_class="bit-equal",
    )


FINDERS: tuple[Finder, ...] = (peak,)
