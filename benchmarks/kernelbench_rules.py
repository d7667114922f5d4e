"""Problems in KernelBench's form solved by the rules alone, scored by their rules and by ours.

    python benchmarks/kernelbench_rules.py [--device cuda|cpu] [--problems FOLDER_OR_FILES...]
        [--level N] [--builds 8] [--search-seconds 10] [--open-seconds 40] [--seconds 240]
        [--lanes 2] [--to FILE]

Without `--problems` those of benchmarks/problems, which are ours: KernelBench's own are not part of
this repository, and its folders (`level1`) or files are named to run them. Each is solved in a
process of its own under a limit, `--lanes` of them at once on each GPU: while one is timed, which
locks the GPU, others are cut, compiled and compared. A ModelNew is checked by their rules (seed 42,
five trials, `allclose` with 1e-4 for float32) in a fresh process of the module. Told are fast_1
(the share of all problems whose ModelNew is right, accepted and faster) and the geometric mean of
the speedups of those that are right, over eager and over `torch.compile`; a problem that no kernel
was written for (a product of a library's sizes) is told as unchanged: 1x, not won. No problem is
begun after `--seconds`. Written to benchmarks/results/kernelbench_rules.json as each ends.
"""

from __future__ import annotations

import argparse
import math
import queue
import shutil
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from environment import ROOT, write
from limited_parts import Facts, Stopped, gpus, of_part

from kernelwright.tools.parts.kernelbench.problem import Problem
from kernelwright.tools.parts.kernelbench.solving import solve

NAME, WORK = "kernelbench_rules", Path("/tmp/kernelbench_rules")
OURS = ROOT / "benchmarks" / "problems"
SIDES, RULES = ("eager", "compiled"), ("theirs", "ours")
LIMIT_S = 110.0
"""of one problem, on a GPU"""


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--problems", type=Path, nargs="+", default=[OURS])
    parser.add_argument("--level", type=int, help="left out: of the folder's name, else 1")
    parser.add_argument("--builds", type=int, default=8)
    parser.add_argument("--search-seconds", type=float, default=10.0)
    parser.add_argument(
        "--open-seconds", type=float, default=40.0, help="no kernel is opened later"
    )
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--gpus", type=int, choices=(1, 2), default=gpus())
    parser.add_argument("--lanes", type=int, default=2, help="problems at once on each GPU")
    parser.add_argument("--to", type=Path)
    parser.add_argument("--problem", type=Path, help="solve it here; for this script itself")
    given = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    if given.problem:
        solve_one(given)
        return
    print(table(run_all(given, files_of(given.problems))))


def files_of(places: Sequence[Path]) -> list[Path]:
    """The problems that were named, those of folders in order."""
    found = list[Path]()
    for each in places:
        found += sorted(each.glob("*.py")) if each.is_dir() else [each]
    return [each.resolve() for each in found]


def level_of(file: Path) -> int:
    """By the folder that KernelBench has it in."""
    number = file.parent.name.removeprefix("level")
    return int(number) if number.isdigit() else 1


def solve_one(given: argparse.Namespace) -> None:
    """Solve one problem and tell it."""
    file: Path = given.problem
    wanted = Problem(
        path=file,
        outdir=WORK / file.stem,
        level=given.level or level_of(file),
        device=given.device,
        builds=given.builds,
        seconds=given.search_seconds,
        within_s=given.open_seconds,
    )

    # a search that was begun would be gone on with
    shutil.rmtree(wanted.outdir, ignore_errors=True)

    def solved() -> dict[str, Any]:
        found = solve(wanted, lambda event: None)
        return {"accepted": found.accepted, **found.model_dump(mode="json")}

    try:
        Facts(facts_of(file)).step("solved", solved)
    except Stopped:
        sys.exit(1)


def facts_of(file: Path) -> Path:
    """Where a problem's process tells."""
    return WORK / f"{file.stem}.json"


