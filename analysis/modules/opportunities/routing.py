"""Experts that look for their tokens one after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ....runners.modules.common.messages import OpRow
from .base import Finder, Found, Opportunity, by_hand, places

FEWEST_EXPERTS = 4
ASKS = ("aten.nonzero", "aten.masked_select", "aten.index")
"""which tokens; `index` where a mask has to be counted"""


def routing(found: Found) -> Iterable[Opportunity]:
    """Modules that choose by `topk`, and then ask again and again which rows were chosen."""
    asked = defaultdict[str, list[OpRow]](list)
    chosen = {op.module for op in found.ops if op.op == "aten.topk"}
    for op in found.ops:
        within = [path for path in chosen if not path or _is_within(op.module, path)]
        if op.op in ASKS and op.waits and within:
            asked[max(within, key=len)].append(op)
    groups = [ops for ops in asked.values() if len(ops) >= FEWEST_EXPERTS]
    if not groups:
        return
    ops = [op for group in groups for op in group]
    saved = sum(op.us for group in groups for op in group[1:])
    launches = sum(len(op.kernels) for group in groups for op in group[1:])
    made = by_hand(
        found,
        found.cost.without(saved, launches) if found.on_gpu else None,
        kind="routing",
        what=f"{len(groups)} modules route by topk and ask {len(ops)} times which rows are an "
        f"expert's ({sum(op.us for op in ops):.4g} us)"
        + ("; the host waits each time" if found.on_gpu else ""),
        how="sort pairs of row and expert once: then each expert's rows are neighbours, products "
        "are one grouped product, and the way back is a gather"
        + (". The number is that of asking once" if found.on_gpu else ""),
        where=places(ops),
    )
    yield made.model_copy(update={"error_class": "fp32 rounding"})


def _is_within(module: str, path: str) -> bool:
    return module == path or module.startswith(f"{path}.")


FINDERS: tuple[Finder, ...] = (routing,)
