"""A/A on host kernels: the same machine code under two names, compared many times.

A verdict of `faster` or `slower` is a false one. Usage:
python benchmarks/same_against_itself.py [COMPARISONS]     (default 300)
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from environment import ROOT, write

from kernelwright.runners.spec_files import LoadedKernel, Roots, load_file
from kernelwright.tools.gpus import Gpus
from kernelwright.tools.kernel_state import open_state
from kernelwright.tools.rig import Rig

KERNELS: tuple[tuple[str, dict[str, int]], ...] = (
    ("matmul", {"ORDER": 1, "UNROLL": 8, "TILE": 32, "THREADS": 1}),
    ("softmax", {"EXP": 1, "UNROLL": 16, "KEEP": 1, "THREADS": 2}),
    ("stencil", {"ORDER": 1, "EDGES": 1, "THREADS": 1}),
)


def main() -> None:
    """Compare, print a short table and write the result."""
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    rows = [_same_against_itself(name, values, total // len(KERNELS)) for name, values in KERNELS]
    path = write("same_against_itself_host", {"comparisons": total, "kernels": rows})
    for row in rows:
        print(
            f"{row['kernel']:8} {row['ms']:.3f} ms  {row['judgements']}  "
            f"largest |estimate| {row['largest_estimate']:.2%}, "
            f"median half-width {row['median_half_width']:.2%}, "
            f"{row['seconds_each']:.2f} s a comparison"
        )
    wrong = sum(row["judgements"].get(k, 0) for row in rows for k in ("faster", "slower"))
    print(f"{total} comparisons, {wrong} false verdicts; {path.relative_to(ROOT)}")


def _same_against_itself(name: str, values: dict[str, int], count: int) -> dict[str, Any]:
    folder = ROOT / "examples" / name
    kernel = load_file(folder / "spec.json", Roots([folder]))
    with tempfile.TemporaryDirectory() as scratch:
        folders = (Path(scratch) / "modules", Path(scratch) / "scratch")
        rig = Rig(*folders, Gpus(folders[1]))
        try:
            return _measured(rig, kernel, values, count)
        finally:
            rig.close()


def _measured(rig: Rig, loaded: LoadedKernel, values: dict[str, int], count: int) -> dict[str, Any]:
    kernel = open_state(loaded, None, rig.gpus.target(loaded))
    rig.attach(kernel)
    baseline = loaded.baseline()
    variant = baseline.model_copy(update={"parameters": baseline.parameters | values})
    artifact = rig.build(kernel, variant).artifact
    assert artifact is not None
    rig.load(kernel, artifact)
    rig.load(kernel, artifact.model_copy(update={"variant_id": "twin"}))
    started, found = time.monotonic(), list[dict[str, Any]]()
    for number in range(count):
        compared = rig.compare(kernel, kernel.pools, "twin", [variant.variant_id]).comparison
        assert compared is not None
        ratio = compared.ratios[0]
        found.append(
            {
                "speedup": round(ratio.speedup, 5),
                "low": round(ratio.low, 5),
                "high": round(ratio.high, 5),
                "judgement": ratio.judgement,
                "blocks": len(next(iter(compared.workloads[0].blocks_ms.values()))),
                "dropped": compared.dropped_blocks,
                "ms": compared.workloads[0].median_ms["twin"],
            }
        )
        if ratio.judgement in ("faster", "slower"):
            print(f"{loaded.spec.name} {number}: {found[-1]}", flush=True)
    widths = sorted((f["high"] - f["low"]) / 2 for f in found)
    return {
        "kernel": loaded.spec.name,
        "parameters": values,
        "resolution": kernel.timing.resolution,
        "judgements": dict(Counter(f["judgement"] for f in found)),
        "largest_estimate": max(abs(f["speedup"] - 1) for f in found),
        "median_half_width": widths[len(widths) // 2],
        "ms": sorted(f["ms"] for f in found)[len(found) // 2],
        "seconds_each": (time.monotonic() - started) / count,
        "all": found,
    }


if __name__ == "__main__":
    main()
