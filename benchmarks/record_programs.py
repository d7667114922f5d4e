"""Programs recorded on a GPU: what is replayed outside them bit for bit, what recording costs, and
a kernel put into one and taken out again.

    python benchmarks/record_programs.py [--programs cuda,triton,eager,compiled] [--overhead]

Each program (benchmarks/kernels/recorded) is counted, and run once more with a launch of
every configuration kept; those are replayed. The CUDA program then gets a faster sum of rows
(`verify`), and one that is no faster and has to be refused. With `--overhead` the eager block runs
with and without the recorder, interleaved. Written to benchmarks/results/record_programs.json; a
later call adds what it measured.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from environment import RESULTS, write
from recording_overhead import cost_of

from kernelwright.analysis.programs.report import report_text
from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.recording.fronts import Asked
from kernelwright.runners.recording.library import built_libraries
from kernelwright.runners.recording.pairs import Judged
from kernelwright.runners.recording.recording import Program
from kernelwright.runners.recording.running import run_program
from kernelwright.runners.recording.swaps import Replacement, installed, roll_back
from kernelwright.tools.programs.changing import drifted, shadowed, verified
from kernelwright.tools.programs.recorded import (
    keep_representative,
    recorded_report,
    replay_text,
    replayed,
)

HERE = Path(__file__).parent / "kernels" / "recorded"
WORK = Path("/tmp/record_programs")
STEP = r"step ([0-9.]+) ms"
ROUNDS = 4


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", default="cuda,triton,eager,compiled")
    parser.add_argument("--overhead", action="store_true")
    parser.add_argument("--to", type=Path)
    asked = parser.parse_args()
    began = time.monotonic()
    build()
    found = earlier()
    found["libraries"] = {"built": built_libraries().record is not None}
    if asked.overhead:
        told(began, "overhead")
        found["overhead"] = overhead()
        write("record_programs", found, asked.to)
    for name in filter(None, asked.programs.split(",")):
        told(began, name)
        try:
            found["programs"][name] = of_program(name)
        except KernelwrightError as error:
            found["programs"][name] = {"failed": str(error)}
            print(f"{name} FAILED: {error}", flush=True)
        write("record_programs", found, asked.to)
    if "cuda" in asked.programs:
        told(began, "round trip")
        found["round_trip"] = round_trip()
        write("record_programs", found, asked.to)
    print(write("record_programs", found, asked.to))
    print(table(found))


def build() -> None:
    """The CUDA program, for the GPU that is here."""
    WORK.mkdir(exist_ok=True)
    subprocess.run(
        ["nvcc", "-O3", "-arch=native", "-o", "program", str(HERE / "program.cu")],
        cwd=WORK,
        check=True,
    )


def told(began: float, what: str) -> None:
    """Say how far it is."""
    print(f"=== {time.monotonic() - began:.0f} s: {what}", flush=True)


def earlier() -> dict[str, Any]:
    """What an earlier call found, without its environment."""
    file = RESULTS / "record_programs.json"
    found: dict[str, Any] = (
        json.loads(file.read_text("utf-8")) if file.exists() else {"programs": {}}
    )
    return {key: value for key, value in found.items() if key != "environment"}


def program_of(name: str, iterations: int = 20) -> Program:
    """The program by its short name."""
    commands = {
        "cuda": (str(WORK / "program"), "200"),
        "triton": (sys.executable, str(HERE / "triton_program.py")),
        "eager": (sys.executable, str(HERE / "block.py"), "train", str(iterations)),
        "compiled": (sys.executable, str(HERE / "block.py"), "compiled", str(iterations)),
    }
    return Program(commands[name], WORK, timeout_s=90)


def of_program(name: str) -> dict[str, Any]:
    """Count, keep every configuration, replay."""
    outdir, asked = WORK / name, Asked()
    report, found = recorded_report(program_of(name), outdir, asked)
    print(report_text(report, rows=6), flush=True)
    if found.ran.failed:
        raise KernelwrightError(f"{found.ran.ending}: {found.ran.stderr[-600:]}")
    labels = [row.label for row in report.kernels if row.ordinal]
    kept = keep_representative(program_of(name), outdir, asked, labels)
    again = replayed(outdir, runs=5)
    print(replay_text(again), flush=True)
    equal = [each for each in again if each.equal]
    most = {row.label: row.typical_us for row in report.kernels}
    return {
        "device": found.recording.summary["devices"],
        "launches": report.launches,
        "graph_launches": report.graph_launches,
        "configurations": report.configurations,
        "representative": len(report.representative),
        "kernel_ms": report.kernel_ms,
        "busy": report.busy,
        "kept": len(kept.kept),
        "refused": kept.refused,
        "equal": len(equal),
        "kernels": len({each.kept.name for each in again}),
        "kernels_equal": len({each.kept.name for each in equal}),
        "representative_equal": sum(each.kept.label in report.representative for each in equal),
        "moved": sum(each.moved for each in again),
        "not_equal": {
            each.kept.label: f"{each.kept.name[:80]}: {each.verdict}"
            for each in again
            if not each.equal
        },
        "times_us": [
            [each.kept.label, most.get(each.kept.label), each.cold_us, each.warm_us]
            for each in again
        ],
    }


def round_trip() -> dict[str, Any]:
    """A faster kernel verified, installed, measured again and taken out; another refused."""
    cubin = WORK / "replacements.cubin"
    subprocess.run(
        ["nvcc", "-O3", "-cubin", "-arch=native", "-o", str(cubin), str(HERE / "replacements.cu")],
        check=True,
    )
    outdir, program, judged = WORK / "cuda", program_of("cuda"), Judged(metric=STEP)
    rows = json.loads((outdir / "report.json").read_text("utf-8"))["kernels"]
    label = next(row["label"] for row in rows if row["name"].startswith("rowsum"))
    fast = Replacement(cubin, "rowsum_by_blocks", (8192, 1, 1), (256, 1, 1), 0)
    same = Replacement(cubin, "rowsum_as_it_was", (32, 1, 1), (256, 1, 1), 0)
    before = plain_output(program)
    beside = shadowed(program, outdir, label, fast, 2)
    better = verified(program, outdir, label, fast, judged, pairs=ROUNDS, wanted=True)
    again = drifted(program, outdir, judged, pairs=4)
    taken_out = roll_back(outdir)
    refused = verified(program, outdir, label, same, judged, pairs=ROUNDS, wanted=True)
    after = plain_output(program)
    for one in (better, again, refused):
        print(one.told, *one.notes, sep="\n  ", flush=True)
    return {
        "shadow": beside,
        "better": better.model_dump(mode="json"),
        "again": again.model_dump(mode="json"),
        "refused": refused.model_dump(mode="json"),
        "taken_out": taken_out,
        "installed_after": len(installed(outdir)[0]),
        "outputs_as_before": before == after,
    }


def plain_output(program: Program) -> str:
    """What the program prints by itself, without its times."""
    ran = run_program(program.command, folder=WORK, scratch=WORK / "plain", environment={})
    return re.sub(STEP, "", ran.stdout)


def overhead() -> dict[str, Any]:
    """What recording costs a step of the eager block, and of the CUDA program."""
    return {
        name: cost_of(
            program_of(name, iterations=200), STEP, WORK / f"cost-{name}", rounds=4, seconds=60.0
        ).told()
        for name in ("eager", "cuda")
    }


def table(found: dict[str, Any]) -> str:
    """What was found, short."""
    lines = ["program    configs  kept  equal  kernels equal"]
    for name, row in found["programs"].items():
        if "failed" in row:
            lines.append(f"{name:10} {row['failed'][:80]}")
        else:
            kernels = f"{row['kernels_equal']} of {row['kernels']}"
            lines.append(
                f"{name:10} {row['configurations']:7} {row['kept']:5} {row['equal']:6}  {kernels}"
            )
    for name, row in found.get("overhead", {}).items():
        lines.append(f"recording {name}: {row['percent']:+.2f} %")
    for name in ("better", "again", "refused"):
        if "round_trip" in found:
            lines.append(f"{name}: {found['round_trip'][name]['told']}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
