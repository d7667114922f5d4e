"""A script that tunes a kernel and then tries an idea of its own, through the tools of the server.

Run: python examples/script.py examples/matmul/spec.json
"""

from __future__ import annotations

import sys
from pathlib import Path

from kernelwright import Kernelwright


def main(spec: Path) -> None:
    """Search by rules; then try one flag by hand, and say what each brought."""
    with Kernelwright(root=spec.parent, outdir="out/script") as kw:
        kernel = kw.open_kernel(spec_path=spec.name)
        print(f"{kernel.kernel_id}: {kernel.headroom}")
        found = kw.search_step(kernel_id=kernel.kernel_id, planner="rules", steps=5)
        for step in found.steps:
            print(f"  {step.ending}: {step.method} {step.speedup or ''}")
        build = kw.inspect("variant", id=found.incumbent).facts or {}
        flags = [*(build["options"].get("flags") or ["-O3", "-march=native"]), "-funroll-loops"]
        mine = kw.compile_variant(
            kernel_id=kernel.kernel_id, options={"flags": flags}, method="unroll by hand"
        )
        timed = kw.time_variant(variant_id=mine.variant_id)
        print(f"by hand: {timed.ending}, {timed.message}")
        print(f"incumbent: {timed.incumbent}, {timed.incumbent_speedup:.3g}x the baseline")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
