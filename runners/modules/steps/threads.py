"""As many threads as pay: small operators lose more to waking threads than they gain."""

from __future__ import annotations

import time
from typing import Any

from .base import Callee, Step, torch

CALLS = 3


def apply(model: Callee, inputs: tuple[Any, ...]) -> Callee:
    """The module, called with the number of threads that was fastest here."""
    before = torch().get_num_threads()
    counts = sorted({1, max(1, before // 2), before})
    try:
        best = min(counts, key=lambda count: _seconds(model, inputs, count))
    finally:
        torch().set_num_threads(before)

    def with_threads(*given: Any) -> Any:
        torch().set_num_threads(best)
        try:
            return model(*given)
        finally:
            torch().set_num_threads(before)

    with_threads.__doc__ = f"{best} threads"
    return with_threads


def _seconds(model: Callee, inputs: tuple[Any, ...], count: int) -> float:
    torch().set_num_threads(count)
    taken = list[float]()
    with torch().no_grad():
        for _ in range(CALLS):
            start = time.perf_counter()
            model(*inputs)
            taken.append(time.perf_counter() - start)
    return min(taken)


def why_not(model: Any, inputs: tuple[Any, ...], device: str) -> str:
    """There must be a choice."""
    return "" if torch().get_num_threads() > 1 else "there is one thread alone"


STEP = Step(
    name="threads",
    title="the number of threads that is fastest",
    kind="runtime",
    effect="threads",
    error_class="fp32 rounding",
    apply=apply,
    why_not=why_not,
    undo="torch.set_num_threads(os.cpu_count())",
    devices=("cpu",),
)
