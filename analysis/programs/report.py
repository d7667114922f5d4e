"""What a recording says: a value for agents and files, and the same as text for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ...runners.model import Record
from ...runners.recording.recorded import Recording
from ...runners.wording import shortened
from .gains import COVERED, Share, representative, shares
from .groups import Grouped, grouped

BAR = 24
NAME_CHARS = 72
MOST_ROWS = 25
BUSY = 0.8
"""of its span: where the GPU works less of the time, faster kernels are not what a program lacks"""
BLOCKS = " ▁▂▃▄▅▆▇█"


class KernelRow(Record):
    """Launches of one kind."""

    label: str
    """what `--only` and `open` take"""
    name: str
    bucket: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    count: int
    in_graphs: int
    share: float
    covered: float
    typical_us: float
    most_gain: float | None
    """None: without bound, it is all there is"""
    gain_if_twice: float
    ordinal: int
    """of the launch that stands for it; 0: none runs outside a graph"""
    code_known: bool
    """its machine code was recorded"""
    source: str = ""
    """file and line of a Triton function; empty: not known"""


class ProgramReport(Record):
    """What a program does on the GPU."""

    program: tuple[str, ...]
    front: str
    timed: bool
    seconds: float
    """of the recorded process"""
    launches: int
    graph_launches: int
    functions: int
    configurations: int
    kernel_ms: float
    """of the GPU, in kernels"""
    span_ms: float
    """from the first kernel to the last"""
    busy: float | None
    """share of the span in which kernels ran; over 1 where several ran at once"""
    transfers: dict[str, tuple[int, float]]
    """count and milliseconds by kind"""
    kernels: tuple[KernelRow, ...]
    representative: tuple[str, ...]
    """labels of those that together make 90 %"""
    unplaced_ms: float
    """of kernels that no launch stands for"""
    unplaced: tuple[str, ...]
    timeline: tuple[float, ...]
    """share of each of equally long stretches in which kernels ran"""
    problems: dict[str, str]
    other_processes: int
    advice: str


def program_report(
    recording: Recording,
    program: Sequence[str],
    readable: Mapping[str, str],
    other_processes: int = 0,
    sources: Mapping[str, str] = MappingProxyType({}),
) -> ProgramReport:
    """The report of one process. `readable`: names for people by name of the linker; `sources`:
    file and line by recorded machine code."""
    found = grouped(recording)
    told = shares(found)
    summary, timeline = recording.summary, recording.summary["timeline"]
    span = timeline["span_ns"]
    busy = found.total_ns / span if span and recording.has_times else None
    return ProgramReport(
        program=tuple(program),
        front=summary["front"],
        timed=recording.has_times,
        seconds=summary["seconds"],
        launches=recording.launches,
        graph_launches=summary["graph_launches"],
        functions=len(recording.functions),
        configurations=len(found.groups),
        kernel_ms=found.total_ns / 1e6,
        span_ms=span / 1e6,
        busy=busy,
        transfers={t["kind"]: (t["count"], t["sum_ns"] / 1e6) for t in summary["transfers"]},
        kernels=tuple(_row(each, readable, sources) for each in told),
        representative=tuple(each.group.label for each in representative(told)),
        unplaced_ms=sum(u.sum_ns for u in found.unplaced) / 1e6,
        unplaced=tuple(readable.get(u.name, u.name) for u in found.unplaced[:5]),
        timeline=_worked(timeline),
        problems=dict(recording.problems) | _lacks(recording),
        other_processes=other_processes,
        advice=_advice(found, told, busy),
    )


def _row(each: Share, readable: Mapping[str, str], sources: Mapping[str, str]) -> KernelRow:
    group, c = each.group, each.group.configuration
    return KernelRow(
        label=group.label,
        name=readable.get(c.function.name, c.function.name),
        bucket=group.bucket,
        grid=c.grid,
        block=c.block,
        shared=c.shared,
        count=group.count,
        in_graphs=group.in_graphs,
        share=each.share,
        covered=each.covered,
        typical_us=group.typical_ns / 1e3,
        most_gain=None if each.most_gain == float("inf") else each.most_gain,
        gain_if_twice=each.gain_if_twice,
        ordinal=group.ordinal,
        code_known=bool(c.function.image),
        source=sources.get(c.function.image, ""),
    )


def _lacks(recording: Recording) -> dict[str, str]:
    found = dict[str, str]()
    devices = recording.summary["devices"]
    if len(devices) > 1:
        found["gpus"] = (
            f"the program used {len(devices)} GPUs: kernels are counted together, and only those "
            "of one can be kept and replayed. Set CUDA_VISIBLE_DEVICES to one of them"
        )
    if not recording.summary["ended"]:
        found["ended"] = (
            "the program did not end by itself (_exit, a signal, or it still runs): its last "
            "seconds are not known"
        )
    if dropped := recording.summary["records_dropped"]:
        found["dropped"] = f"CUPTI dropped {dropped} records: times of those launches are estimated"
    plain = sum(c.count - c.captured for c in recording.configurations)
    timed = sum(c.timed for c in recording.configurations)
    if recording.has_times and timed < plain and not dropped:
        found["times"] = (
            f"times were taken of {timed} of {plain} launches, in windows so that they cost the "
            "program little: the others are taken to have lasted as long as those of their kind"
        )
    return found


def _worked(timeline: Mapping[str, Any]) -> tuple[float, ...]:
    """Share of each stretch in which kernels ran; where nobody looked, as in the one before."""
    busy: Sequence[int] = timeline["busy_ns"]
    looked: Sequence[int] = timeline.get("looked_ns") or [timeline["width_ns"]] * len(busy)
    found, last = list[float](), 0.0
    for ns, of in zip(busy, looked, strict=True):
        last = min(1.0, ns / of) if of else last
        found.append(last)
    return tuple(found)


def _advice(found: Grouped, told: Sequence[Share], busy: float | None) -> str:
    if not told:
        return "no kernel was launched"
    if busy is None:
        return "no times were recorded: this ranks by number of launches"
    first = told[0]
    text = (
        f"the largest kernel has {first.share:.0%} of the GPU's time: twice as fast, it makes the "
        f"whole {first.gain_if_twice:.2f}x"
    )
    if busy < BUSY:
        text += (
            f"; kernels run in only {busy:.0%} of the time between the first and the last, so the "
            "host (launches, synchronisation, data) bounds this program: look there first"
        )
    return text


# As text


def report_text(report: ProgramReport, rows: int = MOST_ROWS) -> str:
    """The report as a person reads it, 100 characters wide."""
    lines = [*_head(report), ""]
    lines += _table(report.kernels[:rows], report)
    if (more := len(report.kernels) - rows) > 0:
        lines.append(f"  and {more} more")
    if report.unplaced_ms:
        lines.append(
            f"  {report.unplaced_ms:.3f} ms in kernels that no launch stands for: "
            + shortened(", ".join(report.unplaced), NAME_CHARS)
        )
    lines += ["", report.advice]
    lines += [f"note: {text}" for text in report.problems.values()]
    if report.other_processes:
        lines.append(f"note: {report.other_processes} other processes launched kernels as well")
    return "\n".join(lines)


def _head(r: ProgramReport) -> list[str]:
    graphs = f", {r.graph_launches} launches of graphs" if r.graph_launches else ""
    lines = [
        f"{r.launches} launches of {r.functions} kernels in {r.configurations} configurations"
        f"{graphs}, {r.seconds:.1f} s"
    ]
    if r.timed and r.busy is not None:
        lines.append(
            f"GPU: {r.kernel_ms:.3f} ms in kernels, {r.busy:.0%} of the {r.span_ms:.3f} ms from "
            "the first to the last"
        )
        lines.append("      |" + timeline_text(r.timeline) + "|")
    if r.transfers:
        told = (f"{kind} {n}x {ms:.3f} ms" for kind, (n, ms) in sorted(r.transfers.items()))
        lines.append("copies: " + ", ".join(told))
    chosen = len(r.representative)
    kind = "GPU's time" if r.timed else "launches"
    lines.append(f"{chosen} of {r.configurations} configurations make {COVERED:.0%} of the {kind}")
    return lines


def timeline_text(timeline: Sequence[float]) -> str:
    """A character for each stretch of time: how much of it the GPU worked."""
    return "".join(BLOCKS[round(max(0.0, min(1.0, v)) * (len(BLOCKS) - 1))] for v in timeline)


def share_bar(share: float) -> str:
    """A bar of `BAR` characters."""
    filled = round(share * BAR)
    return "█" * filled + "·" * (BAR - filled)


def _table(rows: Sequence[KernelRow], report: ProgramReport) -> list[str]:
    head = f"{'share':>6} {'sum':>5} {'':{BAR}} {'count':>7} {'us':>9} {'2x':>6}  kernel"
    lines = [head]
    for row in rows:
        where = f" ({row.in_graphs} in graphs)" if row.in_graphs else ""
        bucket = "" if row.bucket == "all" else f" [{row.bucket}]"
        lines.append(
            f"{row.share:6.1%} {row.covered:5.0%} {share_bar(row.share)} {row.count:7d} "
            f"{row.typical_us:9.2f} {row.gain_if_twice:5.2f}x  "
            f"{shortened(row.name, NAME_CHARS)}{bucket}"
        )
        lines.append(
            f"{'':{BAR + 39}}{row.label} grid {_size(row.grid)} block {_size(row.block)} "
            f"shared {row.shared}{where}"
        )
        if row.source:
            lines.append(f"{'':{BAR + 39}}{row.source}")
    return lines


def _size(size: tuple[int, int, int]) -> str:
    x, y, z = size
    return f"{x}" if y == z == 1 else f"{x}x{y}" if z == 1 else f"{x}x{y}x{z}"
