"""The parts of `torch_round_trips.py`: each tells what it finds step by step."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import closing
from math import prod
from pathlib import Path
from typing import Any

from limited_parts import Facts
from recording_overhead import cost_of

from kernelwright.analysis.programs.operators import OperatorRow, operators_text
from kernelwright.analysis.programs.operators import may_gain as worth_a_search
from kernelwright.analysis.programs.outcome import ProgramVerdict
from kernelwright.analysis.programs.report import report_text
from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.modules.common.messages import ModuleSource
from kernelwright.runners.recording.fronts import Asked
from kernelwright.runners.recording.operators.putting import (
    installed_operators,
    roll_back_operators,
    run_with_operators,
)
from kernelwright.runners.recording.pairs import Judged
from kernelwright.runners.recording.recording import Program
from kernelwright.search.session.optimize import Finished, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.tools.programs.changing import verified
from kernelwright.tools.programs.opening import open_recorded
from kernelwright.tools.programs.operators.exporting import export_winner
from kernelwright.tools.programs.operators.inductor import write_inductor_specs
from kernelwright.tools.programs.operators.opening import open_operator
from kernelwright.tools.programs.operators.putting import verified_operator
from kernelwright.tools.programs.operators.recording import operators_reported
from kernelwright.tools.programs.recorded import keep_representative, recorded_report, replayed
from kernelwright.tools.programs.replacements import replacement_of_variant

WORK = Path("/tmp/torch_round_trips")
PROGRAM = Path(__file__).parent / "kernels" / "recorded" / "decoder.py"
OUTPUTS, STEP, DIGEST = "outputs.npz", r"step ([0-9.]+) ms", r"digest ([0-9a-f]+)"
CLOSE = (sys.executable, str(PROGRAM.with_name("close.py")))
JUDGED = Judged(metric=STEP, outputs=(OUTPUTS,), comparator=CLOSE)
KEEP_BYTES = 1 << 30
SMALL = 8
"""products with a dimension up to this are none that a library is good at"""
ELEMENTS = ("aten::add.Tensor", "aten::mul.Tensor", "aten::silu")
"""operators that PyTorch runs as fast as memory is: a kernel for one gains nothing"""
MOST_OPENED, OVERHEAD_S = 3, 110.0


def program(mode: str, device: str, steps: int) -> Program:
    """The block's command; a program writes its outputs into its folder."""
    folder = WORK / f"program-{mode}-{device}"
    folder.mkdir(exist_ok=True)
    command = (sys.executable, str(PROGRAM), mode, device, str(steps), OUTPUTS)
    return Program(command, folder, timeout_s=90)


def eager(facts: Facts, device: str) -> None:
    """The operators of a training step, one in, one out, and one refused."""
    place, ran = WORK / f"eager-{device}", program("train", device, 30)
    report = facts.step("recorded", lambda: recorded(ran, place))["report"]
    rows = [OperatorRow.model_validate(each) for each in report["rows"]]
    gaining = sorted(filter(may_gain, rows), key=lambda row: -lost(row, rows))
    round_trip(facts, "", gaining, ran, place, builds=6 if device == "cuda" else 3, pairs=4)
    facts.step("rolled_back", lambda: _rolled_back(ran, place))
    plain = [row for row in rows if row.kept and row.operator in ELEMENTS]
    plain.sort(key=lambda row: row.share * row.count)
    round_trip(facts, "refused_", plain, ran, place, builds=1, pairs=4)


def recorded(ran: Program, place: Path) -> dict[str, Any]:
    """The operators of a program, ranked, with the tensors of first calls kept."""
    report, ended = operators_reported(ran, place, KEEP_BYTES)
    print(operators_text(report), flush=True)
    if ended.failed:
        raise KernelwrightError(f"{ended.ending}: {ended.stderr[-600:]}")
    told = report.model_dump(mode="json")
    return {"calls": report.calls, "report": {**told, "rows": told["rows"][:40]}}


def may_gain(row: OperatorRow) -> bool:
    """Whether it may be replaced for a gain and is no product of a library's sizes."""
    sizes = [int(n) for n in re.findall(r"\d+", " ".join(re.findall(r"\[([^\]]*)\]", row.shapes)))]
    product = row.operator.rpartition("::")[2] in ("mm", "bmm", "addmm", "baddbmm")
    small = bool(sizes) and max(sizes[-2:]) <= SMALL
    return row.kept and worth_a_search(row) and (small or not product)


