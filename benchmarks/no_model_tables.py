"""What no_model.json says: a short table for a terminal, one in Markdown, several files as one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cells import speedup, times

Result = dict[str, Any]
Row = dict[str, Any]

TARGET = 0.9
"""Share of the copy bandwidth, or of the library's speed, that the benchmark is meant to reach."""
SAME_PLACE = ("gpu", "driver", "cuda", "packages")
HEADINGS = ("kernel", "of", "baseline", "best", "speedup", "held out", "builds", "s", "moves")


def share(row: Row, side: str) -> float | None:
    """How near a side (`baseline`, `best`) is to what bounds the kernel, 1 = there: the measured
    copy bandwidth where memory does, else the library's speed; None: unknown. The lowest of the
    workloads."""
    ms = row[f"{side}_ms"]
    if bounded_by_memory(row):
        found = [row[f"{side}_of_copy_bandwidth"].get(w) for w in ms]
    else:
        library = row.get("library_ms", {})
        found = [library[w] / t if w in library else None for w, t in ms.items()]
    known = [each for each in found if each is not None]
    return min(known) if len(known) == len(found) else None


def bounded_by_memory(row: Row) -> bool:
    """Whether the declared work of every workload waits for memory."""
    return set(row["bound"].values()) == {"memory"}


def gain(row: Row) -> float:
    """The confirmed speedup; 1 where none was confirmed."""
    return float(row.get("speedup", 1.0))


def summary(rows: Sequence[Row]) -> str:
    """One line: geometric mean of the speedups, and how many are near to what bounds them."""
    done = [row for row in rows if "error" not in row]
    if not done:
        return "no kernel came to a result"
    mean = math.exp(sum(math.log(gain(row)) for row in done) / len(done))
    by_memory = [row for row in done if bounded_by_memory(row)]
    others = [row for row in done if not bounded_by_memory(row)]
    near = [sum((share(r, "best") or 0) >= TARGET for r in some) for some in (by_memory, others)]
    return (
        f"{len(done)} kernels, geometric mean speedup {mean:.3g}x; {near[0]} of {len(by_memory)} "
        f"bound by memory at {TARGET:.0%} or more of a copy's bandwidth, {near[1]} of "
        f"{len(others)} others at {TARGET:.0%} or more of the library's speed"
    )


def table(rows: Sequence[Row]) -> str:
    """The results as lines of text, in columns; failed kernels below, the summary last."""
    lines = [HEADINGS, *(_cells(row) for row in rows if "error" not in row)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    text += [f"{row['kernel']} failed: {row['error']}" for row in rows if "error" in row]
    return "\n".join([*text, summary(rows)])


def markdown(result: Result) -> str:
    """The results in Markdown, with where and when they were measured."""
    place, rows = result["environment"], result["kernels"]
    packages = place.get("packages", {})
    beside = "".join(f", {p} {packages[p]}" for p in ("torch", "triton") if p in packages)
    dates = sorted({row.get("date", place["date"]) for row in rows})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    budgets = Counter(
        row.get("budget_seconds", result["budget_seconds"]) for row in rows if "error" not in row
    )
    seconds = " or ".join(f"{each:g} s ({budgets[each]} kernels)" for each in sorted(budgets))
    lines = [
        "",
        f"Beginner's kernels (`benchmarks/kernels/`) on an {place['gpu']} (driver "
        f"{place['driver']}, CUDA {place['cuda'].partition(',')[0]}{beside}, {when}), "
        f"rules only, at most {result['budget_builds']} builds each in a search of {seconds} "
        "(`benchmarks/no_model.py`). Shares are of the copy bandwidth that was measured beside "
        "them, or of the speed of torch and cuBLAS; speedups are those of the confirmation, with "
        "95 % intervals.",
        "",
        "| kernel | share of | baseline | best | baseline, ms | best, ms | speedup "
        "| on the held-out shape | builds | moves |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(_markdown_line(row) for row in rows if "error" not in row),
        "",
        f"{summary(rows)}.",
    ]
    return "\n".join([*lines, ""])


def joined(results: Sequence[Result]) -> Result:
    """Results of several runs as one; of a kernel that occurs twice the later row counts. Each row
    keeps the commit, the date and the seconds of its run; all else is the last run's.

    Raises ValueError when they were measured on different GPUs, drivers or compilers, or with other
    settings than the seconds.
    """
    last = results[-1]
    for other in results[:-1]:
        differing = [n for n in SAME_PLACE if _place(last, n) != _place(other, n)]
        differing += ["settings"] if _settings(last) != _settings(other) else []
        differing += ["gpus"] if last["gpus"] != other["gpus"] else []
        if differing:
            raise ValueError(f"these results differ in {', '.join(differing)}")
    rows = {row["kernel"]: _dated(row, result) for result in results for row in result["kernels"]}
    return {
        **last,
        "kernels": [rows[name] for name in sorted(rows)],
        "not_begun": sorted({n for r in results for n in r["not_begun"]} - rows.keys()),
    }


def _dated(row: Row, result: Result) -> Row:
    run = {name: result["environment"].get(name) for name in ("commit", "date")}
    return {**run, "budget_seconds": result["budget_seconds"], **row}


def _settings(result: Result) -> Row:
    return {**result["settings"], "budget_seconds": None}


def _place(result: Result, name: str) -> object:
    return result["environment"].get(name)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _moves(row: Row) -> str:
    return ", then ".join(move["method"] for move in row["moves"]) or "none"


def _of(row: Row) -> str:
    return "copy" if bounded_by_memory(row) else "library"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row["kernel"],
        _of(row),
        _percent(share(row, "baseline")),
        _percent(share(row, "best")),
        speedup(row, ""),
        speedup(row, "held_out_"),
        str(row["builds"]),
        f"{row['seconds']:.0f}",
        _moves(row),
    )


def _markdown_line(row: Row) -> str:
    name, of, *shares, faster, hidden, builds, _, moves = _cells(row)
    cells = (name, of, *shares, times(row["baseline_ms"]), times(row["best_ms"]))
    return f"| {' | '.join((*cells, faster, hidden, builds, moves))} |"
