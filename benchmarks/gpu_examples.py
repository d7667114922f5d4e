"""Every GPU example searched by rules alone, beside what a library takes (`make gpu-demo`).

Usage: python benchmarks/gpu_examples.py [--builds N] [--seconds S] [--only NAME...] [--output FILE]

Writes benchmarks/results/gpu_examples.json, from which `readme_table.py` makes README's table.
An example that fails is reported and the others go on; the exit status is 1 then.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cells import percents, speedup, times
from environment import ROOT, write

from kernelwright.analysis.roofline import summary
from kernelwright.evaluation.difference import changed_between
from kernelwright.evaluation.evidence.headroom import peaks_for
from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.limits.gpu_limits import gpu_peaks
from kernelwright.search.session.optimize import Failed, Finished, Opening, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.store.records import KernelRecord

BUILDS, SECONDS = 24, 25.0
YARDSTICKS_S = 300.0
HEADINGS = (
    "kernel", "baseline, ms", "best, ms", "speedup", "held out", "of a copy", "of datasheet",
    "library / best", "builds", "s",
)  # fmt: skip


@dataclass(frozen=True)
class Example:
    """One spec among the examples."""

    name: str
    path: Path


def main() -> None:
    """Search, measure the libraries, write the result and print a table."""
    asked = _arguments()
    chosen = gpu_examples(asked.only)
    settings = Settings(budget_builds=asked.builds, budget_seconds=asked.seconds)
    rows = searched(chosen, settings)
    measured = yardsticks([each.path.parent for each in chosen])
    if "ms" in measured:
        rows = [with_library(row, measured["ms"]) for row in rows]
    result = {
        "budget_builds": asked.builds,
        "budget_seconds": asked.seconds,
        "planner": "rules",
        "yardsticks": measured,
        "examples": rows,
    }
    path = write("gpu_examples", result, asked.output)
    print(table(rows))
    print(path)
    sys.exit(any("error" in row for row in rows))


def gpu_examples(only: Sequence[str] = ()) -> list[Example]:
    """The specs of GPU kernels: all, or those named by spec or folder; exits for any other."""
    found = list[Example]()
    for path in sorted((ROOT / "examples").glob("*/*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["kernel"]["kernel_type"] in ("triton", "cuda"):
            found.append(Example(data["name"], path))
    known = {e.name for e in found} | {e.path.parent.name for e in found}
    if unknown := sorted(set(only) - known):
        sys.exit(f"no GPU example `{unknown[0]}`; valid: {', '.join(sorted(known))}")
    return [e for e in found if not only or {e.name, e.path.parent.name} & set(only)]


def yardsticks(folders: Sequence[Path]) -> dict[str, Any]:
    """What the libraries take, from a process of its own; `missing` says why it is not known."""
    script = Path(__file__).with_name("yardsticks.py")
    command = [sys.executable, str(script), *map(str, dict.fromkeys(folders))]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=YARDSTICKS_S, check=True
        )
    except subprocess.TimeoutExpired:
        return {"missing": f"no answer in {YARDSTICKS_S:g} s"}
    except subprocess.CalledProcessError as error:
        return {"missing": str(error.stderr).strip()[-500:]}
    return json.loads(done.stdout)


def with_library(row: dict[str, Any], ms: dict[str, dict[str, float]]) -> dict[str, Any]:
    """A row with the library's milliseconds beside the winner's."""
    library = {w: t for w, t in ms[row["folder"]].items() if w in row.get("best_ms", {})}
    return {**row, "library_ms": library}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The results as lines of text, in columns; failed examples below."""
    lines = [HEADINGS, *(_cells(row) for row in rows if "error" not in row)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    text += [f"{row['kernel']} failed: {row['error']}" for row in rows if "error" in row]
    return "\n".join(text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--builds", type=int, default=BUILDS, help="of each example, at most")
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help="of each search, opening and confirming aside",
    )
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="specs or folders")
    parser.add_argument("--output", type=Path, help="a file in place of the one in results/")
    return parser.parse_args()


