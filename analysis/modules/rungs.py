"""What is told of the rungs of a ladder: predicted beside measured, and whether outputs agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...runners.comparing.timing import WorkloadBlocks, estimate, judgement, ratio
from ...runners.model import Ratio, Record
from ...runners.modules.common.messages import (
    ERROR_CLASSES,
    Agreement,
    ErrorClass,
    RungMade,
    RungTimes,
)
from ...runners.modules.steps import BY_NAME
from ...runners.modules.steps.base import Effect
from .costs.cost import CostModel

RESOLUTION, WIDEST = 0.02, 0.05
"""relative: what counts as a difference, and how wide an interval may be to say that there is none
"""
MOST_RMS: dict[ErrorClass, float] = {
    "bit-equal": 0.0,
    "fp32 rounding": 1e-5,
    "TF32": 5e-3,
    "bf16": 5e-2,
}
"""relative error against float64 beyond which a rung of the class is wrong (or its module is ill
conditioned, which comes to the same for its user)"""
OVER_EAGER = 8.0
"""times the error of the eager call that a rung in float32 may have, where that is more"""
Verdict = Literal["agrees", "differs", "failed"]


class RungRow(Record):
    """One rung."""

    steps: tuple[str, ...]
    name: str
    error_class: ErrorClass
    predicted_ms: float | None = None
    """from the eager call that was measured beside this rung"""
    measured_ms: float | None = None
    speedup: Ratio | None = None
    """over eager, measured in turns"""
    off: float | None = None
    """predicted over measured gain, less one"""
    agreement: Agreement | None = None
    verdict: Verdict
    failed: str = ""
    prepared_s: float = 0.0
    peak_bytes: int | None = None
    notes: tuple[str, ...] = ()


def error_class_of(steps: Sequence[str]) -> ErrorClass:
    """The loosest class of the steps."""
    ranks = [ERROR_CLASSES.index(BY_NAME[name].error_class) for name in steps if name in BY_NAME]
    return ERROR_CLASSES[max(ranks, default=0)]


def rung_rows(
    made: Sequence[RungMade], times: RungTimes | None, model: CostModel | None
) -> tuple[RungRow, ...]:
    """Every rung in its order; those without times have failed, or were not timed."""
    blocks = {} if times is None else dict(zip(times.rungs, times.blocks_ms, strict=True))
    eager = next((m.agreement for m in made if not m.steps), None)
    return tuple(_row(each, blocks, eager, model) for each in made)


def _row(
    made: RungMade,
    blocks: dict[tuple[str, ...], tuple[float, ...]],
    eager: Agreement | None,
    model: CostModel | None,
) -> RungRow:
    measured, beside = _median(blocks.get(made.steps, ())), _median(blocks.get((), ()))
    gain = _predicted_gain(made.steps, model)
    predicted = beside / gain if gain and beside else None
    speedup = _speedup(made.steps, blocks)
    kind = error_class_of(made.steps)
    return RungRow(
        steps=made.steps,
        name="+".join(made.steps) or "eager",
        error_class=kind,
        predicted_ms=predicted,
        measured_ms=measured,
        speedup=speedup,
        off=None if speedup is None or gain is None else gain / speedup.speedup - 1,
        agreement=made.agreement,
        verdict=_verdict(made, kind, eager),
        failed=made.failed,
        prepared_s=made.prepared_s,
        peak_bytes=made.peak_bytes,
        notes=made.notes,
    )


def _predicted_gain(steps: Sequence[str], model: CostModel | None) -> float | None:
    """How much faster than eager the model of cost has it; eager itself is 1."""
    if model is None or not all(name in BY_NAME for name in steps):
        return None
    effects: list[Effect] = [BY_NAME[name].effect for name in steps]
    found, eager = model.predict(effects), model.predict([])
    return None if found is None or eager is None else eager.ms / max(found.ms, 1e-9)


def _speedup(
    steps: tuple[str, ...], blocks: dict[tuple[str, ...], tuple[float, ...]]
) -> Ratio | None:
    if not steps or steps not in blocks or () not in blocks:
        return None
    sides = {"rung": blocks[steps], "eager": blocks[()]}
    found = estimate([WorkloadBlocks("call", 1.0, sides)], "rung", "eager")
    return ratio(found, "eager", judgement(found, RESOLUTION, WIDEST))


def _verdict(made: RungMade, kind: ErrorClass, eager: Agreement | None) -> Verdict:
    if made.failed or made.agreement is None:
        return "failed"
    if not made.steps or made.agreement.bit_equal:
        return "agrees"
    most = MOST_RMS[kind]
    if kind in ("bit-equal", "fp32 rounding") and eager is not None:
        most = max(MOST_RMS["fp32 rounding"], OVER_EAGER * eager.rms)
    return "agrees" if made.agreement.rms <= most else "differs"


def best_rung(rows: Sequence[RungRow]) -> RungRow | None:
    """The fastest rung whose outputs agree and that is faster for sure; None: eager stays."""
    fit = [
        row
        for row in rows
        if row.verdict == "agrees" and row.speedup is not None and row.measured_ms is not None
    ]
    faster = [row for row in fit if row.speedup is not None and row.speedup.judgement == "faster"]
    return min(faster, key=lambda row: row.measured_ms or 0.0, default=None)


def _median(values: Sequence[float]) -> float | None:
    ordered = sorted(values)
    if not ordered:
        return None
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
