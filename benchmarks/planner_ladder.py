"""Scripted replies of a planner on a GPU: ladders of kernels written by hand go the whole way.

    python benchmarks/planner_ladder.py [KERNEL...] [--planners command,mixed,rules] [--builds 8]

Each kernel of `benchmarks/ladders/` starts as the beginner's kernel of `benchmarks/kernels/` and is
asked of `ladders/answer.py`, which answers with the next step of its ladder: brief, candidate,
gates, verdict, memory and ReGraph are those of any planner. `mixed` begins with rules and asks the
same program; `rules` asks nobody. All have the same number of builds. The steps were written for
this; what they show is that gains are told step by step as they are, not what a model would find.
Writes benchmarks/results/planner_ladder.json.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from environment import RESULTS, ROOT, write

from kernelwright.runners.errors import KernelwrightError
from kernelwright.search.drivers.drivers import DriverName
from kernelwright.search.drivers.settings import PlannerSettings
from kernelwright.search.session.optimize import Answered, Failed, Finished, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.records import StepReport
from kernelwright.server.planning.answering import Answerer
from kernelwright.store.lessons import memory_rows
from kernelwright.tools.brief.assemble import brief_of

LADDERS, KERNELS = ROOT / "benchmarks" / "ladders", ROOT / "benchmarks" / "kernels"
SPECS = {"sgemm": "gemm", "softmax": "softmax", "rmsnorm": "rmsnorm"}
PLANNERS: dict[str, DriverName | None] = {"command": "command", "mixed": "mixed", "rules": None}


def main() -> None:
    """Search every kernel with every planner; a table last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=", ".join(SPECS))
    parser.add_argument("--planners", default=",".join(PLANNERS))
    parser.add_argument("--builds", type=int, default=8)
    parser.add_argument("--stop-after", type=float, default=1e9, metavar="SECONDS")
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    if unknown := {*asked.kernels} - {*SPECS}:
        parser.error(f"no ladder of {', '.join(sorted(unknown))}; valid: {', '.join(SPECS)}")
    began, rows = time.monotonic(), list[dict[str, Any]]()
    path = asked.output or RESULTS / "planner_ladder.json"
    for kernel in asked.kernels or SPECS:
        for planner in asked.planners.split(","):
            if time.monotonic() - began < asked.stop_after:
                rows.append({"kernel": kernel, "planner": planner, **run(kernel, planner, asked)})
                path = write("planner_ladder", {"builds": asked.builds, "runs": rows}, asked.output)
                print(f"{kernel} {planner}: {rows[-1].get('confirmed') or rows[-1]}", flush=True)
    print(table(rows))
    print(path)
    sys.exit(any("error" in row for row in rows))


def run(kernel: str, planner: str, asked: argparse.Namespace) -> dict[str, Any]:
    """One search in a store of its own, told as facts."""
    spec = KERNELS / SPECS[kernel] / "cuda.json"
    settings = Settings(budget_builds=asked.builds, patience=10**6)
    with tempfile.TemporaryDirectory() as out:
        with Workbench(Path(out), [KERNELS], ()) as bench:
            try:
                return _searched(bench, spec, settings, _answerer(bench, kernel, planner))
            except KernelwrightError as error:
                return {"error": str(error)}


def _answerer(bench: Workbench, kernel: str, planner: str) -> Answerer | None:
    driver = PLANNERS[planner]
    if driver is None:
        return None
    command = (sys.executable, str(LADDERS / "answer.py"), str(LADDERS / kernel))
    return Answerer(bench, driver, PlannerSettings(command=command))


def _searched(
    bench: Workbench, spec: Path, settings: Settings, answerer: Answerer | None
) -> dict[str, Any]:
    began, steps, asked = time.monotonic(), list[dict[str, Any]](), 0
    for event in optimize(bench, [spec], settings, answering=answerer):
        match event:
            case StepReport():
                steps.append(_step(event))
            case Answered():
                asked += 1
            case Failed():
                raise event.error
            case Finished():
                return {
                    "questions": asked,
                    "steps": steps,
                    "confirmed": _confirmed(event),
                    "reaches": event.reaches,
                    "brief_tokens": brief_of(bench, event.kernel.incumbent).ledger,
                    "lessons": len(list(memory_rows(bench.store, event.kernel.kernel_id))),
                    "seconds": round(time.monotonic() - began, 1),
                }
            case _:
                pass
    raise AssertionError("a search ends finished or failed")


def _step(event: StepReport) -> dict[str, Any]:
    told = event.model_dump(
        mode="json",
        include={"step", "parent", "variant_id", "method", "detail", "ending", "speedup"}
        | {"interval", "became_incumbent", "speedup_over_parent", "builds"},
    )
    return {**told, "message": event.message.splitlines()[0][:200] if event.message else ""}


def _confirmed(event: Finished) -> dict[str, Any] | None:
    found = event.confirmation
    if found is None or found.ratio is None:
        return None
    ratio = found.ratio
    interval = [ratio.low, ratio.high]
    return {"accepted": found.accepted, "speedup": ratio.speedup, "interval": interval}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Every step with its gain, and how each run ended, in Markdown."""
    lines = ["| kernel | planner | step | ending | over its parent | over the baseline |"]
    lines.append("|---|---|---|---|---|---|")
    for row in rows:
        for step in row.get("steps", ()):
            lines.append(
                f"| {row['kernel']} | {row['planner']} | {step['method']} | {step['ending']} "
                f"| {_times(step['speedup_over_parent'])} | {_times(step['speedup'])} |"
            )
        end: dict[str, Any] = row.get("confirmed") or {}
        told = row.get("error") or ("confirmed" if end.get("accepted") else "not confirmed")
        lines.append(
            f"| {row['kernel']} | {row['planner']} | the end | {told} | "
            f"| {_times(end.get('speedup'))} |"
        )
    return "\n".join(lines)


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3g}x"


if __name__ == "__main__":
    main()
