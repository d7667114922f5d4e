"""Products of matrices by the schedules, each with several settings, beside torch in the same run.

    python benchmarks/products.py [--only 'WORD;...'] [--settings N] [--stop-after 80]
        [--output FILE]

For each kernel of `products_kernels.py` the schedule's text is built with each of SETTINGS, put
through the evaluator's gates and timed in its paired comparison. Writes results/products.json, or
FILE, after each kernel, and prints a table: milliseconds, TFLOP/s, and torch's time over it. Exits
1 where a kernel could not be opened, or nothing was written for it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import Mock, patch

from environment import write
from products_kernels import Timed, timed_kernels
from schedules_torch import call_of, contract_of
from yardsticks import METHOD, Clock, case_of, measure

from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.loading.files import Roots, load_file
from kernelwright.runners.model import Candidate, Evaluation, ordered
from kernelwright.search.moves import NotApplicable
from kernelwright.search.moves.cuda.schedules import contraction_schedule
from kernelwright.search.moves.cuda.schedules.tiled import tile_choice, tiles
from kernelwright.search.moves.triton.schedules import dot_blocks
from kernelwright.search.moves.triton.schedules.parts import products
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.stored.variants import state_of, variant_from
from kernelwright.store.records import KernelRecord, VariantRecord

TORCH_S = 60.0
CUDA = tuple(
    tile_choice.Tiles(*each[:6], 1.0, *each[6:])
    for each in (
        (128, 128, 16, 8, 8, 1),
        (128, 64, 16, 8, 8, 2),
        (64, 64, 16, 8, 4, 4),
        (128, 256, 8, 8, 16, 1),
        (128, 128, 16, 8, 8, 1, 2),
        (64, 64, 16, 8, 4, 4, 4),
        (128, 128, 16, 8, 8, 1, 8),
        (128, 128, 16, 8, 8, 2),
        (64, 64, 16, 8, 8, 6),
        (64, 128, 16, 8, 8, 2),
        (256, 128, 8, 16, 8, 1),
        (128, 128, 8, 8, 8, 2),
    )
)
TRITON = tuple(
    products.Sizes(*each, 1.0)
    for each in (
        (128, 128, 64, 8, 3),
        (128, 256, 64, 8, 3),
        (128, 128, 64, 8, 4),
        (128, 128, 64, 4, 4),
        (128, 256, 64, 8, 4),
        (256, 128, 64, 8, 3),
        (128, 128, 128, 8, 3),
        (128, 128, 32, 8, 5),
    )
)


def main() -> None:
    """Measure torch, then every kernel; the result is whole after each."""
    asked = _arguments()
    kernels = list(
        {
            each.searched.name: each
            for word in asked.only.split(";")
            for each in timed_kernels()
            if word in each.searched.name
        }.values()
    )
    if asked.torch:
        print(json.dumps(_torch_here(kernels)))
        return
    rows = _rows(kernels, asked)
    print(_table(rows))
    sys.exit(any("error" in row for row in rows))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", default="", help="words of names by semicolons, in the order of the kernels"
    )
    parser.add_argument(
        "--settings",
        type=int,
        default=len(CUDA),
        help="the first so many; 0: those that the schedule itself proposes",
    )
    parser.add_argument("--stop-after", type=float, default=80.0, metavar="SECONDS")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--torch", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _rows(kernels: Sequence[Timed], asked: argparse.Namespace) -> list[dict[str, Any]]:
    began, rows = time.monotonic(), list[dict[str, Any]]()
    beside = _torch(asked.only)
    with tempfile.TemporaryDirectory() as folder:
        specs = Path(folder) / "specs"
        specs.mkdir()
        with Workbench(Path(folder) / "out", [specs]) as bench:
            for at, each in enumerate(kernels):
                left = [k.searched.name for k in kernels[at:]]
                if time.monotonic() - began > asked.stop_after:
                    print(f"no time was left for {', '.join(left)}")
                    break
                rows.append(
                    measured(bench, each, specs / f"k{at}.json", asked.settings, beside["ms"])
                )
                told = {k: v for k, v in beside.items() if k != "ms"}
                write("products", {"torch": told, "kernels": rows, "left": left[1:]}, asked.output)
                print(_table(rows[-1:]), flush=True)
    return rows


def measured(
    bench: Workbench, each: Timed, file: Path, settings: int, torch_ms: Mapping[str, float]
) -> dict[str, Any]:
    """How each setting ended, and what it took."""
    began, searched = time.monotonic(), each.searched
    file.write_text(json.dumps({**searched.spec, "name": file.stem}), encoding="utf-8")
    row: dict[str, Any] = {
        "kernel": searched.name, "kind": searched.kind, "flops": each.flops,
        "torch_ms": torch_ms.get(searched.name),
    }  # fmt: skip
    try:
        kernel = bench.evaluator.open(load_file(file, Roots([file.parent])))
        proposed = _candidates(bench, kernel, settings)
        if isinstance(proposed, NotApplicable):
            return {**row, "error": proposed.reason}
        base = bench.evaluator.variant(kernel.baseline).variant
        records = [
            VariantRecord(variant=variant_from(kernel, base, c), method=c.method, detail=c.detail)
            for c in proposed
        ]
        found = {e.variant_id: e for e in bench.evaluator.evaluate_all(records, None)}
    except KernelwrightError as error:
        return {**row, "error": str(error)}
    tried = [
        {"detail": _told(record), **_ended(found[record.variant.variant_id])} for record in records
    ]
    return {**row, "tried": tried, "seconds": round(time.monotonic() - began, 1)}


def _candidates(
    bench: Workbench, kernel: KernelRecord, settings: int
) -> tuple[Candidate, ...] | NotApplicable:
    """What the schedule writes with each setting."""
    state = state_of(kernel, bench.evaluator.variant(kernel.baseline).variant)
    moves = (contraction_schedule.MOVE, dot_blocks.MOVE)
    move = next(m for m in moves if state.kernel_type in m.languages)
    if not settings:
        return move.propose(state)
    choices = [(each, 1.0) for each in CUDA[:settings]]
    with (
        patch.object(tiles, "chosen_tiles", Mock(return_value=choices)),
        patch.object(products, "ON_TENSOR_CORES", TRITON[:settings]),
        patch.object(products, "MOST", settings),
    ):
        return move.propose(state)


def _told(record: VariantRecord) -> str:
    parameters = ordered(record.variant.parameters)
    return f"{record.detail.partition(': ')[2]} {parameters}".strip()


def _ended(found: Evaluation) -> dict[str, Any]:
    told: dict[str, Any] = {"ending": found.ending.value, "message": found.message[:300]}
    if found.comparison is not None:
        told["ms"] = found.comparison.workloads[0].median_ms[found.variant_id]
    if found.build is not None:
        told["kernels"] = [k.model_dump(mode="json") for k in found.build.kernels]
    return {**told, "speedup": found.speedup, "seconds": found.seconds}


def _torch(only: str) -> dict[str, Any]:
    """From a process of its own; without times, and with why, where it did not answer."""
    command = [sys.executable, __file__, "--torch", "--only", only]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=TORCH_S, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        missing = f"{error}: {str(error.stderr)[-800:]}"
        print(missing, file=sys.stderr)
        return {"ms": {}, "missing": missing}
    return json.loads(ran.stdout.strip().splitlines()[-1])


def _torch_here(kernels: Sequence[Timed]) -> dict[str, Any]:
    """What torch takes, eager, its products of float32 in float32."""
    torch: Any = importlib.import_module("torch")
    clock, ms = Clock(torch), dict[str, float]()
    for each in kernels:
        searched = each.searched
        case = case_of(torch, "eager", call_of(torch, searched), contract_of(searched))
        measure(clock, [case], torch)
        ms[searched.name] = median(case.blocks_ms)
    return {"method": METHOD, "library": f"torch {torch.__version__}", "ms": ms}


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows in Markdown, a line a setting."""
    lines = ["kernel | kind | setting | ms | TFLOP/s | torch, ms | torch / it", "|".join("-" * 7)]
    for row in rows:
        head, torch_ms = f"{row['kernel']} | {row['kind']}", row["torch_ms"]
        if "error" in row:
            lines.append(f"{head} | {row['error']} | | | |")
        for each in row.get("tried", ()):
            ms = each.get("ms")
            if ms is None:
                lines.append(f"{head} | {each['detail']} | {each['ending']} | | |")
                continue
            share = "" if torch_ms is None else f"{torch_ms:.4f} | {torch_ms / ms:.3f}"
            lines.append(
                f"{head} | {each['detail']} | {ms:.4f} | {row['flops'] / ms / 1e9:.1f} | {share}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
