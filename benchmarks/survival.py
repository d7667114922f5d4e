"""Faults in a row against one server: each in its own ending, the next evaluation right, nothing
left behind.

usage: python benchmarks/survival.py [--tier native|device] [--faults 200] [--seed 1] [--out FILE]
       [--only REGEX] [--seconds S]

Writes benchmarks/results/survival_host.json or survival_gpu.json. As root, small file systems are
mounted where disks are to be full, in a mount namespace of this process's own; where that is not
allowed these faults are skipped, and the result says so.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import survival_device
import survival_outside
import survival_sources
from environment import ROOT, write
from survival_kernel import Subject
from survival_leftovers import Held, held, settled
from survival_outside import OutsideFault
from survival_references import REFERENCES, ReferenceFault
from survival_sources import SourceFault

from kernelwright.evaluation.winner_set import MIN_GAIN
from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.model import Ending, Evaluation
from kernelwright.search.session.workbench import Workbench
from kernelwright.store.records import VariantRecord

Fault = SourceFault | OutsideFault | ReferenceFault
REFERENCE_FAILED = "ReferenceFailed"
OWN_MOUNTS = "KERNELWRIGHT_OWN_MOUNTS"
NOISY_TRIES = 3
MESSAGE_CHARACTERS = 400
"""of each that the result keeps"""
FILES = {"native": "survival_host", "device": "survival_gpu"}


@dataclass(frozen=True)
class Row:
    """One fault and what came of it."""

    fault: str
    expected: str
    seen: str
    message: str
    message_ok: bool
    again: str
    """ending of the same variant when it was asked for again, after `lost` or an error"""
    next_honest: str
    next_wrong: str
    next_said: str
    """what the honest one after it said, if it was not faster"""
    leftovers: tuple[str, ...]
    seconds: float

    @property
    def survived(self) -> bool:
        """Whether all was as it must be."""
        ended = self.seen in self.expected.split("|") and self.message_ok
        right = self.next_honest == "faster" and self.next_wrong == "wrong"
        return ended and right and self.again in ("", "faster") and not self.leftovers


class Survivor:
    """One workbench that is not restarted whatever happens."""

    def __init__(
        self, bench: Workbench, tier: str, rng: random.Random, min_gain: float = MIN_GAIN
    ) -> None:
        """`min_gain`: what makes an incumbent; out of reach, nothing is compared with equals."""
        self._bench, self._rng, self._min_gain = bench, rng, min_gain
        self._subject = Subject.of(tier, bench.outdir.parent)
        self._gpu_bytes = _gpu_bytes(tier)
        self._tag = 0
        bench.evaluator.open(self._subject.loaded)
        for _ in range(2):
            self._ending(self._evaluate_honest)
        # the public seed, of which it is told what is wrong, is kept from the first wrong one on
        self._ending(lambda: bench.evaluator.evaluate(self._subject.wrong(self._next())))
        self._before = held(bench.outdir, self._gpu_bytes)

    @property
    def before(self) -> Held:
        """What the server held before the first fault."""
        return self._before

    def meet(self, fault: Fault) -> Row:
        """Let a fault happen, then look whether all is well."""
        started = time.monotonic()
        again = ""
        if isinstance(fault, ReferenceFault):
            seen, message = self._opening(fault.source)
        elif isinstance(fault, SourceFault):
            source = self._subject.spoiled(fault.line, fault.above, self._next())
            record = self._subject.variant(source, **fault.changes)
            seen, message = self._ending(lambda: self._bench.evaluator.evaluate(record))
        else:
            record = self._subject.honest(self._next())
            with contextmanager(fault.do)(self._bench.outdir, self._rng):
                seen, message = self._ending(lambda: self._evaluate(record))
            if seen not in ("faster", "slower", "tie"):
                again, _ = self._ending(lambda: self._evaluate(record))
        expected = [REFERENCE_FAILED]
        if not isinstance(fault, ReferenceFault):
            expected = [ending.value for ending in fault.endings]
        if isinstance(fault, OutsideFault) and fault.error:
            expected.append(fault.error)
        measured = seen in ("faster", "slower", "tie", "unstable")
        honest, said = self._ending(self._evaluate_honest)
        wrong, _ = self._ending(
            lambda: self._bench.evaluator.evaluate(self._subject.wrong(self._next()))
        )
        return Row(
            fault=fault.name,
            expected="|".join(expected),
            seen=seen,
            message=self._without_places(message),
            message_ok=measured or re.search(fault.words, message, re.DOTALL) is not None,
            again=again,
            next_honest=honest,
            next_wrong=wrong,
            next_said="" if honest == "faster" else self._without_places(said),
            leftovers=tuple(settled(self._before, self._bench.outdir, self._gpu_bytes)),
            seconds=round(time.monotonic() - started, 2),
        )

    def _opening(self, reference: str) -> tuple[str, str]:
        """What comes of opening the kernel with another reference."""
        try:
            self._bench.evaluator.open(self._subject.with_reference(reference))
        except KernelwrightError as error:
            return type(error).__name__, str(error)
        return "opened", ""

    def _evaluate_honest(self) -> Evaluation:
        return self._evaluate(self._subject.honest(self._next()))

    def _evaluate(self, record: VariantRecord) -> Evaluation:
        """An evaluation; a machine that is too noisy for a verdict is asked again."""
        found = self._bench.evaluator.evaluate(record, self._min_gain)
        for _ in range(NOISY_TRIES - 1):
            if found.ending is Ending.unstable:
                found = self._bench.evaluator.evaluate(record, self._min_gain)
        return found

    def _without_places(self, message: str) -> str:
        """Its beginning, with no folder of this machine in it."""
        told = message.replace(str(self._bench.outdir), "OUTDIR").replace(str(ROOT), "CHECKOUT")
        return told[:MESSAGE_CHARACTERS]

    def _next(self) -> int:
        self._tag += 1
        return self._tag

    @staticmethod
    def _ending(work: Callable[[], Evaluation]) -> tuple[str, str]:
        try:
            found = work()
        except KernelwrightError as error:
            return type(error).__name__, str(error)
        return found.ending.value, found.message


def _gpu_bytes(tier: str) -> Callable[[], int] | None:
    return survival_device.used_bytes if tier == "device" else None


def faults_of(tier: str, *, mounts: bool) -> tuple[list[Fault], dict[str, str]]:
    """The faults that can be tried here; the others by name, with the reason."""
    every: Sequence[Fault] = (*survival_sources.HOST, *survival_outside.HOST, *REFERENCES)
    if tier == "device":
        every = (*survival_device.DEVICE, *survival_outside.DEVICE, *REFERENCES)
    kept, skipped = list[Fault](), dict[str, str]()
    for fault in every:
        if isinstance(fault, OutsideFault) and fault.needs_mounts and not mounts:
            skipped[fault.name] = "no right to mount a small file system here"
        elif (
            isinstance(fault, SourceFault)
            and survival_sources.CALL in fault.above
            and platform.machine() != "x86_64"
        ):
            skipped[fault.name] = "its system calls are written for x86_64"
        else:
            kept.append(fault)
    return kept, skipped


def drawn(faults: Sequence[Fault], count: int, rng: random.Random) -> list[Fault]:
    """So many faults in random order: each at least once if they fit, heavy ones only once."""
    light = [fault for fault in faults if not fault.heavy]
    chosen = [*faults, *(rng.choice(light) for _ in range(max(0, count - len(faults))))]
    rng.shuffle(chosen)
    return chosen[:count]


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """What is claimed, counted."""
    return {
        "faults": len(rows),
        "kinds": len({row.fault for row in rows}),
        "wrong_endings": sum(row.seen not in row.expected.split("|") for row in rows),
        "unclear_messages": sum(not row.message_ok for row in rows),
        "wrong_verdicts_afterwards": sum(
            row.next_honest != "faster" or row.next_wrong != "wrong" for row in rows
        ),
        "leftovers": sum(bool(row.leftovers) for row in rows),
        "lost": sum(row.seen == Ending.lost for row in rows),
        "survived": sum(row.survived for row in rows),
    }


def line_of(number: int, row: Row) -> str:
    """A row of the printed table."""
    left = "; ".join(row.leftovers) or "none"
    mark = "ok " if row.survived else "BAD"
    return (
        f"{number:4} {mark} {row.fault:34} {row.seen:14} {row.again:7} then "
        f"{row.next_honest}, {row.next_wrong}; left: {left}; {row.seconds:6.1f} s"
    )


def run(
    tier: str, count: int, seed: int, only: str = "", seconds: float = float("inf")
) -> dict[str, Any]:
    """All faults, one after the other, against one workbench; none begins after so long."""
    deadline = time.monotonic() + seconds
    rng = random.Random(seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        mounts = bool(os.environ.get(OWN_MOUNTS))
        mounts = mounts and stack.enter_context(survival_outside.mounted(folder / "out"))
        outdir, rows = folder / "out", list[Row]()
        at_start = held(outdir, _gpu_bytes(tier))
        faults, skipped = faults_of(tier, mounts=mounts)
        faults = [fault for fault in faults if re.search(only, fault.name)]
        with Workbench(outdir, [folder]) as bench:
            survivor = Survivor(bench, tier, rng)
            for fault in drawn(faults, count, rng):
                if time.monotonic() > deadline:
                    break
                rows.append(survivor.meet(fault))
                print(line_of(len(rows), rows[-1]), flush=True)
                if not rows[-1].survived:
                    print(f"         expected {rows[-1].expected}; it said: {rows[-1].message}")
                    if rows[-1].next_said:
                        print(f"         then: {rows[-1].next_said}")
        left = settled(at_start, outdir, _gpu_bytes(tier))
    return {
        "tier": tier,
        "seed": seed,
        "summary": summary(rows),
        "skipped": skipped,
        "held_before": dict(survivor.before.counts),
        "left_after_close": [what for what in left if not what.endswith("threads")],
        "rows": [asdict(row) for row in rows],
    }


def with_own_mounts() -> None:
    """Start this program again where its mounts are nobody else's, if the system lets us."""
    tool = shutil.which("unshare")
    if os.environ.get(OWN_MOUNTS) is not None or tool is None:
        return
    os.environ[OWN_MOUNTS] = ""
    if os.geteuid() == 0:
        os.environ[OWN_MOUNTS] = "1"
        os.execv(tool, [tool, "--mount", "--propagation", "private", sys.executable, *sys.argv])


def main() -> None:
    """Print the table and write the result; ends with 1 if anything was not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tier", choices=sorted(FILES), default="native")
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="faults whose name matches")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for all faults")
    parser.add_argument("--out", type=Path, help="where to write, if not to benchmarks/results")
    given = parser.parse_args()
    with_own_mounts()
    found = run(given.tier, given.faults, given.seed, given.only, given.seconds)
    path = write(FILES[given.tier], found, given.out)
    print(found["summary"])
    print(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
    print("after closing:", "; ".join(found["left_after_close"]) or "nothing left")
    well = found["summary"]["survived"] == len(found["rows"]) and not found["left_after_close"]
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
