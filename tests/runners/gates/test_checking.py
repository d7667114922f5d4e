"""What the server remembers of outputs that were judged."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import lift
import pytest

from kernelwright.runners.errors import ProcessLost
from kernelwright.runners.gates.checking import MOST_KNOWN, Checker
from kernelwright.runners.oracle.messages import JudgeOutputs, OutputVerdict
from kernelwright.runners.protocol.messages import Check, RunResult
from kernelwright.runners.protocol.pools import SeedPool, draw
from kernelwright.runners.specs.contract import workload_contracts

RIGHT = OutputVerdict(
    name="y",
    right=True,
    largest=0.0,
    allowed=1.0,
    rms=0.0,
    worst_index=None,
    worst_value="",
    expected_value="",
    message="",
)


@dataclass
class NeverTheSame:
    """A runner whose variant computes other bits each time, and an oracle that counts."""

    stable: bool = False
    instead: RunResult | None = None
    runs: int = 0
    judged: int = 0
    most_known: int = 0
    told: list[int] = field(default_factory=list[int])
    """digests that came with each message"""
    pools: list[str] = field(default_factory=list[str])

    def attach(self, pool: SeedPool, contract: object, fd: int) -> None:
        os.close(fd)

    def make_pool(self, pool: SeedPool) -> int:
        return os.memfd_create("pool")

    def check(self, message: Check) -> tuple[list[RunResult], int]:
        known = {(int(s), d) for s, digests in message.known.items() for d in digests}
        self.most_known = max(self.most_known, len(known))
        self.told.append(len(known))
        if self.instead is not None:
            return [self.instead], os.memfd_create("outputs")
        results = list[RunResult]()
        for slot, poison in zip(message.slots, message.poisons, strict=True):
            self.runs += 1
            digest = "same" if self.stable else f"{self.runs:032x}"
            place = None if (slot, digest) in known else len(results)
            known.add((slot, digest))
            results.append(RunResult(slot=slot, poison=poison, digest=digest, stored=place))
        return results, os.memfd_create("outputs")

    def judge(self, message: JudgeOutputs, fd: int) -> list[tuple[OutputVerdict, ...]]:
        self.judged += len(message.slots)
        return [(RIGHT,) for _ in message.slots]


def checker(other: NeverTheSame, folder: Path) -> tuple[Checker, SeedPool]:
    spec = lift.load(folder).spec
    pool = draw("lift", workload_contracts(spec)[0], name="usual", slots=4)
    made = Checker(cast(Any, other), cast(Any, other))
    made.attach(pool, spec.io)
    return made, pool


def test_outputs_that_are_never_the_same_do_not_pile_up(tmp_path: Path) -> None:
    other = NeverTheSame()
    made, pool = checker(other, tmp_path)
    for _ in range(5):
        runs = made.check("v", pool, [n % 4 for n in range(MOST_KNOWN // 2)], timeout_s=1)
        assert all(run.verdicts for run in runs)
    assert other.most_known == MOST_KNOWN
    assert other.judged == other.runs


def test_an_output_that_comes_back_is_judged_once_and_outlives_those_that_do_not(
    tmp_path: Path,
) -> None:
    other = NeverTheSame(stable=True)
    made, pool = checker(other, tmp_path)
    for _ in range(3):
        other.stable = True
        made.check("v", pool, range(4), timeout_s=1)
        other.stable = False
        made.check("w", pool, [0] * (MOST_KNOWN // 2), timeout_s=1)
    assert other.judged == 4 + 3 * (MOST_KNOWN // 2)


def test_messages_tell_what_was_judged_before_until_the_pool_is_another(tmp_path: Path) -> None:
    other = NeverTheSame(stable=True)
    made, pool = checker(other, tmp_path)
    for slots in ((0,), (0, 1), (1,), (2,), (2,)):
        made.check("v", pool, slots, timeout_s=1)
    made.attach(pool, lift.load(tmp_path).spec.io)
    made.check("v", pool, (3,), timeout_s=1)
    assert other.told == [0, 1, 2, 2, 3, 0]


def test_a_device_without_room_says_nothing_of_a_variant(tmp_path: Path) -> None:
    full = RunResult(slot=0, poison=255, fault="out of device memory", fault_kind="no_room")
    other = NeverTheSame(instead=full)
    made, pool = checker(other, tmp_path)
    with pytest.raises(ProcessLost, match="nothing could be run: out of device memory"):
        made.check("v", pool, (0,), timeout_s=1)
    assert not other.judged
