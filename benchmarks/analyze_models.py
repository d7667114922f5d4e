"""Five architectures through `kernelwright analyze` and its ladder: predicted and measured gains.

Usage: python benchmarks/analyze_models.py [OUTPUT] [--only NAME] [--seconds N]
Writes benchmarks/results/analyze_models.json. The models (benchmarks/models/) are made from their
files alone, with random weights.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median
from typing import Any

from environment import ROOT, write

from kernelwright.analysis.modules.report import ModuleReport
from kernelwright.analysis.modules.told import told
from kernelwright.runners.errors import KernelwrightError
from kernelwright.tools.parts.models.asked import Asked, report_on, rungs_named

MODELS = ("decoder", "vit", "unet", "moe", "gnn")
RUNGS = (
    "channels_last", "sdpa", "tf32", "bf16", "graphs", "compile", "compile+graphs",
    "bf16+compile", "bf16+compile+graphs",
)  # fmt: skip
OF = {"unet": {"sdpa"}, "gnn": {"sdpa", "channels_last"}, "moe": {"sdpa", "channels_last"}}
"""steps that cannot apply: left out, to save time"""
PHASES = ("eager", "trace", "roofs", "own_shapes", "attention", "breaks", "ladder")


def main() -> None:
    """Analyze all of them, or those that there is time for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("output", nargs="?", type=Path)
    parser.add_argument("--only", action="append", choices=MODELS)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no model after these")
    parser.add_argument("--rung", action="append")
    given = parser.parse_args()
    found, failed, start = dict[str, ModuleReport](), dict[str, str](), time.monotonic()
    names = given.only or MODELS
    for number, name in enumerate(names):
        left = given.seconds - (time.monotonic() - start)
        if left <= 0:
            failed[name] = "no time was left"
            continue
        rungs = given.rung or [r for r in RUNGS if not set(r.split("+")) & OF.get(name, set())]
        try:
            found[name] = report_on(_asked(name, rungs, 1.5 * left / (len(names) - number)))
        except KernelwrightError as error:
            failed[name] = str(error)
            continue
        print(
            f"== {name} after {time.monotonic() - start:.0f} s\n{told(found[name])}\n", flush=True
        )
        write("analyze_models", _result(found, failed), given.output)
    write("analyze_models", _result(found, failed), given.output)
    print(_table(found, failed))


def _asked(name: str, rungs: list[str], seconds: float) -> Asked:
    return Asked(
        path=ROOT / "benchmarks" / "models" / f"{name}.py",
        allow=("tf32", "bf16"),
        rungs=rungs_named(rungs),
        phases=PHASES,
        budget_s=seconds,
    )


def _result(found: dict[str, ModuleReport], failed: dict[str, str]) -> dict[str, Any]:
    models = {name: _kept(report) for name, report in found.items()}
    off = [abs(row.off) for r in found.values() for row in r.ladder if row.off is not None]
    return {
        "models": models,
        "failed": failed,
        "rungs_with_prediction": len(off),
        "median_error_of_predicted_gain": median(off) if off else None,
    }


def _kept(report: ModuleReport) -> dict[str, Any]:
    """The report without its longest tables."""
    kept = report.model_dump(mode="json")
    kept["operators"] = kept["operators"][:12]
    kept["modules"] = kept["modules"][:20]
    return kept


def _table(found: dict[str, ModuleReport], failed: dict[str, str]) -> str:
    lines = [
        f"{'model':8} {'rung':22} {'predicted':>9} {'measured':>9} {'off':>7} {'rms':>8} outputs"
    ]
    for name, report in found.items():
        for row in report.ladder:
            if row.failed or row.speedup is None:
                lines.append(f"{name:8} {row.name:22} {row.failed[:90]}")
                continue
            gain = "" if row.off is None else f"{row.speedup.speedup * (1 + row.off):.3f}x"
            off = "" if row.off is None else f"{100 * row.off:+.0f} %"
            rms = "" if row.agreement is None else f"{row.agreement.rms:.0e}"
            lines.append(
                f"{name:8} {row.name:22} {gain:>9} {row.speedup.speedup:8.3f}x {off:>7} {rms:>8} "
                f"{row.verdict}"
            )
    every = [abs(row.off) for r in found.values() for row in r.ladder if row.off is not None]
    if every:
        lines.append(f"median error of {len(every)} predicted gains: {100 * median(every):.1f} %")
    return "\n".join(lines + [f"{name}: {why}" for name, why in failed.items()])


if __name__ == "__main__":
    main()
