"""Whether a program with a kernel replaced is faster and as right: from interleaved runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...runners.comparing.timing import WorkloadBlocks, estimate, extent, judgement
from ...runners.recording.pairs import Paired
from .outcome import Outcome, ProgramVerdict

RESOLUTION = 0.002
"""relative: less than this no two programs are told apart"""
WIDEST_TIE = 0.02
FEWEST = 4
"""Pairs, for an interval and for a gain: of two that noise alone decides, both are faster one time
in four."""


def verdict(found: Paired, predicted: float | None = None) -> ProgramVerdict:
    """Judge the pairs: outputs first, as what is wrong is not fast."""
    without = tuple(run.cost for run in found.without)
    replaced = tuple(run.cost for run in found.replaced)
    speedup, interval, outcome = _outcome(found, without, replaced)
    return ProgramVerdict(
        outcome=outcome,
        speedup=speedup,
        interval=interval,
        predicted=predicted,
        without=_finite(without),
        replaced=_finite(replaced),
        used=min((run.used for run in found.replaced), default=0),
        notes=found.notes,
        told=_told(outcome, speedup, interval, predicted),
    )


def _finite(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(v for v in values if math.isfinite(v))


def _outcome(
    found: Paired, without: Sequence[float], replaced: Sequence[float]
) -> tuple[float | None, tuple[float, float] | None, Outcome]:
    if not all(map(math.isfinite, (*without, *replaced))):
        return None, None, "failed"
    runs = WorkloadBlocks("program", 1.0, {"replaced": replaced, "without": without})
    ask = estimate if len(without) >= FEWEST else extent
    told = ask([runs], "replaced", "without")
    speedup, interval = math.exp(told.log_ratio), (math.exp(told.low), math.exp(told.high))
    if not all(run.used for run in found.replaced):
        return speedup, interval, "never used"
    if not all(run.equal for run in (*found.replaced, *found.without)):
        return speedup, interval, "not equal"
    judged = judgement(told, RESOLUTION, WIDEST_TIE)
    return speedup, interval, "few" if judged == "faster" and ask is extent else judged


def _told(
    outcome: Outcome,
    speedup: float | None,
    interval: tuple[float, float] | None,
    predicted: float | None,
) -> str:
    words = {
        "faster": "the whole program is faster, with the same outputs",
        "slower": "refused: the program is slower with it",
        "tie": "refused: the program is as fast without it",
        "unstable": "refused: the runs vary too much to tell; take more pairs or a longer run",
        "few": f"refused: fewer than {FEWEST} pairs show no gain, though each is; take more pairs",
        "not equal": "refused: the outputs are others (`--compare` names what decides that)",
        "never used": "refused: the replacement never ran; its notes say why",
        "failed": "refused: the program failed with it",
    }
    text = words[outcome]
    if speedup is not None and interval is not None:
        text += f": {speedup:.4f}x ({interval[0]:.4f} to {interval[1]:.4f})"
    if predicted is not None:
        text += f"; predicted by Amdahl's law {predicted:.4f}x"
    return text
