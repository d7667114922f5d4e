"""What an evaluator holds on to: kernels that are worked on, processes that have work."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import lift
import psutil
import pytest

from kernelwright.evaluation.attached_kernels import MOST_ATTACHED
from kernelwright.evaluation.evaluator import Evaluator
from kernelwright.evaluation.rig.gpus import Gpus
from kernelwright.runners.errors import BaselineRefused
from kernelwright.runners.loading.files import LoadedKernel
from kernelwright.runners.model import Ending, Tier
from kernelwright.store.store import STATE_FILE, Store

HOLDERS = ("native.process", "oracle.process")
NEVER: Mapping[Tier, float] = {"device": 1e6, "native": 1e6}
AT_ONCE: Mapping[Tier, float] = {"device": 0.0, "native": 0.0}


@contextmanager
def evaluator(folder: Path, idle_s: Mapping[Tier, float]) -> Generator[Evaluator]:
    (folder / "out").mkdir()
    store = Store.open(folder / "out" / STATE_FILE)
    scratch = folder / "scratch"
    made = Evaluator(store, folder / "modules", scratch, Gpus(scratch), idle_s)
    try:
        yield made
    finally:
        made.close()
        store.close()


def kernel(folder: Path, number: int, **changes: object) -> LoadedKernel:
    return lift.load(folder, name=f"lift{number}", **changes)


OTHERS, THEIRS = set[psutil.Process](), set[int]()
"""Processes and pools of workbenches that other modules share."""


@pytest.fixture(autouse=True, scope="module")
def none_of_others() -> None:
    OTHERS.update(psutil.Process().children())
    THEIRS.update(pools())


def pools() -> set[int]:
    """Pools of inputs that this process holds, by their inodes."""
    files = map(Path, [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")])
    return {f.stat().st_ino for f in files if f.exists() and "memfd:inputs" in os.readlink(f)}


def holders() -> list[psutil.Process]:
    """Runners and oracles of this process that run, and that this module began."""
    found = list[psutil.Process]()
    for child in set(psutil.Process().children()) - OTHERS:
        with suppress(psutil.Error):  # one that has just ended, or an orphan of another test
            if child.cmdline()[3:4] in [[f"kernelwright.runners.{h}"] for h in HOLDERS]:
                found.append(child)
    return found


def held() -> list[int]:
    """Pools of inputs that this process, its runners and its oracles hold."""
    counts = [len(pools() - THEIRS)]
    for process in holders():
        maps = Path(f"/proc/{process.pid}/maps").read_text(encoding="ascii").splitlines()
        counts.append(len({line.split()[4] for line in maps if "memfd:inputs" in line}))
    return counts


def test_only_the_kernels_used_last_stay_attached_and_others_are_attached_again(
    tmp_path: Path,
) -> None:
    with evaluator(tmp_path, NEVER) as bench:
        opened = [kernel(tmp_path, number) for number in range(MOST_ATTACHED + 1)]
        for loaded in opened[:MOST_ATTACHED]:
            bench.open(loaded)
        full = held()
        assert min(full) > 0 and len(full) == 3
        bench.open(opened[-1])
        assert held() == full
        first = lift.verdict(bench, lift.variant(opened[0], REPEAT=1))
        assert first.ending is Ending.faster
        assert held() == full
        assert bench.confirm(first.variant_id).accepted
        assert held() == full


def test_a_baseline_that_is_refused_leaves_nothing_attached(tmp_path: Path) -> None:
    with evaluator(tmp_path, NEVER) as bench:
        for number in range(2):
            wrong = {"source_code": f"def reference(x, n):\n    return {number} * x\n"}
            with pytest.raises(BaselineRefused):
                bench.open(kernel(tmp_path, number, reference=wrong))
        assert held() == [0, 0, 0]


def test_the_truth_of_a_kernel_without_reference_is_adopted_again(tmp_path: Path) -> None:
    with evaluator(tmp_path, NEVER) as bench:
        adopted = kernel(tmp_path, 0, reference="baseline")
        bench.open(adopted)
        for number in range(1, MOST_ATTACHED + 1):
            bench.open(kernel(tmp_path, number))
        wrong = lift.SOURCE.replace("1.0f;", "1.1f;")
        found = lift.verdict(bench, lift.variant(adopted, REPEAT=1))
        assert found.ending is Ending.faster, found.message
        assert bench.evaluate(lift.variant(adopted, wrong)).ending is Ending.wrong


def test_processes_without_work_end_and_start_again_when_there_is_some(tmp_path: Path) -> None:
    with evaluator(tmp_path, {"device": 1e6, "native": 0.2}) as bench:
        loaded = kernel(tmp_path, 0)
        bench.open(loaded)
        _, alive = psutil.wait_procs(holders(), timeout=20)
        assert not alive
        slow = lift.variant(loaded, lift.slow_with_line("n += 0;"))
        found = bench.evaluate(slow)
        assert found.ending.measured, found.message


def test_no_request_is_lost_to_processes_that_end(tmp_path: Path) -> None:
    with evaluator(tmp_path, AT_ONCE) as bench:
        loaded = kernel(tmp_path, 0)
        bench.open(loaded)
        assert not holders()
        slow = lift.variant(loaded, lift.slow_with_line("n += 0;"))
        for record in (slow, lift.variant(loaded, REPEAT=1)):
            found = bench.evaluate(record)
            assert found.ending.measured, found.message
            assert not holders()
