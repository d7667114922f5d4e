"""How host searches by rules spend a budget: steps by method, builds of known code, gains.

Usage: python benchmarks/known_builds.py [KERNEL...] [--builds N] [--output FILE]

Searches every kernel of `host_beginners.py` anew, with nothing learned from the others. A build
*met known code* when its machine code is that of a variant of the same search that was measured
before. Gains are the best speedup over the baseline at 10, 20 and 40 builds of the budget
(`best_at_builds`), and after as many runs of the compiler, whatever they cost
(`best_after_compiles`). Nothing is confirmed: these are the figures that the search goes by. Writes
benchmarks/results/known_builds.json after each kernel.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environment import write
from host_beginners import CLAIMED_ON, DEVELOPED_ON, HostKernel
from recording import moves_to

from kernelwright.runners.loading.files import load_file
from kernelwright.search.session.session import SearchSession
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.graph import graph_of
from kernelwright.search.stored.records import SearchStopped, StepReport

BUILDS = 40
MARKS = (10, 20, 40)
"""builds after which the best is told"""


@dataclass(frozen=True)
class Step:
    """One step of a search, as the counts need it."""

    method: str
    compiled: bool
    """something was built for it"""
    known: bool
    """and had the machine code of a variant that was measured before"""
    best: float
    """speedup over the baseline of the best so far"""
    builds: int
    """of the budget, so far"""
    ending: str
    detail: str


def main() -> None:
    """Search the kernels that were asked for, and write what their steps were."""
    asked = _arguments()
    every = {kernel.name: kernel for kernel in (*DEVELOPED_ON, *CLAIMED_ON)}
    chosen = [every[name] for name in asked.kernels or every]
    rows = list[dict[str, Any]]()
    for kernel in chosen:
        rows.append(row := _searched(kernel, asked.builds))
        print(_line(row), flush=True)
        write("known_builds", _result(rows, asked.builds), asked.output)


def counted(steps: Sequence[Step]) -> dict[str, Any]:
    """What the steps of a search come to."""
    compiles = sum(step.compiled for step in steps)
    known = sum(step.known for step in steps)
    return {
        "steps": len(steps),
        "steps_by_method": dict(Counter(step.method for step in steps).most_common()),
        "compiles": compiles,
        "met_known_code": known,
        "share_of_known_code": round(known / compiles, 3) if compiles else 0.0,
    }


def total(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The counts of several searches together."""
    methods = Counter[str]()
    for row in rows:
        methods.update(row["steps_by_method"])
    compiles = sum(row["compiles"] for row in rows)
    known = sum(row["met_known_code"] for row in rows)
    return {
        "steps": sum(row["steps"] for row in rows),
        "steps_by_method": dict(methods.most_common()),
        "compiles": compiles,
        "met_known_code": known,
        "share_of_known_code": round(known / compiles, 3) if compiles else 0.0,
    }


def best_after(steps: Sequence[Step], counts: Iterable[int]) -> dict[str, float]:
    """The best speedup once so many builds were spent, by a running count of them; after fewer the
    best there is."""
    best, found = dict.fromkeys(map(str, MARKS), 1.0), 1.0
    for step, count in zip(steps, counts, strict=True):
        found = max(found, step.best)
        best |= {str(mark): round(found, 3) for mark in MARKS if count <= mark}
    return best


def _searched(kernel: HostKernel, builds: int) -> dict[str, Any]:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spec.json"
        file.write_text(json.dumps(kernel.spec), encoding="utf-8")
        with Workbench(Path(folder) / "out", [Path(folder)]) as bench:
            kernel_id = bench.evaluator.open(load_file(file, bench.roots)).kernel_id
            settings = Settings(budget_builds=builds, regraph="off")
            session = SearchSession.start(bench, kernel_id, settings)
            reports, stopped = _driven(session)
            steps = _steps(bench, reports, session.search_id)
            status = session.status()
            moves = moves_to(graph_of(bench.store, session.search_id), status.best)
            session.close()
    return {
        "kernel": kernel.name,
        "set": "developed on" if kernel in DEVELOPED_ON else "claimed on",
        **counted(steps),
        "builds": status.builds,
        "best_at_builds": best_after(steps, (step.builds for step in steps)),
        "best_after_compiles": best_after(steps, _running(step.compiled for step in steps)),
        "moves": moves,
        "stopped": stopped,
        "seconds": round(time.monotonic() - started, 1),
        "trace": [" ".join((s.method, s.detail, s.ending, "known" * s.known)) for s in steps],
    }


def _driven(session: SearchSession) -> tuple[list[StepReport], str]:
    """All steps, and why there are no more."""
    reports = list[StepReport]()
    while not isinstance(report := session.step(), SearchStopped):
        assert isinstance(report, StepReport)
        reports.append(report)
    return reports, report.reason


def _steps(bench: Workbench, reports: Sequence[StepReport], search_id: str) -> list[Step]:
    graph = graph_of(bench.store, search_id)
    edges = {e.steps[-1]: e for e in graph.edges.values() if e.steps}
    found, best = list[Step](), 1.0
    for number, report in enumerate(reports):
        best = max(best, report.speedup or 1.0) if report.became_incumbent else best
        compiled = not report.duplicate and report.variant_id is not None
        known = compiled and edges[number].variant is not None
        told = str(report.ending), report.detail
        found.append(Step(report.method, compiled, known, best, report.builds, *told))
    return found


def _running(flags: Iterable[bool]) -> Iterable[int]:
    total = 0
    for flag in flags:
        total += flag
        yield total


def _result(rows: Sequence[dict[str, Any]], builds: int) -> dict[str, Any]:
    names = dict.fromkeys(row["set"] for row in rows)
    totals = {name: total([row for row in rows if row["set"] == name]) for name in names}
    return {"budget_builds": builds, "planner": "rules", "totals": totals, "kernels": rows}


def _line(row: dict[str, Any]) -> str:
    best = ", ".join(f"{gain:.3g}x" for gain in row["best_at_builds"].values())
    return (
        f"{row['kernel']:12} {row['met_known_code']} of {row['compiles']} builds met known code; "
        f"best at {', '.join(map(str, MARKS))} builds: {best}; {row['seconds']:.0f} s"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("kernels", nargs="*", help="names of host_beginners.py; default: all")
    parser.add_argument("--builds", type=int, default=BUILDS, help="of each kernel, at most")
    parser.add_argument("--output", type=Path, help="a file in place of the one in results/")
    return parser.parse_args()


if __name__ == "__main__":
    main()