def lost(row: OperatorRow, rows: Sequence[OperatorRow]) -> float:
    """Share of the time beyond what its inputs would take, read as fast as any operator's are."""
    real = [each for each in rows if each.typical_us and not each.why_not]  # a view reads nothing
    fastest = max(_bytes(each) / each.typical_us for each in real)
    return row.share * (1 - _bytes(row) / fastest / row.typical_us) if row.typical_us else 0.0


def _bytes(row: OperatorRow) -> int:
    return sum(
        prod(int(n) for n in shape.split(",") if n) * (1 if dtype == "bool" else 4)
        for dtype, shape in re.findall(r"(\w+)\[([\d,]*)\]", row.shapes)
    )


def round_trip(
    facts: Facts,
    name: str,
    rows: Sequence[OperatorRow],
    ran: Program,
    place: Path,
    *,
    builds: int,
    pairs: int,
    judged: Judged = JUDGED,
) -> None:
    """An operator opened, searched, exported, verified, and installed where it is faster."""
    root = place.parent / f"{place.name}-{name}specs"
    opened = facts.step(f"{name}opened", lambda: _opened(rows, place, root))
    label, specs = opened["label"], [Path(each) for each in opened["specs"]]
    home, winner = root / f"state-{label}", root / f"winner-{label}"
    facts.step(f"{name}searched", lambda: _searched(specs, home, builds))

    def exported() -> dict[str, Any]:
        with Workbench(home, [root]) as bench:
            chosen = export_winner(bench, place, [label], winner)
        return {"variants": chosen, "files": sorted(each.name for each in winner.iterdir())}

    facts.step(f"{name}exported", exported)
    facts.step(
        f"{name}verified",
        lambda: told(verified_operator(ran, place, winner, judged, pairs=pairs, wanted=True)),
    )


def _opened(rows: Sequence[OperatorRow], place: Path, root: Path) -> dict[str, Any]:
    """The first that a kernel is written for; why others are not."""
    _emptied(root)
    refused = dict[str, str]()
    for row in rows:
        try:
            found = open_operator(place, row.label, root / row.label)
        except KernelwrightError as error:
            refused[f"{row.label} {row.operator}"] = str(error)
            continue
        shown = {"label": row.label, "operator": row.operator, "shapes": row.shapes}
        shown |= {"share": row.share, "typical_us": row.typical_us}
        specs = [str(each) for each in found.specs]
        return {**shown, "specs": specs, "notes": list(found.notes), "refused": refused}
    return {"failed": f"none of {len(rows)} operators can be opened", "refused": refused}


def _emptied(root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)


def _searched(specs: Sequence[Path], home: Path, builds: int) -> dict[str, Any]:
    """What a search of few builds found over the plain kernels."""
    settings = Settings.model_validate({"budget_builds": builds, "budget_seconds": 60.0})
    with Workbench(home, [specs[0].parent.parent]) as bench:
        with closing(optimize(bench, specs, settings)) as events:
            seen = list(events)
        done = [event for event in seen if isinstance(event, Finished)]
        if len(done) < len(specs):
            return {"failed": f"not every search finished: {seen[-1]}"}
        kernels = [bench.evaluator.kernel(event.kernel.kernel_id) for event in done]
        return {
            "baselines": [each.baseline for each in kernels],
            "incumbents": [each.incumbent for each in kernels],
        }


def _rolled_back(ran: Program, place: Path) -> dict[str, Any]:
    """Digests of the program by itself, with what is installed, and after the roll-back."""
    before = _digest_in(place / "pairs" / "plain" / "output" / "program.stdout")
    there = sorted(installed_operators(place)[1])
    run_with_operators(ran, place)
    with_it = _digest_in(place / "run" / "output" / "program.stdout")
    taken_out = roll_back_operators(place)
    run_with_operators(ran, place)
    after = _digest_in(place / "run" / "output" / "program.stdout")
    digests = {"before": before, "installed": with_it, "after": after}
    return {"operators": there, "taken_out": taken_out, **digests, "bit_equal": before == after}


def _digest_in(file: Path) -> str:
    return re.findall(DIGEST, file.read_text("utf-8"))[-1]


