"""What a program's operators take, ranked by what they could gain."""

from __future__ import annotations

from collections.abc import Sequence

from ...deploy.reading import Made
from ...runners.model import Record
from ...runners.recording.operators.seen import SeenOperator, SeenOperators
from .gains import amdahl

MOST_ROWS, MOST_TENSORS = 25, 5


class OperatorRow(Record):
    """Calls of one kind."""

    label: str
    operator: str
    shapes: str
    """`float32[64,4096], float32[4096]`"""
    device: str
    count: int
    share: float
    """of the time of all operators"""
    typical_us: float
    gain_if_twice: float
    """of all operators' time, were it twice as fast"""
    why_not: str
    """why nothing may take its place; empty: something may"""
    kept: bool


class OperatorReport(Record):
    """The operators of one process, those with most time first."""

    program: tuple[str, ...]
    operators_ms: float
    calls: int
    rows: tuple[OperatorRow, ...]
    advice: str


def operator_report(found: SeenOperators, program: Sequence[str]) -> OperatorReport:
    """The report of a recording."""
    total = found.ns
    rows = tuple(_row(each, total) for each in found.rows)
    return OperatorReport(
        program=tuple(program),
        operators_ms=total / 1e6,
        calls=sum(each.count for each in found.rows),
        rows=rows,
        advice=_advice(rows),
    )


def shapes_of(seen: SeenOperator) -> str:
    """`float32[64,4096], float32[4096,64](1,4096)`, of what it is given: with its strides, where
    they are not row by row and would leave two kinds of calls look the same."""
    return ", ".join(f"{t.dtype}[{_listed(t.shape)}]{_strides(t)}" for t in seen.tensors)


def _strides(tensor: Made) -> str:
    expected, step = list[int](), 1
    for size in reversed(tensor.shape):
        expected.append(step)
        step *= size
    told = zip(tensor.shape, tensor.strides, reversed(expected), strict=True)
    return "" if all(n == 1 or s == e for n, s, e in told) else f"({_listed(tensor.strides)})"


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _row(seen: SeenOperator, total: int) -> OperatorRow:
    share = seen.ns / total if total else 0.0
    return OperatorRow(
        label=seen.label,
        operator=seen.operator,
        shapes=shapes_of(seen),
        device=seen.device,
        count=seen.count,
        share=share,
        typical_us=seen.ns / seen.count / 1e3,
        gain_if_twice=amdahl(share, 2),
        why_not=seen.why_not,
        kept=seen.kept is not None,
    )


def _advice(rows: Sequence[OperatorRow]) -> str:
    first = next((row for row in rows if not row.why_not), None)
    if first is None:
        return "no operator of it can be replaced"
    most = amdahl(min(first.share, 0.999), float("inf"))
    return (
        f"{first.label} ({first.operator}) is {first.share:.0%} of the operators' time: all of "
        f"them together get {most:.2f}x as fast at most if it takes no time"
    )


def operators_text(report: OperatorReport) -> str:
    """For a person."""
    lines = [
        f"{' '.join(report.program)}",
        f"{report.calls} calls of operators, {report.operators_ms:.2f} ms in them "
        "(one by one, each waited for)",
        f"{'label':6} {'share':>6} {'count':>7} {'typical us':>11} {'2x gives':>9}  operator",
    ]
    for row in report.rows[:MOST_ROWS]:
        why = f"  [not replaceable: {row.why_not}]" if row.why_not else ""
        lines.append(
            f"{row.label:6} {row.share:6.1%} {row.count:7} {row.typical_us:11.2f} "
            f"{row.gain_if_twice:8.2f}x  {row.operator} {_short(row.shapes)}{why}"
        )
    if len(report.rows) > MOST_ROWS:
        lines.append(f"and {len(report.rows) - MOST_ROWS} more in report.json")
    return "\n".join((*lines, report.advice))


def _short(shapes: str) -> str:
    """The first tensors of many."""
    parts = shapes.split(", ")
    if len(parts) <= MOST_TENSORS + 1:
        return shapes
    return f"{', '.join(parts[:MOST_TENSORS])} and {len(parts) - MOST_TENSORS} more"


def first_to_open(report: OperatorReport) -> str:
    """The label of what takes most time and may be replaced; empty: nothing may."""
    return next((row.label for row in report.rows if not row.why_not), "")
