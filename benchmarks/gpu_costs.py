"""What an evaluation on a GPU costs: start of a runner, opening, and seconds by stage.

Usage: python benchmarks/gpu_costs.py [OUTPUT]. Writes benchmarks/results/gpu_costs.json.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from environment import ROOT, write

from kernelwright.runners.loading.files import Roots, load_file
from kernelwright.runners.model import Candidate
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.stored.variants import variant_from
from kernelwright.store.records import KernelRecord, VariantRecord

CASES: dict[str, tuple[dict[str, int], ...]] = {
    "triton_vector_add": ({"BLOCK": 512}, {"BLOCK": 2048}, {"num_warps": 8}),
    "triton_matmul": ({"num_warps": 8}, {"BLOCK_M": 128}, {"BLOCK_N": 128}),
    "cuda_vector_add": ({"BLOCK": 128}, {"BLOCK": 512}, {"BLOCK": 1024}),
}


def main() -> None:
    """Evaluate a few candidates of each case in a server of its own; print and write."""
    rows = [_case(name, points) for name, points in CASES.items()]
    for row in rows:
        print(f"{row['example']}: opened in {row['open_s']} s")
        for each in row["evaluations"]:
            print(
                f"  {each['parameters']}: {each['ending']} in {each['total_s']} s {each['seconds']}"
            )
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    print(write("gpu_costs", {"cases": rows}, output))


def _case(name: str, points: tuple[dict[str, int], ...]) -> dict[str, Any]:
    folder = ROOT / "examples" / name
    with tempfile.TemporaryDirectory() as out, Workbench(Path(out), [folder]) as bench:
        started = time.monotonic()
        kernel = bench.evaluator.open(load_file(folder / "spec.json", Roots([folder])))
        opened = round(time.monotonic() - started, 2)
        return {
            "example": name,
            "open_s": opened,
            "evaluations": [_evaluation(bench, kernel, point) for point in points],
        }


def _evaluation(bench: Workbench, kernel: KernelRecord, point: dict[str, int]) -> dict[str, Any]:
    known = {n: v for n, v in point.items() if n in kernel.spec.parameters}
    base = bench.evaluator.variant(kernel.baseline).variant
    candidate = Candidate(method="tune_parameters", parameters=known)
    record = VariantRecord(variant=variant_from(kernel, base, candidate))
    started = time.monotonic()
    found = bench.evaluator.evaluate(record)
    return {
        "parameters": known,
        "ending": found.ending,
        "message": found.message,
        "seconds": found.seconds,
        "total_s": round(time.monotonic() - started, 3),
    }


if __name__ == "__main__":
    main()
