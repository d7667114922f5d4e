"""Kernels that were told where the runner's own memory lies, in a process that is the runner.

`python device_inside.py FOLDER` prints, as JSON, what became of each: a program of its own, since
the device's memory has addresses in one process alone.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from device_kernels import CONTRACT, DeviceBench, N, integer, launch, pointer
from pretend_gpu import Twins

from kernelwright.runners.device import keeping, process, support
from kernelwright.runners.device.cuda_driver import driver
from kernelwright.runners.plans.plan import LaunchPlan
from kernelwright.runners.protocol.messages import Block, Check, Load, Pool, RunResult
from kernelwright.runners.protocol.pools import SeedPool
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.specs.io_contract import Contract

SLOTS = 4
SOURCE = (
    'extern "C" __global__ void twice(float* x, float* y, int n, unsigned* word, int undone) {\n'
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) y[i] = 2 * x[i];\n"
    "    if (i == 0 && word) *word = undone ? *word ^ 0x5a5a5a5a : *word + 0x5a5a;\n}\n"
)
"""Doubles, and changes a word that is none of its own; or changes it back, every other time."""


@dataclass
class Inside:
    """Stands in for the server's side of a runner: what it would send, done here."""

    process: process.DeviceProcess
    variants: dict[str, Load] = field(default_factory=dict[str, Load])

    def attach(self, pool: SeedPool, contract: Contract, fd: int) -> None:
        """As `Runner.attach`."""
        symbols = dict(pool.contract.symbols)
        message = Pool(
            pool=pool.pool, contract=contract, symbols=symbols, label="w", slots=pool.slots
        )
        self.process.pool(message, fd)

    def load(
        self, variant: str, modules: Mapping[str, Path], plans: tuple[LaunchPlan, ...]
    ) -> None:
        """As `Runner.load`."""
        paths = {sha256: str(path) for sha256, path in modules.items()}
        self.process.load(Load(variant=variant, modules=paths, plans=plans))


def load(bench: DeviceBench, variant: str, word: int, *, undone: bool = False) -> None:
    """`twice`, which changes the word at an address; 0: none."""
    told = {"arg": "word", "type": "uint64", "value": word, "raw": np.uint64(word).tobytes().hex()}
    params = (pointer("x"), pointer("y"), integer("n", N), told, integer("undone", undone))
    bench.load(variant, SOURCE, steps=[launch("twice", -(-N // 256), *params)])


def check(runner: process.DeviceProcess, variant: str) -> list[str]:
    """What each of two runs wrote that it must not, or whatever else was wrong."""
    message = Check(variant=variant, pool="k/w", slots=(0, 1), poisons=(0xFF, 0xA5), timeout_s=20.0)
    results, fd = runner.check(message)
    os.close(fd)
    return [said(r) for r in results]


def block(runner: process.DeviceProcess, *variants: str) -> dict[str, list[str]]:
    """The same of each side of a block."""
    rounds = (variants, variants[::-1])
    message = Block(pool="k/w", rounds=rounds, calls={}, poison=0xFF, timeout_s=20.0)
    answer, fd = runner.block(message)
    os.close(fd)
    return {s.variant: [s.fault] if s.fault else [said(r) for r in s.results] for s in answer.sides}


def said(result: RunResult) -> str:
    """What was wrong with a run."""
    return result.fault or result.overrun or ", ".join(result.changed_inputs)


def addresses(runner: process.DeviceProcess) -> dict[str, int]:
    """Words that only the runner may change, by what they are for."""
    stage, words = runner._stage, runner._stage.support._shared  # pyright: ignore[reportPrivateUsage]
    inputs = runner._pools["k/w"]  # pyright: ignore[reportPrivateUsage]
    stash = stage.runs.stash.region
    return {
        "let go": words.address(support.GO),
        "last step done": words.address(support.MARK),
        "rest of the page": words.address(support.HOST_WORDS - 1),
        "where outputs go": stash.address,
        "behind outputs": stash.address + stash.nbytes - 4,
        "inputs of another seed": inputs.address(SLOTS - 1, "x") + 4 * (N - 1),
        "behind inputs": inputs.region.address + inputs.region.nbytes - 4,
    }


def late(runner: process.DeviceProcess) -> dict[str, list[bool]]:
    """What is found where a copy engine, or nobody, writes to an output behind the last event."""
    runs = runner._stage.runs  # pyright: ignore[reportPrivateUsage]
    waits, found = runs._wait, dict[str, list[bool]]()  # pyright: ignore[reportPrivateUsage]

    def arrives(sample: Any, timeout_s: float) -> None:
        waits(sample, timeout_s)
        if sample.how == "early":
            start, nbytes = sample.last_outputs()[0]
            driver.Memset(start + nbytes - 4, 1, 0x41, 4, 1).enqueue(runs._stream)  # pyright: ignore[reportPrivateUsage]

    for name, runs._wait in (("late", arrives), ("in time", waits)):  # pyright: ignore[reportPrivateUsage]
        message = Block(
            pool="k/w", rounds=(("a",),), calls={"a": 2}, poison=0xFF, timeout_s=20.0, early=True
        )
        answer, fd = runner.block(message)
        os.close(fd)
        found[name] = [result.late for result in answer.sides[0].results]
        found[f"{name}, samples"] = [len(answer.sides[0].nanoseconds) > 1]
    return found


def main() -> None:
    """All of it, looked at after each sample, and once a block."""
    folder = Path(sys.argv[1])
    twins = os.environ.get("PRETEND_GPU_TWINS")
    runner = process.DeviceProcess(driver.device_uuid(), folder)
    parsed = Contract.model_validate(CONTRACT)
    bound = bind(parsed, {"n": N}, "w")
    inside: Any = Inside(runner)
    bench = DeviceBench(inside, folder, sys.argv[2], bound, Twins(Path(twins)) if twins else None)
    pool = SeedPool("k/w", "k", bound, tuple(range(SLOTS)))
    inside.attach(pool, parsed, bench.inputs_file(SLOTS))
    load(bench, "a", 0)
    found: dict[str, Any] = {"clean": {"check": check(runner, "a"), "block": block(runner, "a")}}
    always = keeping.ALWAYS_BYTES
    seldom = ("behind outputs", "inputs of another seed")
    words = addresses(runner)
    cases = [(name, "", always, 0.0) for name in words]
    cases += [(name, " (seldom)", 0, 0.0) for name in seldom]
    cases += [(name, " (undone)", 0, 1.0) for name in seldom]
    for name, suffix, keeping.ALWAYS_BYTES, keeping.AMONG in cases:
        load(bench, "bad", words[name], undone="undone" in suffix)
        told = {"block": block(runner, "a", "bad")}
        runner._stage.runs.keeping.careful = False  # pyright: ignore[reportPrivateUsage]
        told |= {"check": check(runner, "bad")}
        runner._stage.runs.keeping.careful = False  # pyright: ignore[reportPrivateUsage]
        found[name + suffix] = {**told, "after": check(runner, "a")}
    found["late"] = late(runner)
    print(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
