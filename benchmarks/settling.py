"""What the schedule of comparisons costs and how often it errs, on simulated noise.

    python benchmarks/settling.py [COMPARISONS] [RESULT.json]      (default 20000 of equal sides)

No machine is measured: blocks scatter as those of device_runner.json did, and worse. Noise is
heavy-tailed, one block in a hundred scatters ten times as far, and two loads of the same code
differ by up to 0.3 % (in some rows 0.8 %). Each row is one spread of blocks and one true
difference.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from environment import RESULTS, ROOT, write

sys.path.insert(0, str(ROOT / "tests" / "support"))
from noise import Noise, settled_on

from kernelwright.runners.comparing.settling import DEVICE, Step, TimingPlan

CADENCES: dict[int, tuple[int, ...]] = {
    1: DEVICE.looks,
    2: (12, 16, 20, 28, 40, 60),
    3: DEVICE.looks,
    4: (12, 16, 20, 28, 40, 60),
    60: DEVICE.looks,
}
"""Blocks between two loads, with looks at the ends of loads; 60: never loaded anew."""
SPREADS = (0.0008, 0.0025, 0.0047, 0.01, 0.015)
MORE_LUCK = 0.008
"""a furthest difference of two loads that would pass for a gain if code were never loaded anew"""
TRUE = (0.0, 0.009, 0.018, 0.05, -0.05, -0.15, -0.3, -0.6)


def main() -> None:
    """Simulate, print and write."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    recorded = json.loads((RESULTS / "device_runner.json").read_text(encoding="utf-8"))
    kernels = recorded["kernels"]
    rows = list[dict[str, Any]]()
    for cadence, looks in CADENCES.items():
        plan = replace(DEVICE, reload_every=cadence, looks=looks)
        chosen = cadence == DEVICE.reload_every
        for spread in SPREADS:
            for true in TRUE if chosen else TRUE[:3]:
                number = count if true == 0 and chosen else max(100, count // 20)
                rows.append(row(plan, Noise(spread), true, number))
        rows.append(row(plan, Noise(SPREADS[1], luck=MORE_LUCK), 0.0, max(100, count // 20)))
        print(f"loaded anew every {cadence} blocks: done", flush=True)
    result = {
        "recorded": {name: k["same_against_itself"] for name, k in kernels.items()},
        "recorded_loads": recorded["sessions"],
        "plan": {"steps": list(map(steps_of, DEVICE.steps)), "looks": DEVICE.looks},
        "rows": rows,
    }
    print(write("settling", result, Path(sys.argv[2]) if len(sys.argv) > 2 else None))


def row(plan: TimingPlan, noise: Noise, true: float, count: int) -> dict[str, Any]:
    """Comparisons of sides whose true ratio is 1 + `true`."""
    rng = np.random.default_rng(20261122)
    found = [
        settled_on(math.log1p(true) + noise.blocks(plan.max_blocks, plan.reload_every, rng), plan)
        for _ in range(count)
    ]
    blocks = sorted(blocks for _, blocks in found)
    return {
        "reload_every": plan.reload_every,
        **asdict(noise),
        "true": true,
        "comparisons": count,
        **{name: sum(j == name for j, _ in found) for name in ("faster", "slower", "unstable")},
        "mean_blocks": round(sum(blocks) / count, 1),
        "blocks_at_90_percent": blocks[int(0.9 * count)],
    }


def steps_of(step: Step) -> dict[str, Any]:
    """As it is written."""
    return asdict(step)


if __name__ == "__main__":
    main()
