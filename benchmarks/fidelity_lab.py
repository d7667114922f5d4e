"""One kernel of `fidelity_kernels.py` on the product's own builder, runner, oracle and compare."""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.comparing.comparison import compare, first_look, first_times, orders
from kernelwright.runners.comparing.settling import DEVICE, NATIVE, TimingPlan
from kernelwright.runners.comparing.taken_blocks import Collected, Times
from kernelwright.runners.gates import FIRST_SET, first_failure
from kernelwright.runners.gates.checking import Checker
from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.runners.model import Comparison
from kernelwright.runners.oracle.oracle import Oracle
from kernelwright.runners.plans.plan import Artifact
from kernelwright.runners.processes.locks import timing_lock
from kernelwright.runners.protocol.pools import draw
from kernelwright.runners.proxies.runner import RUNNERS
from kernelwright.runners.specs.contract import workload_contracts
from kernelwright.runners.specs.devices import DeviceFacts
from kernelwright.runners.specs.normalise import source_key
from kernelwright.runners.toolchains import BuildRequest, Shape

TIMEOUT_S = 10.0
LONG_RUNS = {"device": (120, 240, 480, 960, 1920), "native": (60, 120, 240, 480)}
"""blocks of a run that is to find the truth, until its interval is narrow enough"""
SEARCH_S = {"device": 300.0, "native": 40.0}
"""the longest of them"""


class Subject(Protocol):
    """A kernel with a knob: `fidelity_kernels.Case`, `placed_kernels.Pair`."""

    @property
    def tier(self) -> str:
        """`device` or `native`"""
        ...

    @property
    def least(self) -> int:
        """The knob with the least work."""
        ...

    def source(self, knob: int) -> str:
        """The kernel with its knob set."""
        ...

    def spec(self) -> dict[str, Any]:
        """The spec, with one of its sources."""
        ...


S_co = TypeVar("S_co", bound=Subject, covariant=True)


