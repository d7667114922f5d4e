"""What searches of `schedules.py` found, beside torch, by kernel and by kind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from cells import speedup
from schedules_corpus import KINDS

NEAR = 0.9
"""of the best of torch: near enough to be called level, before a search or after it"""
HEADINGS = (
    "kernel", "corpus", "kind", "before", "best", "speedup", "held out", "eager", "compiled",
    "before of torch", "best of torch", "schedule",
)  # fmt: skip


def joined(files: Iterable[Path]) -> list[dict[str, Any]]:
    """The rows of several results, such as those of shards."""
    return [row for file in files for row in json.loads(file.read_text("utf-8"))["kernels"]]


def told(rows: Sequence[dict[str, Any]]) -> str:
    """A line for each kernel, and a paragraph for each kind."""
    lines = [" | ".join(HEADINGS)]
    lines += [_line(row) for kind in KINDS for row in rows if row["kind"] == kind]
    return "\n".join([*lines, "", *(_kind(kind, rows) for kind in KINDS)])


def of_torch(row: dict[str, Any], side: str) -> float | None:
    """How fast the main workload is, as a share of the faster of eager and compiled: 1 is as fast,
    2 twice as fast. `side`: `baseline_ms` or `best_ms`. None: torch was not timed."""
    return min(row["torch_ms"].values()) / _main(row, side) if row["torch_ms"] else None


def summary(kind: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What a kind's searches come to: counts, geometric means, and the share of kernels with
    headroom, those that began below NEAR of the best of torch, that end at NEAR or above."""
    searched = [row for row in rows if row["kind"] == kind and "error" not in row]
    beside = [row for row in searched if of_torch(row, "best_ms") is not None]
    room = [row for row in beside if (of_torch(row, "baseline_ms") or 0) < NEAR]
    reached = [row for row in room if (of_torch(row, "best_ms") or 0) >= NEAR]
    return {
        "kernels": sum(row["kind"] == kind for row in rows),
        "searched": len(searched),
        "gained": sum(row["accepted"] for row in searched),
        "speedup": _mean(row.get("speedup", 1.0) for row in searched),
        "of_torch": _mean(of_torch(row, "best_ms") or 0 for row in beside),
        "with_headroom": len(room),
        "reached": len(reached),
    }


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return geometric_mean(found) if found else None


def _main(row: dict[str, Any], side: str) -> float:
    return next(iter(row[side].values()))


def _line(row: dict[str, Any]) -> str:
    begin = [row["kernel"], row["corpus"], row["kind"]]
    if "error" in row:
        return " | ".join([*begin, row["error"][:160]])
    torch = [row["torch_ms"].get(each) for each in ("eager", "compiled")]
    return " | ".join(
        [
            *begin,
            *(f"{_main(row, side):.4f}" for side in ("baseline_ms", "best_ms")),
            speedup(row, ""),
            speedup(row, "held_out_"),
            *("-" if ms is None else f"{ms:.4f}" for ms in torch),
            *(_share(of_torch(row, side)) for side in ("baseline_ms", "best_ms")),
            "yes" if row["by_schedule"] else "no",
        ]
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _kind(kind: str, rows: Sequence[dict[str, Any]]) -> str:
    found = summary(kind, rows)
    if not found["kernels"]:
        return f"{kind}: none"
    means = {k: "-" if found[k] is None else f"{found[k]:.2f}" for k in ("speedup", "of_torch")}
    return (
        f"{kind}: {found['searched']} of {found['kernels']} searched, {found['gained']} gained;"
        f" geometric mean {means['speedup']}x of the baseline,"
        f" {means['of_torch']} of the best of torch;"
        f" {found['reached']} of {found['with_headroom']} with headroom reach {NEAR:g} of it"
    )
