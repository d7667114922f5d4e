"""What becomes of Triton kernels of public repositories: is a spec inferred, is the call captured
and compiled for an H100, does Triton's interpreter agree, is the kernel lifted, what do schedules
and moves write of it, and is that right under the interpreter at small shapes. Nothing is timed.

    .venv/bin/python benchmarks/public_triton.py CHECKOUT... [--half HALF] [--only X]
    .venv/bin/python benchmarks/public_triton.py --half strange_held_out --name stranger_triton

A CHECKOUT is a folder of packages: `src` of github.com/linkedin/Liger-Kernel (BSD 2-Clause) or of
github.com/FlagOpen/FlagGems (Apache 2.0). Their packages must be importable in the environment
that runs this, as those of any user's kernel must. The strange halves are files of our own writing,
in the manner of such repositories (`stranger_kernels`). No GPU; needs Triton and torch. Results
hold names and outcomes alone: results/public_triton.json, results/stranger_triton.json."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from environment import RESULTS, write
from public_triton_calls import DEVELOPED, GEMS, HELD_OUT, PublicCall
from public_triton_shims import shims
from stranger_calls import STRANGE_DEVELOPED, STRANGE_HELD_OUT

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.interpreter.logic import logic_check
from kernelwright.runners.interpreter.runner import InterpreterRunner
from kernelwright.runners.loading.files import LoadedKernel, Roots, draft_of_file, load_data
from kernelwright.runners.model import BuildOptions
from kernelwright.runners.oracle.oracle import Oracle
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.runners.specs.normalise import source_key
from kernelwright.runners.toolchains.base import BuildRequest, Shape
from kernelwright.search.moves import NotApplicable, State
from kernelwright.search.moves.triton import MOVES
from kernelwright.search.moves.triton.schedules import MOVES as SCHEDULES

FEW = 44
"""the largest size of a symbol where candidates are interpreted"""
HALVES = {
    "developed": DEVELOPED,
    "held_out": HELD_OUT,
    "strange_developed": STRANGE_DEVELOPED,
    "strange_held_out": STRANGE_HELD_OUT,
}
OWN = Path(__file__).parent


def main() -> None:
    """Print what became of each kernel, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", nargs="*", type=Path)
    parser.add_argument("--half", choices=tuple(HALVES))
    parser.add_argument("--only", help="kernels whose names hold this expression; nothing is kept")
    parser.add_argument("--name", default="public_triton", help="of the file of results")
    asked = parser.parse_args()
    found = dict[str, Any]()
    with tempfile.TemporaryDirectory() as folder:
        rig = _Rig(Path(folder), (*(each.resolve() for each in asked.checkouts), OWN))
        try:
            for half, calls in HALVES.items():
                if asked.half in (None, half):
                    found[half] = _half(calls, rig, asked.only or "")
        finally:
            rig.close()
    for half, told in found.items():
        print(half, json.dumps(told["table"], indent=1))
    if not asked.only:
        kept = RESULTS / f"{asked.name}.json"
        before: dict[str, Any] = {}
        if kept.exists():
            before = json.loads(kept.read_text(encoding="utf-8"))
        halves = {name: before[name] for name in HALVES if name in before}
        commits = {_repository(each): _commit(each) for each in asked.checkouts}
        print(write(asked.name, {**halves, **found, "checkouts": commits}))


def _half(calls: Mapping[str, PublicCall], rig: _Rig, only: str) -> dict[str, Any]:
    told = dict[str, dict[str, Any]]()
    for name, call in calls.items():
        if re.search(only, name) and (place := rig.place(call)) is not None:
            told[name] = _kernel(call, place, rig)
            print(f"{name}: {json.dumps(told[name], indent=1)}", flush=True)
    return {"table": _table(told), "kernels": told}


