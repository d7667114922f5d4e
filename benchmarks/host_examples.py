"""Every host example with knobs, searched by rules alone.

Usage: python benchmarks/host_examples.py

Takes many minutes an example, as each comparison runs a baseline of tens of milliseconds again.
Writes benchmarks/results/host_examples.json, from which `readme_table.py` makes README's table.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from environment import ROOT, write

from kernelwright.evaluation.difference import changed_between
from kernelwright.search.session.optimize import Failed, Finished, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings

EXAMPLES = ("matmul", "softmax", "stencil")
BUDGET = 40


def main() -> None:
    """Search each example in a state folder of its own, print a short table, write the result."""
    rows = list[dict[str, Any]]()
    for name in EXAMPLES:
        rows.append(row := _search(name))
        print(
            f"{row['kernel']:8} {row['speedup']:.3g}x ({row['low']:.3g} to {row['high']:.3g}), "
            f"held out {row['held_out_speedup']:.3g}x, {row['builds']} builds in "
            f"{row['seconds']:.0f} s; reaches {row['reaches']}",
            flush=True,
        )
    path = write("host_examples", {"budget_builds": BUDGET, "planner": "rules", "examples": rows})
    print(path.relative_to(ROOT))


def _search(name: str) -> dict[str, Any]:
    started, folder = time.monotonic(), ROOT / "examples" / name
    with tempfile.TemporaryDirectory() as out, Workbench(Path(out), [folder]) as bench:
        for event in optimize(bench, [folder / "spec.json"], Settings(budget_builds=BUDGET)):
            if isinstance(event, Failed):
                raise event.error
            if isinstance(event, Finished):
                return _row(bench, event, time.monotonic() - started)
    raise RuntimeError("a search ended without a result")


def _row(bench: Workbench, event: Finished, seconds: float) -> dict[str, Any]:
    kernel, found = event.kernel, event.confirmation
    assert found is not None and found.visible is not None and found.held_out is not None
    ratio, hidden = found.visible.ratios[0], found.held_out.ratios[0]
    best = bench.evaluator.variant(found.variant_id).variant
    return {
        "kernel": kernel.loaded.spec.name,
        "accepted": found.accepted,
        "speedup": ratio.speedup,
        "low": ratio.low,
        "high": ratio.high,
        "held_out_speedup": hidden.speedup,
        "held_out_low": hidden.low,
        "held_out_high": hidden.high,
        "baseline_ms": kernel.baseline_ms,
        "best_ms": {w.workload: w.median_ms[found.variant_id] for w in found.visible.workloads},
        "changed": changed_between(bench.evaluator.variant(kernel.baseline).variant, best),
        "reaches": event.reaches,
        "builds": event.status.builds,
        "evaluations": event.status.evaluations,
        "endings": event.status.endings,
        "seconds": seconds,
    }


if __name__ == "__main__":
    main()
