"""What timed runs say: the comparison, and the gates over the candidate's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...runners.comparing.comparison import Measured
from ...runners.errors import SideFailed
from ...runners.gates import FIRST_SET, Run, first_failure
from ...runners.model import Comparison, GateResult


@dataclass(frozen=True)
class GatedComparison:
    """A comparison with the gates over its timed runs; None when one of them failed."""

    comparison: Comparison | None
    gates: tuple[GateResult, ...]
    runs: tuple[Run, ...] = ()
    """every timed run, of all sides"""


def gated_comparison(measured: Measured, candidate: str, others: Sequence[str]) -> GatedComparison:
    """The gates are about the candidate. Raises SideFailed when another side fails: then nothing
    is known of the candidate."""
    for other in others:
        runs = [run for run in measured.runs if run.variant == other != candidate]
        failed = first_failure([gate(runs) for gate in FIRST_SET])
        if failed is not None:
            raise SideFailed(
                other,
                f"`{other}`, which `{candidate}` was timed against, failed: {failed.message}",
                next_step=f"look at it: inspect what variant, id {other}",
            )
    own = [run for run in measured.runs if run.variant == candidate]
    gates = tuple(gate(own) for gate in FIRST_SET)
    comparison = None if first_failure(gates) else measured.comparison
    return GatedComparison(comparison, gates, tuple(measured.runs))