def searched(examples: Sequence[Example], settings: Settings) -> list[dict[str, Any]]:
    """A row for each example; with `error` instead of results when it came to nothing."""
    rows, began = list[dict[str, Any]](), dict[str, float]()
    of_file, of_name = {e.path: e for e in examples}, {e.name: e for e in examples}
    roots = [example.path.parent for example in examples]
    with tempfile.TemporaryDirectory() as out, Workbench(Path(out), roots) as bench:
        for event in optimize(bench, [example.path for example in examples], settings):
            if isinstance(event, Opening):
                began[of_file[event.path].name] = time.monotonic()
                print(f"{of_file[event.path].name} ...", flush=True)
            elif isinstance(event, Failed | Finished):
                failed = isinstance(event, Failed)
                example = of_file[event.path] if failed else of_name[event.kernel.spec.name]
                seconds = time.monotonic() - began[example.name]
                rows.append(_ended(bench, example, event, seconds))
    return rows


def _ended(
    bench: Workbench, example: Example, event: Failed | Finished, seconds: float
) -> dict[str, Any]:
    name = {"kernel": example.name, "folder": example.path.parent.name}
    if isinstance(event, Failed):
        return {**name, "error": str(event.error)}
    try:
        return {**name, **row_of(bench, event, seconds)}
    except KernelwrightError as error:
        return {**name, "error": str(error)}


def row_of(bench: Workbench, event: Finished, seconds: float) -> dict[str, Any]:
    """What is told of a search: times of both sides, the confirmed speedups, what was spent."""
    kernel, found = event.kernel, event.confirmation
    baseline = bench.evaluator.variant(kernel.baseline).variant
    row: dict[str, Any] = {
        "accepted": event.improved,
        "baseline_ms": kernel.baseline_ms,
        "best_ms": kernel.baseline_ms,
        "changed": "",
        "notes": kernel.notes,
    }
    if found is not None and found.visible is not None and event.improved:
        best = bench.evaluator.variant(found.variant_id).variant
        sides = (("baseline_ms", kernel.baseline), ("best_ms", found.variant_id))
        for field, side in sides:
            row[field] = {w.workload: w.median_ms[side] for w in found.visible.workloads}
        row["changed"] = changed_between(baseline, best)
        for prefix, compared in (("", found.visible), ("held_out_", found.held_out)):
            if compared is not None:
                ratio = compared.ratios[0]
                row |= {f"{prefix}speedup": ratio.speedup}
                row |= {f"{prefix}low": ratio.low, f"{prefix}high": ratio.high}
    return {
        **row,
        **shares(bench, kernel, row["best_ms"]),
        "reaches": event.reaches,
        "builds": event.status.builds,
        "evaluations": event.status.evaluations,
        "endings": event.status.endings,
        "seconds": seconds,
    }


def shares(bench: Workbench, kernel: KernelRecord, ms: dict[str, float]) -> dict[str, Any]:
    """By workload: of the copy bandwidth as measured, and of what the datasheet allows."""
    target = bench.gpus.target(kernel.loaded)
    assert target is not None
    spec = kernel.loaded.spec
    measured = summary(spec, peaks_for(bench, kernel), ms)
    datasheet = summary(spec, gpu_peaks(target, spec.io, None), ms)
    return {
        "device": target.name,
        "bound": {each.workload: each.roofline.bound for each in datasheet},
        "of_copy_bandwidth": {m.workload: m.roofline.share_of_copy_bandwidth for m in measured},
        "of_datasheet": {each.workload: each.roofline.share for each in datasheet},
    }


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    library: dict[str, float] = row.get("library_ms", {})
    return (
        row["kernel"],
        times(row["baseline_ms"]),
        times(row["best_ms"]),
        speedup(row, ""),
        speedup(row, "held_out_"),
        percents(row["of_copy_bandwidth"]),
        percents(row["of_datasheet"]),
        ", ".join(f"{library[w] / ms:.2f}" for w, ms in row["best_ms"].items() if w in library),
        str(row["builds"]),
        f"{row['seconds']:.0f}",
    )


if __name__ == "__main__":
    main()
