"""What a run of compute-sanitizer means: from its end and its report to a gate's result; pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ..model import GateResult
from ..watched.ended import Ended
from .messages import Allocation, SanitizerAnswer
from .report import Report, SanitizerRecord, read_report

Tool = Literal["memcheck", "initcheck", "racecheck", "synccheck"]
FOUND = 7
"""the exit status that the tool is told to end with when it found something"""
MAX_TOLD = 3
NEAR = 1 << 20
"""bytes from a buffer beyond which an address says nothing about it"""
ON_THE_DEVICE = frozenset({"Precise", "Initcheck", "InitcheckApiError"})
"""kinds of records whose address is one of global memory, unless they name another space"""
ELSEWHERE = ("shared", "local")


def gate_name(tool: Tool) -> str:
    """What the gate of a tool is called."""
    return f"sanitizer_{tool}"


def judged(
    name: Tool,
    ended: Ended,
    content: bytes | None,
    answer: SanitizerAnswer | None,
    shapes: int,
) -> GateResult:
    """From how the tool ended, its report and the answer of what it watched, to the gate's result.

    Failed: something in the kernel was found. Passed: all ran, and the tool says that nothing was
    found. Note: it is not known, or no more than a warning. Skipped: the tool did not work here.
    """
    report = read_report(content) if content is not None else Report()
    evidence = _evidence(report, answer)
    findings = [r for r in report.records if r.finding]
    if findings:
        return result_of(name, "failed", _words(findings, answer), evidence)
    if ended.returncode == FOUND and not report.records:
        why = "; ".join(report.unknown) or "its report is empty"
        return result_of(
            name, "failed", f"it found something that is not readable: {why}", evidence
        )
    if ended.timed_out:
        return result_of(name, "note", f"inconclusive: it was {ended.words}", evidence)
    if answer is None or (answer.fault and not answer.allocations):
        why = _said(ended) if answer is None else answer.fault
        return result_of(name, "skipped", f"it does not work here: {why}", evidence)
    return _without_findings(name, ended, report, answer, shapes, evidence)


def _without_findings(
    name: Tool,
    ended: Ended,
    report: Report,
    answer: SanitizerAnswer,
    shapes: int,
    evidence: dict[str, Any],
) -> GateResult:
    if report.unknown:
        why = f"inconclusive, its report holds {'; '.join(report.unknown)[:400]}"
        return result_of(name, "note", why, evidence)
    if answer.fault:
        return result_of(name, "note", f"inconclusive: {answer.fault}", evidence)
    warnings = [r for r in report.records if r.warning]
    if warnings:
        return result_of(name, "note", _words(warnings, answer), evidence)
    if ended.returncode != 0:
        return result_of(name, "note", f"inconclusive: {_said(ended)}", evidence)
    message = f"{answer.runs} runs on {shapes} shape{'s' if shapes > 1 else ''}, nothing found"
    return result_of(name, "passed", message, evidence)


def _said(ended: Ended) -> str:
    lines = [line.strip("= ") for line in ended.log.splitlines()]
    told = [line for line in lines if "rror" in line] or [line for line in lines if line]
    return f"{ended.words}" + (f", {told[-1][:300]}" if told else "")


def _evidence(report: Report, answer: SanitizerAnswer | None) -> dict[str, Any]:
    records = [r.model_dump(mode="json", exclude_defaults=True) for r in report.records]
    for told, record in zip(records, report.records, strict=True):
        if place := place_of(record, () if answer is None else answer.allocations):
            told["place"] = place
    evidence: dict[str, Any] = {"records": records[:20], "found": len(records)}
    if report.unknown:
        evidence["unknown"] = list(report.unknown)[:20]
    return evidence


def _words(records: Sequence[SanitizerRecord], answer: SanitizerAnswer | None) -> str:
    allocations = () if answer is None else answer.allocations
    texts = list(dict.fromkeys(_one(r, allocations) for r in records))
    more = f" (and {len(records) - 1} more like it)" if len(records) > 1 and len(texts) == 1 else ""
    return "; ".join(texts[:MAX_TOLD]) + more


def _one(record: SanitizerRecord, allocations: Sequence[Allocation]) -> str:
    where = record.where
    line = f"{where.file}:{where.line}" if where.line else where.file
    parts = [
        record.text or record.kind,
        f"in `{where.kernel}`" if where.kernel else "",
        f"at {line}" if line else "",
    ]
    place = place_of(record, allocations)
    return " ".join(filter(None, parts)) + (f", {place}" if place else "")


def place_of(record: SanitizerRecord, allocations: Sequence[Allocation]) -> str:
    """The buffer that an address is in or nearest to, in words; empty where that is not known."""
    at = record.address
    elsewhere = any(space in record.space for space in ELSEWHERE)
    if at is None or elsewhere or record.kind not in ON_THE_DEVICE or not allocations:
        return ""
    inside = next((a for a in allocations if a.address <= at < a.address + a.nbytes), None)
    if inside is not None:
        return f"byte {at - inside.address} of `{inside.buffer}` ({inside.shape})"
    nearest = min(allocations, key=lambda a: _distance(a, at))
    if _distance(nearest, at) > NEAR:
        return ""
    if at < nearest.address:
        side = f"byte {nearest.address - at} before the start"
    else:
        side = f"byte {_distance(nearest, at) + 1} behind the end"
    return f"{side} of `{nearest.buffer}` ({nearest.shape})"


def _distance(allocation: Allocation, address: int) -> int:
    """Bytes between a buffer and an address outside it: 0 right behind its end."""
    if address < allocation.address:
        return allocation.address - address
    return address - (allocation.address + allocation.nbytes)


def result_of(
    name: Tool,
    outcome: Literal["passed", "failed", "note", "skipped"],
    message: str,
    evidence: dict[str, Any] | None = None,
) -> GateResult:
    return GateResult(
        gate=gate_name(name), outcome=outcome, message=message, evidence=evidence or {}
    )
