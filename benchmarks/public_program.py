"""A public training script, from `record` to an installed, verified gain or an honest no.

    python benchmarks/public_program.py CHECKOUT [--device cuda|cpu] [--seconds 280] [--most 3]
        [--iterations 40] [--to FILE]

CHECKOUT is a clone of github.com/karpathy/nanoGPT, whose files are copied and not changed; its
`train.py` runs as its README says for one GPU without compiling, in float32. It learns a text of
ours, as its own is fetched from the network. Steps: kernels recorded and ranked (a GPU alone),
operators recorded with the tensors of their first calls; then of those operators that may gain, the
one that loses most first, each is opened, searched, exported and verified in the program (A B B A,
the median of its own time of a step, its losses compared) and installed where it is faster, until
one is or `--most` were tried; then all is rolled back and the losses are those of before. An
operator that brings nothing is told as refused. Written to benchmarks/results/public_program.json.
"""

from __future__ import annotations

import argparse
import pickle
import random
import re
import shutil
import sys
import time
from array import array
from pathlib import Path
from typing import Any

from environment import write
from limited_parts import Facts, Stopped
from torch_round_trip_parts import lost, may_gain, recorded, round_trip

from kernelwright.analysis.programs.operators import OperatorRow
from kernelwright.analysis.programs.report import report_text
from kernelwright.runners.recording.fronts import Asked
from kernelwright.runners.recording.operators.putting import (
    roll_back_operators,
    run_with_operators,
)
from kernelwright.runners.recording.pairs import Judged
from kernelwright.runners.recording.recording import Program
from kernelwright.tools.programs.recorded import recorded_report

NAME, WORK = "public_program", Path("/tmp/public_program")
LOSSES = (sys.executable, str(Path(__file__).parent / "kernels" / "recorded" / "losses.py"))
JUDGED = Judged(metric=r"iter \d+: .*time ([0-9.]+)ms", each=True, comparator=LOSSES)
WORDS = (
    "the king and his ships came over a grey sea to find what night had hidden in halls of stone"
)
SMALL = ("--block_size=64", "--batch_size=8", "--n_layer=4", "--n_head=4", "--n_embd=128")
"""what its README proposes for a CPU"""


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--seconds", type=float, default=280.0, help="no operator is begun later")
    parser.add_argument("--most", type=int, default=3, help="operators that are tried")
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--to", type=Path)
    given = parser.parse_args()
    facts = Facts(WORK / "facts.json")
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    try:
        whole_way(facts, given)
    except Stopped as stopped:
        print(f"ended at its step {stopped}")
    write(NAME, {given.device: facts.content}, given.to)


def whole_way(facts: Facts, given: argparse.Namespace) -> None:
    """All steps. Raises Stopped."""
    began, ran = time.monotonic(), prepared(given)
    if given.device == "cuda":
        facts.step("kernels", lambda: kernels(ran))
    place = WORK / "operators"
    report = facts.step("recorded", lambda: recorded(ran, place))["report"]
    rows = [OperatorRow.model_validate(each) for each in report["rows"]]
    gaining = sorted(filter(may_gain, rows), key=lambda row: -lost(row, rows))
    for number, row in enumerate(gaining[: given.most]):
        if time.monotonic() - began > given.seconds:
            facts.step(f"{number}_begun", lambda: {"left": "no time was left"})
            break
        try:
            round_trip(facts, f"{number}_", [row], ran, place, builds=6, pairs=3, judged=JUDGED)
        except Stopped as stopped:  # it cannot be opened, or nothing was found: the next one
            print(f"  {row.label} {row.operator} ended at {stopped}")
            continue
        if facts.content[f"{number}_verified"].get("installed"):
            break
    facts.step("rolled_back", lambda: rolled_back(ran, place))


def prepared(given: argparse.Namespace) -> Program:
    """Its files with a text of ours, encoded as its own `prepare.py` does, and its command."""
    folder = WORK / "program"
    shutil.copytree(given.checkout, folder, ignore=shutil.ignore_patterns(".git", "out*"))
    drawn = random.Random(1)
    words = [drawn.choice(WORDS.split()) for _ in range(40_000)]
    text = "".join(f"{word}{'.' if n % 9 == 8 else ''} " for n, word in enumerate(words))
    letters = sorted(set(text))
    numbers = {letter: n for n, letter in enumerate(letters)}
    data, cut = folder / "data" / "shakespeare_char", len(text) * 9 // 10
    for name, part in (("train", text[:cut]), ("val", text[cut:])):
        (data / f"{name}.bin").write_bytes(array("H", (numbers[each] for each in part)).tobytes())
    meta = {"vocab_size": len(letters), "stoi": numbers, "itos": dict(enumerate(letters))}
    (data / "meta.pkl").write_bytes(pickle.dumps(meta))
    command = [sys.executable, "train.py", "config/train_shakespeare_char.py"]
    command += [f"--device={given.device}", "--compile=False", "--dtype=float32", "--dropout=0.0"]
    command += ["--eval_iters=1", "--eval_interval=100000", "--log_interval=1"]
    command += [f"--max_iters={given.iterations}", f"--lr_decay_iters={given.iterations}"]
    command += SMALL if given.device == "cpu" else ()
    return Program(tuple(command), folder, timeout_s=120)


def kernels(ran: Program) -> dict[str, Any]:
    """What the GPU's time goes to."""
    report, found = recorded_report(ran, WORK / "kernels", Asked())
    print(report_text(report, rows=8), flush=True)
    first = [[r.label, r.name, r.share, r.count, r.typical_us] for r in report.kernels[:12]]
    return {"ending": found.ran.ending, "kernel_ms": report.kernel_ms, "first": first}


def rolled_back(ran: Program, place: Path) -> dict[str, Any]:
    """What is taken out, and whether the losses are those of the program by itself."""
    run_with_operators(ran, place)
    before = _losses(place)
    taken_out = roll_back_operators(place)
    run_with_operators(ran, place)
    after = _losses(place)
    plain = place / "pairs" / "plain" / "output" / "program.stdout"
    known = re.findall(r"loss ([0-9.]+)", plain.read_text("utf-8")) if plain.exists() else after
    return {"taken_out": taken_out, "with_it": before[-3:], "after": after[-3:],
            "as_before": after == known}  # fmt: skip


def _losses(place: Path) -> list[str]:
    printed = place / "run" / "output" / "program.stdout"
    return re.findall(r"loss ([0-9.]+)", printed.read_text("utf-8"))


if __name__ == "__main__":
    main()
