"""What a program's operators take, ranked by what they could gain."""

from __future__ import annotations

from collections.abc import Sequence

from ...deploy.reading import Made
from ...runners.model import Record
from ...runners.recording.operators.call_cost import CallCost
from ...runners.recording.operators.seen import SeenOperator, SeenOperators
from .calls import Calls, calls_of, gain_at, most_gain, why_no_gain
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
    """of all operators' time, were its kernel twice as fast"""
    why_not: str
    """why nothing may take its place; empty: something may"""
    kept: bool
    most_gain: float = 0.0
    """the same, if its kernel took no time: where known, with what a winner's call costs here"""
    no_gain: str = ""
    """why no kernel in its place makes the program faster; empty: one may"""


class OperatorReport(Record):
    """The operators of one process, those with most time first."""

    program: tuple[str, ...]
    operators_ms: float
    calls: int
    rows: tuple[OperatorRow, ...]
    advice: str
    host_ms: float | None = None
    """until the calls returned, and"""
    gpu_ms: float | None = None
    """of the GPU, estimated: the slower of the two bounds an eager program. None: not known"""
    other_processes: int = 0
    winner_us: float | None = None
    """what a winner's call costs on this host, whatever its kernel takes; None: not measured"""


def operator_report(
    found: SeenOperators, program: Sequence[str], cost: CallCost | None = None
) -> OperatorReport:
    """The report of a recording. `cost`: of a winner's call on this host, where it is known."""
    total, calls = found.ns, calls_of(found, cost)
    rows = tuple(_row(each, found, calls) for each in found.rows)
    return OperatorReport(
        program=tuple(program),
        operators_ms=total / 1e6,
        calls=sum(each.count for each in found.rows),
        rows=rows,
        advice=_advice(rows),
        other_processes=found.others,
        host_ms=None if calls is None else calls.host_us / 1e3,
        gpu_ms=None if calls is None else calls.gpu_us / 1e3,
        winner_us=None if calls is None else calls.cost.winner_us,
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


def _row(seen: SeenOperator, found: SeenOperators, calls: Calls | None) -> OperatorRow:
    share = seen.ns / found.ns if found.ns else 0.0
    priced = calls is not None and seen.host_ns > 0
    return OperatorRow(
        label=seen.label,
        operator=seen.operator,
        shapes=shapes_of(seen),
        device=seen.device,
        count=seen.count,
        share=share,
        typical_us=seen.ns / seen.count / 1e3,
        gain_if_twice=gain_at(seen, found, calls, 2) if priced and calls else amdahl(share, 2),
        why_not=seen.why_not,
        kept=seen.kept is not None,
        most_gain=most_gain(seen, found, calls),
        no_gain="" if seen.why_not else why_no_gain(seen, found, calls),
    )


def _advice(rows: Sequence[OperatorRow]) -> str:
    first = next(filter(may_gain, rows), None)
    if first is not None:
        return (
            f"{first.label} ({first.operator}) is {first.share:.0%} of the operators' time: all of "
            f"them together get {first.most_gain:.2f}x as fast at most if it takes no time"
        )
    free = next((row for row in rows if not row.why_not), None)
    if free is None:
        return "no operator of it can be replaced"
    return (
        f"no kernel in the place of one operator makes it faster: of {free.label} "
        f"({free.operator}), {free.no_gain}. What gains here makes fewer calls: `analyze` measures "
        "CUDA graphs and `torch.compile`"
    )


def may_gain(row: OperatorRow) -> bool:
    """Whether something may take its place, and a fast enough kernel makes the program faster."""
    return not row.why_not and not row.no_gain


def operators_text(report: OperatorReport) -> str:
    """For a person."""
    lines = [
        f"{' '.join(report.program)}",
        f"{report.calls} calls of operators, {report.operators_ms:.2f} ms in them "
        "(one by one, each waited for)",
        *_bounds(report),
        f"{'label':6} {'share':>6} {'count':>7} {'typical us':>11} {'2x gives':>9}  operator",
    ]
    for row in report.rows[:MOST_ROWS]:
        why = f"  [not replaceable: {row.why_not}]" if row.why_not else ""
        why += "  [no gain: its calls cost more than a kernel can save]" if row.no_gain else ""
        lines.append(
            f"{row.label:6} {row.share:6.1%} {row.count:7} {row.typical_us:11.2f} "
            f"{row.gain_if_twice:8.2f}x  {row.operator} {_short(row.shapes)}{why}"
        )
    if len(report.rows) > MOST_ROWS:
        lines.append(f"and {len(report.rows) - MOST_ROWS} more in report.json")
    if report.other_processes:
        n = report.other_processes
        lines.append(
            f"{n} other processes called operators: this is the one with most time in them"
        )
    return "\n".join((*lines, report.advice))


def _bounds(report: OperatorReport) -> list[str]:
    """What a winner's call costs, and (on a GPU) which of the two is waited for."""
    if report.host_ms is None or report.gpu_ms is None or report.winner_us is None:
        return []
    text = (
        f"a winner's call takes {report.winner_us:.1f} us of this host, whatever its kernel takes"
    )
    if any(row.device != "cpu" for row in report.rows):
        slower = "host" if report.host_ms > report.gpu_ms else "GPU"
        text += (
            f"; the host needs {report.host_ms:.2f} ms for the calls, the GPU about "
            f"{report.gpu_ms:.2f} ms: the {slower} bounds this program"
        )
    return [text]


def _short(shapes: str) -> str:
    """The first tensors of many."""
    parts = shapes.split(", ")
    if len(parts) <= MOST_TENSORS + 1:
        return shapes
    return f"{', '.join(parts[:MOST_TENSORS])} and {len(parts) - MOST_TENSORS} more"


def first_to_open(report: OperatorReport) -> str:
    """The label of what takes most time and may be replaced for a gain; empty: nothing may."""
    return next((row.label for row in report.rows if may_gain(row)), "")
