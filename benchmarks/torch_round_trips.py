"""Whole round trips of PyTorch programs, each step under a limit and told as facts.

    python benchmarks/torch_round_trips.py [--device cuda|cpu] [--parts eager,compiled]
        [--gpus 1] [--seconds 240] [--to FILE]

The program is a decoder block that is trained (benchmarks/kernels/recorded/decoder.py). Parts:

  eager     operators recorded and ranked; the first that is no library's product becomes a spec, is
            searched, exported, verified in the program (A B B A), installed, rolled back; then one
            that gains the program nothing, which has to be refused
  compiled  Inductor's kernels of the same block: specs of them, and on a GPU those of a running
            program recorded, replayed, one opened, searched and verified in its place
  overhead  a step with and without the recorder, in turns (`recording_overhead.py`; a GPU alone)
  binary    a beginner's kernel of a CUDA program replaced (a GPU alone; `record_programs.py`)

Each part runs in a process of its own, which is ended at its limit; what it had found stays. Where
there are two GPUs `compiled` and `binary` run on the second one, beside the others.
Written to benchmarks/results/torch_round_trips.json, a later call adding what it measured.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from environment import RESULTS, write
from limited_parts import Facts, Stopped, gpus, of_part
from torch_round_trip_parts import WORK, binary, compiled, eager, overhead

NAME = "torch_round_trips"
PARTS: dict[str, tuple[Callable[[Facts, str], None], float]] = {
    "eager": (eager, 200.0),
    "compiled": (compiled, 170.0),
    "overhead": (overhead, 150.0),
    "binary": (binary, 60.0),
}
"""each with its most seconds on a GPU"""
SECOND_LANE = ("compiled", "binary")
"""parts that run on a second GPU where there is one"""


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--gpus", type=int, choices=(1, 2), default=gpus(), help="lanes of parts")
    parser.add_argument("--to", type=Path)
    parser.add_argument("--part", choices=tuple(PARTS), help="run it here; for this script itself")
    given = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    if given.part:
        try:
            PARTS[given.part][0](Facts(facts_of(given.part, given.device)), given.device)
        except Stopped as stopped:
            sys.exit(f"{given.part} ended at its step {stopped}")
        return
    print(table(run_lanes(given)))


def run_lanes(given: argparse.Namespace) -> dict[str, Any]:
    """All parts that are wanted, written as they end; with two GPUs in two lanes."""
    found, began, lock = earlier(given.to), time.monotonic(), threading.Lock()
    wanted = given.parts.split(",")

    def run_lane(number: int) -> None:
        for name in wanted:
            if given.gpus > 1 and (name in SECOND_LANE) != bool(number):
                continue
            left = given.seconds - (time.monotonic() - began)
            print(f"=== {name}, {left:.0f} s left", flush=True)
            most = min(left, PARTS[name][1]) if given.device == "cuda" else left
            command = [sys.executable, __file__, "--part", name, "--device", given.device]
            environment = {"CUDA_VISIBLE_DEVICES": str(number)} if given.gpus > 1 else {}
            done = of_part(command, facts_of(name, given.device), most, environment)
            with lock:
                found.setdefault(given.device, {})[name] = {"gpus": given.gpus, **done}
                write(NAME, found, given.to)

    lanes = [threading.Thread(target=run_lane, args=(n,)) for n in range(given.gpus)]
    for each in lanes:
        each.start()
    for each in lanes:
        each.join()
    return found


def facts_of(part: str, device: str) -> Path:
    """Where a part tells."""
    return WORK / f"facts-{part}-{device}.json"


def earlier(to: Path | None) -> dict[str, Any]:
    """What an earlier call found, without its environment."""
    file = to or RESULTS / f"{NAME}.json"
    found: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return {key: value for key, value in found.items() if key != "environment"}


def table(found: dict[str, Any]) -> str:
    """What was found, short."""
    lines = list[str]()
    for device in ("cpu", "cuda"):
        for part, steps in found.get(device, {}).items():
            lines.append(f"{device} {part}: ended {steps['ended']}")
            shown = {name: each for name, each in steps.items() if name not in ("ended", "gpus")}
            for name, each in shown.items():
                lines.append(f"  {name:18} {each['seconds']:6.1f} s  {line_of(each)}")
    return "\n".join(lines)


def line_of(step: dict[str, Any]) -> str:
    """The one thing of a step that a person asks for first."""
    for key in ("failed", "told", "left"):
        if key in step and isinstance(step[key], str):
            return str(step[key]).splitlines()[0][:150]
    if "bit_equal" in step:
        return f"bit equal {step['bit_equal']}, {step['taken_out']} taken out"
    if "operator" in step:
        return (
            f"{step['label']} {step['operator']} {step['shapes']}, {step['share']:.1%} of the time"
        )
    if "percent" in step:
        low, high = step["interval"] or (math.nan, math.nan)
        return (
            f"{step['percent']:+.2f} % ({low:+.2f} to {high:+.2f}), times of {step['timed']} of "
            f"{step['launches']} launches, shares within {step['shares_apart']:.3f}"
        )
    if "better" in step:
        return f"{step['better']['told']}; {step['refused']['told']}"
    kept = {k: v for k, v in step.items() if k != "seconds" and not isinstance(v, dict)}
    return json.dumps(kept)[:150]


if __name__ == "__main__":
    main()
