"""Three things that are easily taken for one another, and what replies call them.

- `incumbent`: the kernel's best, by paired comparison, whoever found it. `incumbent_speedup` is
  over the baseline.
- `best`: the best that one search has (`search_best`). It is another one where the search started
  from elsewhere, or where what others found is better.
- `speedup_over_parent`: what one step gained over the variant that it started from. The `speedup`
  beside it, like every other one, is over the baseline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...runners.wording import significant
from .describing import interval_of

if TYPE_CHECKING:
    from ...evaluation.bench import Bench


class KernelBest(NamedTuple):
    """The kernel's incumbent now."""

    incumbent: str
    speedup: float
    """over the baseline; 1 where the baseline is the incumbent"""
    interval: tuple[float, float] | None

    def describe(self, baseline: str) -> str:
        """`v0123456789ab (57.7x the baseline)`; `the baseline`."""
        if self.incumbent == baseline:
            return "the baseline"
        return f"{self.incumbent} ({self.speedup:g}x the baseline)"


def kernel_best(bench: Bench, kernel_id: str) -> KernelBest:
    """The incumbent of a kernel, with its speedup as last measured. Raises HandleUnknown."""
    kernel = bench.evaluator.kernel(kernel_id)
    known = bench.evaluator.evaluation(kernel.incumbent)
    if kernel.incumbent == kernel.baseline or known is None or known.speedup is None:
        return KernelBest(kernel.incumbent, 1.0, None)
    return KernelBest(kernel.incumbent, significant(known.speedup), interval_of(known))
