"""More samples in one call."""

from __future__ import annotations

from collections.abc import Iterable

from .base import Finder, Found, Opportunity
from .pages import SKILLS

WORTH = 1.1


def larger_batch(found: Found) -> Iterable[Opportunity]:
    """A sample costs less in a larger call: of use to whoever has more samples waiting."""
    points = [p for p in (found.batches.points if found.batches else ()) if p.ms is not None]
    own = found.cost.eager.ms
    given = min(points, key=lambda p: abs((p.ms or 0.0) - own), default=None)
    if given is None:
        return
    best = min(points, key=lambda p: (p.ms or 0.0) / p.batch)
    gain = ((given.ms or 0.0) / given.batch) / ((best.ms or 1.0) / best.batch)
    if best.batch <= given.batch or gain < WORTH:
        return
    yield Opportunity(
        kind="batch",
        skill=SKILLS["batch"],
        what=f"a sample takes {(given.ms or 0.0) / given.batch:.4g} ms in a batch of "
        f"{given.batch}, {(best.ms or 0.0) / best.batch:.4g} ms in one of {best.batch}",
        how="gather requests into larger calls; the gain is in samples a second, one call takes "
        "longer",
        predicted_ms=(best.ms or 0.0) * given.batch / best.batch,
        speedup=gain,
        error_class="fp32 rounding",
    )


FINDERS: tuple[Finder, ...] = (larger_batch,)
