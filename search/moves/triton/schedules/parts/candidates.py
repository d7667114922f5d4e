"""A candidate of a written kernel: its source, its launch, and the warps and stages that it begins
with, where they are parameters of the state."""

from __future__ import annotations

from collections.abc import Sequence

from ......runners.model import Candidate
from .grids import Tile
from .kernel_text import KernelText


def candidate_of(
    text: KernelText,
    tiles: Sequence[Tile],
    told: str,
    *,
    method: str,
    prior: float,
    warps: int,
    stages: int = 0,
) -> Candidate:
    """What a kernel whose body is written proposes. `told`: of what it is made, in a few words.
    Raises Unwritable."""
    wanted = {"num_warps": warps, **({"num_stages": stages} if stages else {})}
    own = text.plain.kernel.name
    known = text.plain.spec.parameters
    given = {
        name: value
        for option, value in wanted.items()
        for name in (option, f"{own}__{option}")  # the latter where another kernel tunes it too
        if name in known and value in known[name].values
    }
    return Candidate(
        method=method,
        detail=f"written from what it computes: {told}",
        source=text.source(told, tiles),
        plan=text.plan(tiles),
        parameters=given or None,
        prior=prior,
    )
