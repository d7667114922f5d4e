"""Tables of the command line."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from ..runners import openmp
from ..runners.model import Comparison, GateResult
from ..runners.wording import speedup_text
from ..search.outdir.overview import VariantLine
from ..search.outdir.side_by_side import before_and_after, beside_reference
from ..search.session.optimize import Finished
from ..search.stored.records import SearchRecord
from ..store.records import Confirmation, Figure, KernelRecord, shapes_of
from .doctor import Fact, HostReport
from .terminal.grid import times_text

PLACED = "memory of their own each time, at offsets that the declared alignment allows"
SPEEDUP = "speedup (95 %)"
WHOLE = frozenset({"variant", "verdict", SPEEDUP, "method", "kernel", "search", "best"})
"""columns that are never broken into lines"""
GATE_STYLES = {"passed": "green", "failed": "bold red", "note": "yellow", "skipped": "dim"}
STYLES = {"faster": "green", "slower": "yellow", "tie": "dim", "unstable": "dim"}


def variant_table(lines: Sequence[VariantLine], limit: int | None = None) -> Table:
    """Variants: verdict, speedup with its interval, what sets them apart from the baseline."""
    table = _table("variant", "verdict", SPEEDUP, "changed", "method")
    for line in lines[:limit]:
        ending = "baseline" if line.is_baseline else str(line.ending or "not evaluated")
        mark = " *" if line.is_incumbent and not line.is_baseline else ""
        table.add_row(
            Text(line.variant_id + mark, "bold" if mark else ""),
            Text(ending, STYLES.get(ending, "" if line.is_baseline else "red")),
            _figure(line),
            line.changed,
            "" if line.is_baseline else line.record.method,
        )
    left = 0 if limit is None else max(0, len(lines) - limit)
    measured = "speedups are those of the search unless they say confirmed"
    notes = ["* best by direct comparison", measured] + [f"{left} more"] * (left > 0)
    table.caption = "; ".join(notes)
    table.caption_justify = "left"
    return table


def _figure(line: VariantLine) -> str:
    return speedup_text(1.0, None) if line.is_baseline else figure_text(line.figure)


def figure_text(told: Figure) -> str:
    """`43.2x (40.1 to 45), confirmed; 62.5x in the search`."""
    text = speedup_text(told.speedup, told.interval)
    if told.confirmed is not None:
        text += ", confirmed" if told.confirmed else ", not confirmed"
        text += "" if told.searched is None else f"; {told.searched:.3g}x in the search"
    return text


def kernel_table(kernels: Sequence[tuple[KernelRecord, Figure | None]]) -> Table:
    """Kernels, each with what is known of its incumbent."""
    table = _table("kernel", "baseline", "best", SPEEDUP, "opened")
    for kernel, best in kernels:
        times = times_text(kernel.baseline_ms)
        gained = "" if best is None else figure_text(best)
        incumbent = "baseline" if kernel.incumbent == kernel.baseline else kernel.incumbent
        table.add_row(kernel.kernel_id, times, incumbent, gained, kernel.opened_at)
    return table


def search_table(searches: Sequence[SearchRecord]) -> Table:
    """Searches with their stop verdict."""
    table = _table("search", "kernel", "planner", "budget", "started", "stopped")
    for search in searches:
        stopped = f"{search.stopped}: {search.stopped_text}" if search.stopped else "open"
        budget = str(search.settings.budget_builds)
        table.add_row(
            search.search_id, search.kernel_id, search.planner, budget, search.started_at, stopped
        )
    return table


def gate_table(gates: Sequence[GateResult]) -> Table:
    """Every gate in the order of the run, and what it had to say."""
    table = _table("gate", "outcome", "")
    for gate in gates:
        table.add_row(gate.gate, Text(gate.outcome, GATE_STYLES[gate.outcome]), gate.message)
    return table


def host_table(report: HostReport) -> Table:
    """Everything that `doctor` found."""
    table = _table("", "", "")
    table.show_header = False
    groups = (report.machine, report.compilers, report.confinement, report.gpu, report.packages)
    for facts in groups:
        for fact in facts:
            table.add_row(fact.name, _presence(fact), fact.detail)
        table.add_section()
    return table


def result_text(finished: Finished) -> str:
    """The lines below a kernel's table: verdict, confirmation, where the files lie."""
    lines = [_verdict(finished)]
    if finished.confirmation is not None:
        lines += [f"confirmation: {line}" for line in confirmation_lines(finished)]
    lines += _side_by_side(finished)
    lines.append(f"files: {finished.folder} (best -> {(finished.folder / 'best').readlink()})")
    if (finished.folder / "best" / "build.sh").is_file():
        lines.append(f"build it: sh {finished.folder / 'best' / 'build.sh'} (flags and macros)")
    who = "winner" if finished.improved else "baseline"
    lines.append(f"the {who} reaches {finished.reaches}")
    return "\n".join(lines)


def _side_by_side(finished: Finished) -> list[str]:
    """Times of baseline and winner from one comparison, and those of an expert beside them."""
    found, baseline = finished.confirmation, finished.kernel.baseline
    if found is None:
        return []
    times, expert = before_and_after(found, baseline), beside_reference(found, baseline)
    return [f"times side by side: {times}"] * bool(times) + [f"beside it: {expert}"] * bool(expert)


def confirmation_lines(finished: Finished) -> list[str]:
    """What was checked anew, and what came of it."""
    found = finished.confirmation
    assert found is not None
    held_out = [w.name for w in finished.kernel.loaded.spec.workloads if w.held_out]
    checked = ", ".join(held_out) if found.right and held_out else "none declared"
    if not found.right:
        checked = "not reached"
    lines = [found.message, f"held-out workloads checked: {checked}"]
    return lines if found.visible is None else [*lines, _varied(finished, found.visible)]


def _varied(finished: Finished, visible: Comparison) -> str:
    """Over what the interval was taken: what was the same in every block is not in it."""
    loaded = finished.kernel.loaded
    if loaded.spec.kernel.language.on_gpu:
        return f"varied: seeds, order, code loaded anew ({visible.blocks} blocks a shape)"
    where = "buffers" if not visible.placements else f"buffers ({PLACED})"
    ways = [
        "in a row",
        *["again and again on the same buffers"] * bool(visible.hot),
        *["once between other work"] * bool(visible.apart),
    ]
    return (
        f"varied: seeds, order, calls ({', '.join(ways)}), {where}, a process for each of "
        f"{visible.blocks} blocks a shape; "
        f"the same in all: this machine, OpenMP's variables ({openmp.told(loaded.environment)})"
    )


def _verdict(finished: Finished) -> str:
    name, found = finished.kernel.loaded.spec.name, finished.confirmation
    spent = f"{finished.status.builds} builds, {finished.status.evaluations} evaluations"
    if found is None:
        return f"{name}: nothing is faster than the baseline ({spent})"
    if not found.accepted:
        return f"{name}: {found.variant_id} was faster in the search but not confirmed ({spent})"
    gained = f"{_gain(found)}, confirmed on {shapes_of(found)}"
    return f"{name}: {found.variant_id} is {gained} ({spent})"


def _gain(confirmation: Confirmation) -> str:
    ratio = confirmation.ratio
    assert ratio is not None
    told = f"{speedup_text(ratio.speedup, confirmation.interval)} the baseline"
    return f"{told} (where buffers lie can take it away)" if ratio.hangs_on_placement else told


def _presence(fact: Fact) -> Text:
    if fact.present is None:
        return Text("")
    return Text("yes", "green") if fact.present else Text("no", "yellow")


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in WHOLE)
    return table
