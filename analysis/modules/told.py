"""A report of a module as text for a person: tables of fixed columns, a line a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...runners.wording import shortened
from .opportunities import Opportunity
from .report import ModuleReport, ModuleShare, OperatorRow
from .rungs import RungRow

MOST_OPERATORS, MOST_MODULES, MOST_OPPORTUNITIES = 12, 14, 12
WIDE = 110
BAR = 20


def told(report: ModuleReport, *, opportunities: bool = True) -> str:
    """All of it; what was not found out is left out, and why stands at the end. `opportunities`:
    not for a reader who has them as values."""
    parts = (
        _head(report),
        _operators(report.operators),
        _modules(report.modules),
        _opportunities(report.opportunities if opportunities else ()),
        _batches(report),
        _ladder(report),
        _failed(report),
    )
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part)))


def _head(report: ModuleReport) -> Iterator[str]:
    s = report.subject
    yield (
        f"{s.class_name} on {s.device} (torch {s.torch}): {s.parameters:,} parameters "
        f"({size(s.parameter_bytes)}), called with {', '.join(s.inputs)}"
    )
    if report.eager is None:
        return
    e = report.eager
    yield f"eager: {e.ms:.4g} ms a call; the host enqueues for {e.host_ms:.4g} ms"
    if report.busy_ms is not None:
        share = max(0.0, 1 - report.busy_ms / e.ms)
        yield (
            f"operators: {report.busy_ms:.4g} ms in {report.launches} launches; "
            f"{100 * share:.0f} % of the call is none of theirs"
        )
    if e.peak_bytes is not None:
        yield f"memory: {size(e.peak_bytes)} at most"
    if report.roofs is not None:
        nbytes, us = report.roofs.copies[-1]
        peaks = ", ".join(f"{k} {v / 1e12:.3g} TFLOP/s" for k, v in report.roofs.peaks.items())
        yield f"measured roofs: copy {nbytes / us / 1e3:.4g} GB/s, {peaks}"


def _operators(rows: Sequence[OperatorRow]) -> Iterator[str]:
    if not rows:
        return
    yield "operators by time (alone: the whole call's speedup, were they at their roof)"
    yield (
        f"{'share':>7} {'':{BAR}} {'us':>9} {'calls':>5} {'of roof':>8} {'alone':>7}  bound    "
        "operator"
    )
    for row in rows[:MOST_OPERATORS]:
        bar = "#" * round(BAR * row.share)
        yield (
            f"{100 * row.share:6.1f}% {bar:{BAR}} {row.us:9.1f} {row.calls:5} "
            f"{100 * row.of_roof:6.0f} % {row.alone:6.3f}x  {row.bound:8} "
            f"{row.op.removeprefix('aten.')} {row.dtype} {shortened(row.shapes, 60)}"
        )
    if len(rows) > MOST_OPERATORS:
        rest = rows[MOST_OPERATORS:]
        yield f"        and {len(rest)} more, {100 * sum(r.share for r in rest):.1f} % together"


def _modules(rows: Sequence[ModuleShare]) -> Iterator[str]:
    if len(rows) < 2:
        return
    yield "modules (peak: activations that live during its calls)"
    yield f"{'share':>7} {'us':>9} {'calls':>5} {'weights':>9} {'peak':>9}  module"
    shown = sorted(rows, key=lambda row: -row.us)[:MOST_MODULES]
    for row in (row for row in rows if row in shown):
        depth = row.path.count(".") + (1 if row.path else 0)
        yield (
            f"{100 * row.share:6.1f}% {row.us:9.1f} {row.calls:5} {size(row.parameter_bytes):>9} "
            f"{size(row.peak_bytes):>9}  {'  ' * depth}{row.path or 'the whole'} ({row.class_name})"
        )


def _opportunities(found: Sequence[Opportunity]) -> Iterator[str]:
    if not found:
        return
    yield "opportunities (predicted, the largest gain first)"
    for each in found[:MOST_OPPORTUNITIES]:
        gain = "    ?  " if each.speedup is None else f"{each.speedup:6.2f}x"
        yield f"{gain} {each.kind} [{each.error_class}]: {each.what}"
        steps = f"rung {'+'.join(each.steps)}, " if each.steps else ""
        yield f"        how: {each.how} ({steps}skill {each.skill})"
        if each.where:
            yield f"        where: {', '.join(each.where)}"
    if len(found) > MOST_OPPORTUNITIES:
        yield f"        and {len(found) - MOST_OPPORTUNITIES} more (--json has all)"


def _batches(report: ModuleReport) -> Iterator[str]:
    if report.why_no_batches:
        yield f"batch sizes: {report.why_no_batches}"
    if not report.batches:
        return
    yield "batch sizes"
    yield f"{'batch':>7} {'ms':>10} {'ms a sample':>12} {'memory':>10}"
    for point in report.batches:
        if point.ms is None:
            yield f"{point.batch:7} {shortened(point.failed, WIDE)}"
            continue
        memory = "" if point.peak_bytes is None else size(point.peak_bytes)
        yield f"{point.batch:7} {point.ms:10.4g} {point.ms / point.batch:12.4g} {memory:>10}"


def _ladder(report: ModuleReport) -> Iterator[str]:
    if not report.ladder:
        return
    yield f"ladder, measured in turns (errors against {report.truth or 'nothing'})"
    yield (
        f"{'rung':34} {'predicted':>10} {'measured':>10}  {'speedup (95 %)':26} {'rms error':>9}  "
        "outputs"
    )
    for row in report.ladder:
        yield _rung(row)
    if report.best is not None:
        yield f"best whose outputs agree: {report.best}"
    else:
        yield "no rung is faster for sure and agrees: leave the module as it is"


def _rung(row: RungRow) -> str:
    if row.verdict == "failed":
        return f"{row.name:34} failed: {shortened(row.failed, WIDE)}"
    predicted = "" if row.predicted_ms is None else f"{row.predicted_ms:.4g} ms"
    measured = "" if row.measured_ms is None else f"{row.measured_ms:.4g} ms"
    speedup, rms = "", ""
    if row.speedup is not None:
        s = row.speedup
        speedup = f"{s.speedup:.3g}x ({s.low:.3g} to {s.high:.3g}) {s.judgement}"
    agrees = row.verdict
    if row.agreement is not None:
        rms = f"{row.agreement.rms:.1e}"
        same = "same bits" if row.agreement.bit_equal and row.steps else row.error_class
        agrees = f"{row.verdict} [{same}]" if row.steps else ""
    return f"{row.name:34} {predicted:>10} {measured:>10}  {speedup:26} {rms:>9}  {agrees}"


def _failed(report: ModuleReport) -> Iterator[str]:
    for each in report.failed:
        yield f"{each.phase} failed: {shortened(each.words, 3 * WIDE)}"
    for words in report.lost:
        yield f"a process of the module ended: {shortened(words, 3 * WIDE)}"
    for words in report.attention_refused:
        yield f"attention left alone: {words}"


def size(nbytes: float) -> str:
    """`1.5 GB`, in powers of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if nbytes < 1000:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1000
    return f"{nbytes:.3g} TB"
