"""On a CPU: operators that are called for longer than they work."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ....runners.modules.common.messages import OpRow
from ..costs.cost import CostModel
from .base import Finder, Found, Opportunity, by_hand, places

TINY_US = 20.0
"""some times what a call of an operator costs by itself"""
MOSTLY_WORK = 0.5
MANY, LEAST_SHARE = 16, 0.1


def tiny(found: Found) -> Iterable[Opportunity]:
    """Small operators, of which most of the time is the call. (On a GPU they are told by what the
    host takes to launch them.)"""
    if found.on_gpu:
        return
    cost = found.cost
    ops = [o for o in found.ops if o.us < TINY_US and _work_us(cost, o) < MOSTLY_WORK * o.us]
    us = sum(op.us for op in ops)
    if len(ops) < MANY or us < LEAST_SHARE * cost.busy_us:
        return
    made = by_hand(
        found,
        cost.without(us - sum(_work_us(cost, op) for op in ops)),
        kind="tiny operators",
        what=f"{len(ops)} operators take less than {TINY_US:g} us each, {us:.4g} us in all, and "
        "most of that is the call and not the work",
        how="fewer calls on larger tensors (a batch, weights that are stacked, vmap), or "
        "torch.compile. The number is that of their work alone",
        where=places(ops),
    )
    yield made.model_copy(update={"error_class": "fp32 rounding"})


def _work_us(cost: CostModel, op: OpRow) -> float:
    """Of its bytes and FLOPs alone: the measured roof of small operators is itself a call."""
    nbytes, us = cost.roofs.copies[-1]
    peak = cost.roofs.peaks.get(op.dtype, cost.roofs.peaks.get("float32", math.inf))
    return max(op.bytes * us / nbytes, op.flops / peak * 1e6)


FINDERS: tuple[Finder, ...] = (tiny,)