def _table(told: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """How many of which outcome at each step, and of how many candidates."""
    steps = ("inferred", "built", "logic", "read")
    table: dict[str, Any] = {"kernels": len(told)}
    for step in steps:
        outcomes = (str(each.get(step, "not reached")) for each in told.values())
        table[step] = dict(Counter(each.partition(":")[0] for each in outcomes))
    written = [each.get("schedules", {}) for each in told.values()]
    outcomes = Counter(o.partition(":")[0] for each in written for o in each.values())
    table["schedules"] = {"kernels": sum(map(bool, written)), **outcomes}
    table["moves"] = {"kernels": sum(bool(each.get("moves")) for each in told.values())}
    return table


def _kernel(call: PublicCall, place: Path, rig: _Rig) -> dict[str, Any]:
    told: dict[str, Any] = {"entry": call.entry, "inferred": _inferred(call, place)}
    try:
        kernel, small = rig.loaded(call, place), rig.loaded(call, place, FEW)
        rig.oracle.open(small)
    except KernelwrightError as error:
        return told | {"built": f"no spec: {_short(error.message)}"}
    told["built"] = rig.built(kernel)
    told["logic"] = rig.outcome(small, kernel.source, None)
    state = State("triton", kernel.source, {}, BuildOptions(), kernel.spec, files=kernel.files)
    reasons, schedules, moves = dict[str, str](), dict[str, str](), list[str]()
    for move in (*SCHEDULES, *MOVES):
        answer = move.propose(state)
        if isinstance(answer, NotApplicable):
            reasons[move.id] = answer.reason
        elif move in SCHEDULES:
            first, source = answer[0], answer[0].source or kernel.source
            told_of = f"{move.id}: {first.detail}"
            schedules[told_of] = rig.outcome(small, source, first.plan)
        else:
            moves.append(move.id)
    told |= {"schedules": schedules, "moves": moves}
    told["read"] = _read({each.id: reasons[each.id] for each in SCHEDULES if each.id in reasons})
    return told | ({} if told["schedules"] else {"why": sorted({*map(_short, reasons.values())})})


def _read(reasons: Mapping[str, str]) -> str:
    """Whether schedules know what it computes; why not."""
    unread = sorted({r for r in reasons.values() if " can be written: " not in r})
    return f"no: {_short(unread[0])}" if len(reasons) == len(SCHEDULES) and unread else "whole"


def _short(reason: str) -> str:
    """A reason without what it quotes of a source, and without where that lay."""
    first = re.sub(r" \(line \d+.*| \(/.*", "", reason.splitlines()[0])
    first = re.sub(r" \([^()]*\.py\).*", "", first)
    return first if len(first) < 200 else f"{first[:200]} ..."


def _inferred(call: PublicCall, place: Path) -> str:
    """What `spec --infer` says of the file and its entry."""
    try:
        draft = draft_of_file(place / call.file, Roots([place]), call.entry)
    except KernelwrightError as error:
        return f"refused: {_short(error.message)}"
    sizes = sum(line.startswith("workloads.") for line in draft.undecided)
    return f"yes: {len(draft.undecided)} open, {sizes} of them sizes of a call"


class _Rig:
    """What builds candidates, and runs them under the interpreter."""

    def __init__(self, folder: Path, checkouts: tuple[Path, ...]) -> None:
        self.folder, self.checkouts = folder, checkouts
        self.runner, self.oracle = InterpreterRunner(folder), Oracle(folder)
        self.builder = Builder(folder / "modules", folder / "scratch")

    def close(self) -> None:
        """End its processes."""
        self.runner.close()
        self.oracle.close()
        self.builder.close()

    def place(self, call: PublicCall) -> Path | None:
        """The checkout that has the file."""
        return next((each for each in self.checkouts if (each / call.file).exists()), None)

    def loaded(self, call: PublicCall, place: Path, most: int | None = None) -> LoadedKernel:
        """The kernel with its contract. Raises SpecError."""
        found = load_data(call.spec(most), place, Roots([place]))
        ours = shims(call.constants) if call.file.startswith(GEMS) else {}
        return found.model_copy(update={"files": ours})

    def built(self, kernel: LoadedKernel) -> str:
        """Whether its call is captured and compiles for an H200."""
        workload = kernel.spec.workloads[0]
        shapes = (Shape(label=workload.name, symbols=workload.symbols),)
        outcome = self.builder.build(
            BuildRequest(
                kernel=kernel, variant=kernel.baseline(), shapes=shapes, device=PROFILES[0][0]
            )
        )
        return "yes" if outcome.artifact else f"no: {_short(outcome.message)}"

    def outcome(self, kernel: LoadedKernel, source: str, plan: dict[str, Any] | None) -> str:
        """passed, failed or skipped under the interpreter, and why it did not pass."""
        changed = {"source": source, "source_key": source_key(source, "triton"), "plan": plan}
        variant = kernel.baseline().model_copy(update=changed)
        device = PROFILES[0][0]
        try:
            found = logic_check(
                kernel, variant, device, runner=self.runner, oracle=self.oracle, timeout_s=60.0
            )
        except KernelwrightError as error:
            return f"no check: {_short(error.message)}"
        passed = found.outcome == "passed"
        return found.outcome if passed else f"{found.outcome}: {_short(found.message)}"


def _repository(checkout: Path) -> str:
    return next((name for name in ("liger_kernel", "flag_gems") if (checkout / name).is_dir()), "")


def _commit(checkout: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "HEAD"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.strip()


if __name__ == "__main__":
    main()
