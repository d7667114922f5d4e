"""Plain CUDA kernels made faster by rules alone, beside torch on the same GPU in the same run.

    python benchmarks/schedules.py [--builds 12] [--seconds 7] [--only WORD] [--stop-after 140]

The kernels of `schedules_kernels.py`, those that schedules were developed on apart from those that
were held out. Writes benchmarks/results/schedules.json after each kernel; a table last.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from environment import ROOT, write
from gpu_examples import row_of
from recording import moves_to
from schedules_kernels import DEVELOPED, HELD_OUT

from kernelwright.runners.errors import KernelwrightError
from kernelwright.search.session.optimize import Failed, Finished, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.graph import graph_of

RESULT = "schedules"


def main() -> None:
    """Measure torch, then search every kernel; the result is whole after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=7.0)
    parser.add_argument(
        "--only", default="", help="kernels whose name has one of these words, by commas"
    )
    parser.add_argument("--stop-after", type=float, default=140.0, metavar="SECONDS")
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    began, rows = time.monotonic(), list[dict[str, Any]]()
    settings = Settings(budget_builds=asked.builds, budget_seconds=asked.seconds)
    beside = _torch()
    path = Path()
    with tempfile.TemporaryDirectory() as folder:
        specs, out = Path(folder) / "specs", Path(folder) / "out"
        specs.mkdir()
        with Workbench(out, [specs]) as bench:
            for kind, kernels in (("held out", HELD_OUT), ("developed", DEVELOPED)):
                for name, plain in kernels.items():
                    if (
                        any(w in name for w in asked.only.split(","))
                        and time.monotonic() - began < asked.stop_after
                    ):
                        file = specs / f"k{len(rows)}.json"
                        file.write_text(json.dumps(plain.spec(f"k{len(rows)}")), encoding="utf-8")
                        row = {"kernel": name, "kind": kind, **_searched(bench, file, settings)}
                        rows.append(row | {"torch_ms": beside["ms"].get(name, {})})
                        path = write(
                            RESULT,
                            {
                                "settings": settings.model_dump(mode="json"),
                                "torch": {k: v for k, v in beside.items() if k != "ms"},
                                "kernels": rows,
                            },
                            asked.output,
                        )
                        print(f"{name}: {row.get('moves') or row.get('error')}", flush=True)
    print(_table(rows))
    print(path)
    sys.exit(any("error" in row for row in rows))


def _torch() -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "schedules_torch.py")],
        capture_output=True, text=True, timeout=90,
    )  # fmt: skip
    if ran.returncode:
        print(ran.stderr[-800:], file=sys.stderr)
        return {"ms": {}}
    return json.loads(ran.stdout.strip().splitlines()[-1])


def _searched(bench: Workbench, spec: Path, settings: Settings) -> dict[str, Any]:
    began = time.monotonic()
    try:
        for event in optimize(bench, [spec], settings):
            if isinstance(event, Failed):
                raise event.error
            if isinstance(event, Finished):
                return _row(bench, event, time.monotonic() - began)
    except KernelwrightError as error:
        return {"error": str(error)}
    return {"error": "a search ended without a result"}


def _row(bench: Workbench, event: Finished, seconds: float) -> dict[str, Any]:
    """The search's row, what led to the winner, and its source."""
    row = row_of(bench, event, seconds)
    graph = graph_of(bench.store, event.status.search_id)
    found = event.confirmation
    best = found.variant_id if found is not None and event.improved else event.kernel.baseline
    source = bench.evaluator.variant(best).variant.source
    mine = "// schedule: " in source
    return {**row, "by_schedule": mine, "moves": moves_to(graph, best), "source": source}


def _table(rows: list[dict[str, Any]]) -> str:
    """Milliseconds of the main workload, and whether a schedule wrote the best."""
    lines = ["kernel | before | best | held out | eager | compiled | schedule"]
    for row in rows:
        if "error" in row:
            lines.append(f"{row['kernel']} | {row['error'][:160]}")
            continue
        before, best = (next(iter(row[k].values()), 0.0) for k in ("baseline_ms", "best_ms"))
        torch = [row["torch_ms"].get(k, float("nan")) for k in ("eager", "compiled")]
        lines.append(
            f"{row['kernel']} | {before:.4f} | {best:.4f} | {row.get('held_out_speedup', 0):.2f}x"
            f" | {torch[0]:.4f} | {torch[1]:.4f} | {row['by_schedule']}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
