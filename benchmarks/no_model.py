"""Beginner's kernels made faster by rules alone, beside what the machine and a library reach.

Usage: python benchmarks/no_model.py [KERNEL...] [--builds N] [--seconds S] [--set NAME=VALUE]
       python benchmarks/no_model.py --join FILE...

A kernel is named by its spec, its folder or its language; without names all are searched, one
after the other, on all GPUs that are visible. Writes benchmarks/results/no_model.json, from which
`readme_table.py` makes README's table, and with `--graphs` every search as a recorded graph. The
result is written after each kernel, so that what ends early leaves what it has. What one run does
not get done is named as `not_begun`; `--join` makes one result of several.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beginner_kernels import EXAMPLES, KERNELS, BeginnerKernel, beginner_kernels
from environment import RESULTS, write
from gpu_examples import row_of, shares, yardsticks
from no_model_tables import joined, table
from recording import moves_to, recorded_search, settings_of
from replay.recorded import RecordedGraph, graphs_to_bytes

from kernelwright.runners.errors import KernelwrightError
from kernelwright.search.session.optimize import Failed, Finished, Opened, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.graph import graph_of

BUILDS, SECONDS = 60, 35.0
RESULT = "no_model"


@dataclass
class Run:
    """What was measured so far, and where it is written."""

    kernels: Sequence[BeginnerKernel]
    settings: Settings
    output: Path | None
    graphs_file: Path | None
    yardsticks: dict[str, Any]
    gpus: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    graphs: list[RecordedGraph] = field(default_factory=list[RecordedGraph])

    def write(self) -> Path:
        """The result and the graphs as they are now."""
        begun = {row["kernel"] for row in self.rows}
        result = {
            "budget_builds": self.settings.budget_builds,
            "budget_seconds": self.settings.budget_seconds,
            "planner": "rules",
            "settings": self.settings.model_dump(mode="json"),
            "gpus": self.gpus,
            "yardsticks": self.yardsticks,
            "not_begun": [k.name for k in self.kernels if k.name not in begun],
            "kernels": self.rows,
        }
        if self.graphs_file is not None:
            self.graphs_file.parent.mkdir(parents=True, exist_ok=True)
            self.graphs_file.write_bytes(graphs_to_bytes(self.graphs))
        return write(RESULT, result, self.output)


def main() -> None:
    """Search the kernels that were asked for, or join results; print a table."""
    asked = _arguments()
    if asked.join:
        _join(asked.join, asked.output)
        return
    try:
        chosen = beginner_kernels(asked.kernels)
        settings = _settings(asked)
    except ValueError as error:
        sys.exit(str(error))
    began = time.monotonic()
    measured = yardsticks([kernel.path for kernel in chosen])
    run = Run(chosen, settings, asked.output, asked.graphs, measured)
    path = run.write()
    with tempfile.TemporaryDirectory() as out:
        with Workbench(Path(out), [KERNELS, EXAMPLES], asked.gpus.split(",")) as bench:
            run.gpus = len(bench.gpus.present())
            for kernel in chosen:
                if time.monotonic() - began > asked.stop_after:
                    break
                print(f"{kernel.name} ...", flush=True)
                run.rows.append(_searched(bench, kernel, run))
                path = run.write()
    print(table(run.rows))
    print(path)
    sys.exit(any("error" in row for row in run.rows))


def _searched(bench: Workbench, kernel: BeginnerKernel, run: Run) -> dict[str, Any]:
    """One kernel's row; with `error` instead of results when it came to nothing."""
    name = {"kernel": kernel.name, "language": kernel.language}
    try:
        return {**name, **_row(bench, kernel, run)}
    except KernelwrightError as error:
        return {**name, "error": str(error)}


def _row(bench: Workbench, kernel: BeginnerKernel, run: Run) -> dict[str, Any]:
    began = opened = time.monotonic()
    for event in optimize(bench, [kernel.path], run.settings):
        if isinstance(event, Opened):
            opened = time.monotonic()
        elif isinstance(event, Failed):
            raise event.error
        elif isinstance(event, Finished):
            seconds = time.monotonic() - began
            row = {**row_of(bench, event, seconds), "opening_s": opened - began}
            return row | _more(bench, event, row, run)
    raise RuntimeError("a search ended without a result")


def _more(bench: Workbench, event: Finished, row: dict[str, Any], run: Run) -> dict[str, Any]:
    """What this benchmark tells beside the demo of the examples."""
    name, found = event.kernel.loaded.spec.name, event.confirmation
    search_id = event.status.search_id
    run.graphs.append(recorded_search(bench, search_id))
    winner = found.variant_id if found is not None and event.improved else event.kernel.baseline
    before = shares(bench, event.kernel, row["baseline_ms"])
    library = run.yardsticks.get("ms", {}).get(name, {})
    return {
        "baseline_of_copy_bandwidth": before["of_copy_bandwidth"],
        "best_of_copy_bandwidth": row["of_copy_bandwidth"],
        "library_ms": {w: ms for w, ms in library.items() if w in row["best_ms"]},
        "moves": moves_to(graph_of(bench.store, search_id), winner),
        "stages_s": _stages(bench, event.kernel.kernel_id),
        "stopped": event.status.stopped,
        "confirmation": "" if found is None else found.message,
    }


def _stages(bench: Workbench, kernel_id: str) -> dict[str, float]:
    """Seconds of all evaluations by stage; stages of several side by side add up."""
    spent = Counter[str]()
    for _, value in bench.store.items("evaluations"):
        if value["kernel_id"] == kernel_id:
            spent.update(value["seconds"])
    return {stage: round(seconds, 2) for stage, seconds in spent.items()}


def _settings(asked: argparse.Namespace) -> Settings:
    """The budget that was asked for and what `--set` says; nothing that one kernel taught weighs in
    the search of another. Raises ValueError."""
    budget = {"budget_builds": asked.builds, "budget_seconds": asked.seconds}
    return settings_of({"regraph": "off", **budget}, asked.set)


def _join(files: Sequence[Path], output: Path | None) -> None:
    result = joined([json.loads(file.read_text(encoding="utf-8")) for file in files])
    path = output or RESULTS / f"{RESULT}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(table(result["kernels"]))
    print(path)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("kernels", nargs="*", help="specs, folders or languages; default: all")
    parser.add_argument("--builds", type=int, default=BUILDS, help="of each kernel, at most")
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help="of each search, opening and confirming aside",
    )
    parser.add_argument("--set", nargs="+", default=(), metavar="NAME=VALUE", help="of the search")
    parser.add_argument("--gpus", default="all", help="indices or UUIDs, with commas")
    parser.add_argument(
        "--stop-after", type=float, default=float("inf"), help="seconds; no kernel begins later"
    )
    parser.add_argument("--output", type=Path, help="a file in place of the one in results/")
    parser.add_argument("--graphs", type=Path, help="a file (.json.gz) for the recorded searches")
    parser.add_argument("--join", nargs="+", type=Path, metavar="FILE", help="results to join")
    return parser.parse_args()


if __name__ == "__main__":
    main()