def run_all(given: argparse.Namespace, files: Sequence[Path]) -> dict[str, Any]:
    """All problems, on each GPU `lanes` at a time, written as they end."""
    began, lock, waiting = time.monotonic(), threading.Lock(), queue.SimpleQueue[Path]()
    found = dict[str, Any]()
    for each in files:
        waiting.put(each)

    def run_lane(number: int) -> None:
        while True:
            try:
                file = waiting.get_nowait()
            except queue.Empty:
                return
            left = given.seconds - (time.monotonic() - began)
            if left <= 0:
                return
            print(f"=== {file.stem}, {left:.0f} s left", flush=True)
            most = min(LIMIT_S, left) if given.device == "cuda" else left
            told = of_part(
                command_for(given, file),
                facts_of(file),
                most,
                {"CUDA_VISIBLE_DEVICES": str(number % given.gpus)} if given.gpus > 1 else {},
            )
            with lock:
                found[file.stem] = told
                write(NAME, told_of(given, found), given.to)

    lanes = [threading.Thread(target=run_lane, args=(n,)) for n in range(given.gpus * given.lanes)]
    for each in lanes:
        each.start()
    for each in lanes:
        each.join()
    return told_of(given, found)


def command_for(given: argparse.Namespace, file: Path) -> list[str]:
    """What solves a problem in a process of its own."""
    words = ["--problem", file, "--device", given.device]
    words += ["--level", given.level or level_of(file)]
    words += ["--builds", given.builds, "--search-seconds", given.search_seconds]
    words += ["--open-seconds", given.open_seconds]
    return [sys.executable, __file__, *map(str, words)]


def told_of(given: argparse.Namespace, found: Mapping[str, Any]) -> dict[str, Any]:
    """What the problems come to together."""
    return {
        "device": given.device,
        "budget": {"builds": given.builds, "search_seconds": given.search_seconds},
        "problems": dict(found),
        "summary": {
            side: {rules: summary(list(found.values()), side, rules) for rules in RULES}
            for side in SIDES
        },
    }


def summary(problems: Sequence[Mapping[str, Any]], side: str, rules: str) -> dict[str, Any]:
    """`fast_1` of all problems, and the geometric mean of those that are right or unchanged (1x);
    None: of none."""
    speedups = [s for each in problems if (s := speedup(each, side, rules)) is not None]
    unchanged = sum(bool(each.get("solved", {}).get("nothing")) for each in problems)
    logs = [math.log(each) for each in speedups] + [0.0] * unchanged
    return {
        "problems": len(problems),
        "right": len(speedups),
        "unchanged": unchanged,
        "fast_1": sum(each > 1 for each in speedups) / len(problems) if problems else 0.0,
        "geometric_mean": math.exp(sum(logs) / len(logs)) if logs else None,
    }


def speedup(problem: Mapping[str, Any], side: str, rules: str) -> float | None:
    """Of a ModelNew that is right and accepted over one way of running its Model."""
    solved = problem.get("solved", {})
    if not solved.get("accepted"):
        return None
    score = next((each for each in solved["scores"] if each["beside"] == side), None)
    if score is None:
        return None
    return float(score["theirs"] if rules == "theirs" else score["ours"]["speedup"])


def table(found: Mapping[str, Any]) -> str:
    """A line for each problem, and what they come to."""
    lines = [f"{'problem':20} {'s':>5} {'eager':>7} {'ours':>7} {'compile':>8} {'ours':>7}"]
    for name, each in found["problems"].items():
        solved = each.get("solved", {})
        cells = [speedup(each, side, rules) for side in SIDES for rules in RULES]
        if all(cell is None for cell in cells):
            why = (
                solved.get("failed")
                or solved.get("nothing")
                or f"ended {each['ended']}, accepted: {bool(solved)}"
            )
            lines.append(f"{name:20} {why.splitlines()[0][:90]}")
            continue
        shown = " ".join(f"{'-' if c is None else f'{c:.3f}x':>8}" for c in cells)
        lines.append(f"{name:20} {solved['seconds']:5.0f} {shown}")
    for side, rules in ((side, rules) for side in SIDES for rules in RULES):
        s = found["summary"][side][rules]
        mean = "-" if s["geometric_mean"] is None else f"{s['geometric_mean']:.3f}x"
        lines.append(
            f"beside {side:9} by {'their' if rules == 'theirs' else 'our'} rules: fast_1 "
            f"{s['fast_1']:.2f}, geometric mean {mean} ({s['right']} of {s['problems']} right, "
            f"{s['unchanged']} unchanged)"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