class Lab(Generic[S_co]):
    """Builds, checks, and compares variants of one kernel. Raises what the product raises."""

    def __init__(self, case: S_co, folder: Path, device: DeviceFacts | None) -> None:
        self._case = case
        self.plan: TimingPlan = NATIVE if device is None else DEVICE
        self._device, self._open = device, ExitStack()
        self._loaded = load_data(case.spec(), folder, Roots([folder]))
        (self.contract,) = workload_contracts(self._loaded.spec)
        self._pool = draw(self._loaded.kernel_id, self.contract, name="w")
        self._builder = Builder(folder / "modules", folder / "scratch")
        self._open.callback(self._builder.close)
        tier = "native" if device is None else "device"
        runner = RUNNERS[tier](folder / "scratch", device, None)
        self._open.callback(runner.close)
        oracle = Oracle(folder / "scratch", device)
        self._open.callback(oracle.close)
        self._checker = Checker(runner, oracle)
        oracle.open(self._loaded)
        self._checker.attach(self._pool, self._loaded.spec.io)
        self._rng = random.Random(secrets.randbits(64))
        self._built = dict[int, Artifact]()

    @property
    def case(self) -> S_co:
        """The kernel."""
        return self._case

    def close(self) -> None:
        """End all processes."""
        self._open.close()

    def build(self, knob: int) -> Artifact:
        """The kernel with its knob set."""
        if knob not in self._built:
            source = self.case.source(knob)
            key = source_key(source, self._loaded.spec.kernel.kernel_type)
            update = {"source": source, "source_key": key}
            request = BuildRequest(
                kernel=self._loaded,
                variant=self._loaded.baseline().model_copy(update=update),
                shapes=(Shape(label=self.contract.label, symbols=dict(self.contract.symbols)),),
                device=self._device,
            )
            outcome = self._builder.build(request)
            assert outcome.artifact is not None, outcome.message
            self._built[knob] = outcome.artifact
        return self._built[knob]

    def module_path(self, artifact: Artifact) -> Path:
        """Its machine code."""
        return self._builder.module_path(artifact.modules[0])

    def load(self, name: str, knob: int, *, check: bool = False) -> None:
        """Load machine code of its own under a name; what had it before is unloaded."""
        artifact, runner = self.build(knob), self._checker.runner
        paths = {m.sha256: self._builder.module_path(m) for m in artifact.loaded}
        runner.unload(name)
        runner.load(name, paths, tuple(artifact.plans.values()))
        if check:
            runs = self._checker.check(name, self._pool, (0, 1), timeout_s=TIMEOUT_S)
            failed = first_failure([gate(runs) for gate in FIRST_SET])
            assert failed is None, failed

    def compare(self, candidate: str, other: str, plan: TimingPlan | None = None) -> Comparison:
        """As an evaluation does it."""
        device = "host" if self._device is None else str(self._device.uuid)
        with timing_lock(device):
            measured = compare(
                self._checker,
                (self._pool,),
                candidate,
                [other],
                plan=plan or self.plan,
                timeout_s=TIMEOUT_S,
                rng=self._rng,
            )
        failed = first_failure([gate(measured.runs) for gate in FIRST_SET])
        assert failed is None, failed
        assert measured.comparison is not None
        return measured.comparison

    def placed_blocks(self, sides: Sequence[str], placements: int, rounds: int) -> Collected:
        """Blocks of loaded sides, each of so many rounds in a placement of its own, as a
        confirmation takes them; those that are undisturbed."""
        found, plan = Times(self._pool, {}, frozenset(), rounds), self.plan
        with timing_lock("host"):
            looked = first_look(self._checker, self._pool, sides, plan, TIMEOUT_S, {})
            times = first_times(self._pool, looked.seconds, plan)
            for number in range(placements):
                block, _ = self._checker.block(
                    self._pool,
                    orders(sides, times.once, rounds, self._rng),
                    times.calls,
                    TIMEOUT_S,
                    reload=number > 0,
                    placed=self._rng.getrandbits(63),
                )
                found.add(block, number, plan, "")
        return found.clean

    def truth(self, fast: int, slow: int, width: float) -> tuple[float, float, float, int]:
        """How much slower `slow` is than `fast`: ratio - 1, its 95 % interval, and blocks, of a
        run that is longer until the interval is no wider than `width`."""
        self.load("fast", fast, check=True)
        self.load("slow", slow, check=True)
        first, *longer = LONG_RUNS[self.case.tier]
        found = self.compare("fast", "slow", self._of_blocks(first))
        for blocks in longer:
            if found.ratios[0].high - found.ratios[0].low <= width:
                break
            found = self.compare("fast", "slow", self._of_blocks(blocks))
        ratio = found.ratios[0]
        return ratio.speedup - 1, ratio.low - 1, ratio.high - 1, found.blocks

    def milliseconds(self, knob: int) -> float:
        """The median time of a call, quickly."""
        self.load("quick", knob, check=True)
        self.load("twin", knob)
        found = self.compare("quick", "twin", self._of_blocks(6))
        return found.workloads[0].median_ms["quick"]

    def knob_for(self, milliseconds: float) -> int:
        """The knob at which a call takes about so long."""
        low, knob = self.case.least, 64 * self.case.least + 64
        base = self.milliseconds(low)
        while (found := self.milliseconds(knob)) < max(1.5 * base, 0.3 * milliseconds):
            knob *= 4
        slope = (found - base) / (knob - low)
        return max(low, round(low + (milliseconds - base) / slope))

    def _of_blocks(self, blocks: int) -> TimingPlan:
        """A comparison of exactly so many blocks."""
        return replace(
            self.plan,
            steps=(),
            looks=(blocks,),
            min_blocks=2,
            budget_s=SEARCH_S[self.case.tier],
            longest_s=SEARCH_S[self.case.tier],
            drift=math.inf,
        )
