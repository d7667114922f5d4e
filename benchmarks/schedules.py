"""Plain kernels made faster by rules alone, beside torch on the same GPU in the same run.

    python benchmarks/schedules.py [--of schedules,plain,triton] [--builds 12] [--seconds 12]
        [--only WORD] [--shard K/N] [--stop-after 540] [--output FILE]
    python benchmarks/schedules.py --table FILE...

The kernels of `schedules_corpus.py`: those that were held out, those that are at the limit of
memory already, and those that schedules were developed on. Writes results/schedules.json, or FILE,
after each kernel; a table last. Several GPUs share the list by shards, a process and a FILE each,
and `--table` joins what they wrote. Exits 1 where a search came to an error."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from environment import ROOT, write
from gpu_examples import row_of
from recording import moves_to
from schedules_corpus import CORPORA, Searched, kernels_of, shard_of
from schedules_table import joined, told

from kernelwright.runners.errors import KernelwrightError
from kernelwright.search.session.optimize import Failed, Finished, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.graph import graph_of
from kernelwright.search.stored.records import StepReport

RESULT = "schedules"
TORCH_S = 420.0
WRITTEN = ("// schedule: ", "# schedule: ")


def main() -> None:
    """Measure torch, then search every kernel; the result is whole after each."""
    asked = _arguments()
    if asked.table:
        print(told(joined(asked.table)))
        return
    try:
        kernels = shard_of(kernels_of(asked.of.split(",")), asked.shard)
    except ValueError as error:
        sys.exit(str(error))
    kernels = [each for each in kernels if any(w in each.name for w in asked.only.split(","))]
    rows = _rows(kernels, asked)
    print(told(rows))
    sys.exit(any("error" in row for row in rows))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--of", default=",".join(CORPORA), help="corpora, by commas")
    parser.add_argument("--builds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument(
        "--only", default="", help="kernels whose name has one of these words, by commas"
    )
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="the Kth of N parts")
    parser.add_argument("--stop-after", type=float, default=540.0, metavar="SECONDS")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--table", type=Path, nargs="+", metavar="FILE")
    return parser.parse_args()


def _rows(kernels: Sequence[Searched], asked: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each kernel that time was left for; all written after each."""
    began, rows = time.monotonic(), list[dict[str, Any]]()
    settings = Settings(budget_builds=asked.builds, budget_seconds=asked.seconds)
    beside = _torch(asked.of, kernels)
    head = {
        "settings": settings.model_dump(mode="json"),
        "torch": {k: v for k, v in beside.items() if k != "ms"},
    }
    with tempfile.TemporaryDirectory() as folder:
        specs, out = Path(folder) / "specs", Path(folder) / "out"
        specs.mkdir()
        with Workbench(out, [specs]) as bench:
            for at, each in enumerate(kernels):
                late = time.monotonic() - began > asked.stop_after
                left = [k.name for k in kernels[at if late else at + 1 :]]
                if not late:
                    row = _row_of(bench, each, specs / f"k{at}.json", settings)
                    rows.append({**row, "torch_ms": beside["ms"].get(each.name, {})})
                    print(f"{each.name}: {row.get('moves') or row.get('error')}", flush=True)
                write(RESULT, {**head, "kernels": rows, "left": left}, asked.output)
                if late:
                    print(f"no time was left for {', '.join(left)}")
                    break
    return rows


def _torch(corpora: str, kernels: Sequence[Searched]) -> dict[str, Any]:
    """From a process of its own; without times, and with why, where it did not answer."""
    script = str(ROOT / "benchmarks" / "schedules_torch.py")
    command = [sys.executable, script, corpora, *(each.name for each in kernels)]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=TORCH_S, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        missing = f"{error}: {str(error.stderr)[-800:]}"
        print(missing, file=sys.stderr)
        return {"ms": {}, "missing": missing}
    return json.loads(ran.stdout.strip().splitlines()[-1])


def _row_of(bench: Workbench, each: Searched, file: Path, settings: Settings) -> dict[str, Any]:
    file.write_text(json.dumps({**each.spec, "name": file.stem}), encoding="utf-8")
    about = {"kernel": each.name, "corpus": each.corpus, "kind": each.kind}
    return {**about, **_searched(bench, file, settings)}


def _searched(bench: Workbench, spec: Path, settings: Settings) -> dict[str, Any]:
    began, steps = time.monotonic(), list[dict[str, Any]]()
    try:
        for event in optimize(bench, [spec], settings):
            if isinstance(event, StepReport):
                steps.append(_step(bench, event))
            if isinstance(event, Failed):
                raise event.error
            if isinstance(event, Finished):
                return {**_row(bench, event, time.monotonic() - began), "steps": steps}
    except KernelwrightError as error:
        return {"error": str(error)}
    return {"error": "a search ended without a result"}


def _step(bench: Workbench, step: StepReport) -> dict[str, Any]:
    """What was tried and how it ended, with the seconds of its stages."""
    told = {"method": step.method, "detail": step.detail, "ending": step.ending.value}
    found = step.variant_id and bench.evaluator.evaluation(step.variant_id)
    return {
        **told,
        "speedup": step.speedup,
        "message": step.message[:400],
        "seconds": found.seconds if found else {},
    }


def _row(bench: Workbench, event: Finished, seconds: float) -> dict[str, Any]:
    """The search's row, what led to the winner, and its source."""
    row = row_of(bench, event, seconds)
    graph = graph_of(bench.store, event.status.search_id)
    found = event.confirmation
    best = found.variant_id if found is not None and event.improved else event.kernel.baseline
    source = bench.evaluator.variant(best).variant.source
    mine = any(each in source for each in WRITTEN)
    return {**row, "by_schedule": mine, "moves": moves_to(graph, best), "source": source}


if __name__ == "__main__":
    main()
