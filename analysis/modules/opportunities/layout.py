"""The order of dimensions in memory."""

from __future__ import annotations

from collections.abc import Iterable

from ..costs.cost import CONVOLUTIONS
from .base import Finder, Found, Opportunity, of_rung, places


def channels_last(found: Found) -> Iterable[Opportunity]:
    """Convolutions with channels outermost."""
    ops = [op for op in found.ops if op.op in CONVOLUTIONS]
    if not ops:
        return
    yield of_rung(
        found,
        found.cost.predict(["channels_last"]),
        kind="layout",
        what=f"{len(ops)} convolutions take {sum(op.us for op in ops):.4g} us with channels "
        "outermost",
        how="model.to(memory_format=torch.channels_last), and the inputs",
        error_class="fp32 rounding",
        steps=("channels_last",),
        where=places(ops),
    )


FINDERS: tuple[Finder, ...] = (channels_last,)