def told(found: ProgramVerdict) -> dict[str, Any]:
    """A verdict as facts."""
    print(f"  {found.told}", *found.notes, sep="\n    ", flush=True)
    return found.model_dump(mode="json")


def compiled(facts: Facts, device: str) -> None:
    """Inductor's kernels of the block: from its module, and from a program that runs."""
    root = WORK / f"inductor-{device}"
    facts.step("inductor_specs", lambda: _inductor_specs(device, root))
    if device == "cpu":
        return
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):  # sources are told at compiling
        os.environ[name] = str(root / name.lower())
    place, ran = WORK / "compiled", program("compiled", device, 30)
    labels = facts.step("recorded", lambda: _recorded_compiled(ran, place))["triton"]
    facts.step("replayed", lambda: _replayed(ran, place, labels[:MOST_OPENED]))
    specs = WORK / "compiled-specs"
    opened = facts.step("opened", lambda: _opened_launch(labels[:MOST_OPENED], place, specs))
    label, spec = opened["label"], Path(opened["spec"])
    found = facts.step("searched", lambda: _searched([spec], specs / "state", 5))

    def put_in() -> dict[str, Any]:
        with Workbench(specs / "state", [specs]) as bench:
            new = replacement_of_variant(bench, found["incumbents"][0], label)
            return told(verified(ran, place, label, new, JUDGED, pairs=2, wanted=False))

    facts.step("verified", put_in)


def _inductor_specs(device: str, root: Path) -> dict[str, Any]:
    _emptied(root)
    found = write_inductor_specs(ModuleSource(path=str(PROGRAM)), device, root / "specs")
    return {
        "specs": [e.name for e in found if e.spec],
        "left": {e.name: e.why for e in found if e.why},
    }


def _recorded_compiled(ran: Program, place: Path) -> dict[str, Any]:
    report, found = recorded_report(ran, place, Asked())
    print(report_text(report, rows=8), flush=True)
    if found.ran.failed:
        raise KernelwrightError(f"{found.ran.ending}: {found.ran.stderr[-600:]}")
    triton = [r for r in report.kernels if r.name.startswith("triton_") and r.ordinal]
    often = max((r.count for r in triton), default=0)
    steady = [r for r in triton if 2 * r.count >= often]  # and no launch of Inductor's tuning
    steady.sort(key=lambda r: not r.source)  # only of what has a source a spec can be written
    shown = [[r.label, r.name, r.share, r.count, r.typical_us, r.source] for r in steady[:8]]
    return {"kernel_ms": report.kernel_ms, "triton": [r.label for r in steady], "first": shown}


def _replayed(ran: Program, place: Path, labels: Sequence[str]) -> dict[str, Any]:
    kept = keep_representative(ran, place, Asked(), labels)
    again = replayed(place, runs=3)
    return {
        "kept": len(kept.kept),
        "refused": kept.refused,
        "verdicts": {each.kept.label: each.verdict for each in again},
    }


def _opened_launch(labels: Sequence[str], place: Path, root: Path) -> dict[str, Any]:
    _emptied(root)
    refused = dict[str, str]()
    for label in labels:
        try:
            found = open_recorded(place, label, root / label)
        except KernelwrightError as error:
            refused[label] = str(error)
            continue
        shown = {"label": label, "spec": str(found.spec), "notes": list(found.notes)}
        return {**shown, "refused": refused}
    return {"failed": "no kernel of Inductor can be opened", "refused": refused}


def overhead(facts: Facts, device: str) -> None:
    """A training step, plain and recorded, in turns."""
    if device == "cpu":
        facts.step("cost", lambda: {"left": "launches are recorded on a GPU alone"})
        return
    ran = program("train", device, 100)
    facts.step("cost", lambda: cost_of(ran, STEP, WORK / "cost", 4, OVERHEAD_S).told())


def binary(facts: Facts, device: str) -> None:
    """The CUDA program of `record_programs.py`: a kernel replaced, another refused."""
    if device == "cpu":
        facts.step("program", lambda: {"left": "a CUDA program runs on a GPU alone"})
        return
    import record_programs

    facts.step("built", record_programs.build)
    facts.step("program", lambda: record_programs.of_program("cuda"))
    facts.step("round_trip", record_programs.round_trip)
