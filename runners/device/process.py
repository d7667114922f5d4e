"""The runner process of the device tier: machine code for the GPU runs here, and nothing else.

It loads cubins through the driver, binds its own buffers, launches, and returns raw times and
outputs. It holds no expected value, judges nothing, and executes nothing of a candidate on the
host. After an error that spoils its context it answers, and ends; the server starts another.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

from ..processes.channel import Answer, Channel, serve
from ..protocol.arena_values import InputPool
from ..protocol.messages import WALLED, Block, BlockResult, Check, Load, Pool, RunResult, SideTimes
from .blocks import run_block
from .copying import copy_bandwidth
from .cuda_driver.faults import DriverFault, OutOfDeviceMemory, RunFault, fault_of
from .handover import Handover
from .memory import DeviceInputs, no_room
from .presence.conditions import Watch
from .presence.registry import register
from .sample import AGAIN, STRAY, Sample, drifted
from .side import Side
from .stage import Stage


class DeviceProcess:
    """Keeps pools, variants and the stage; one method a message."""

    def __init__(self, uuid: str, folder: Path) -> None:
        self._stage = Stage()
        self._watch = Watch(uuid, os.getpid(), folder)
        self._pools: dict[str, DeviceInputs] = {}
        self._variants: dict[str, Load] = {}
        self._blocks = 0
        self.lost = False
        """the context is spoiled: this process has to end"""

    def pool(self, message: Pool, fd: int) -> None:
        """Take over the inputs of a workload; a pool of the same name is replaced."""
        self.drop_pool(message.pool)
        inputs = self._pools[message.pool] = DeviceInputs(InputPool.of(message, fd))
        self._stage.admit(inputs)

    def drop_pool(self, pool: str) -> None:
        """Forget the inputs of a workload, and give their device memory back."""
        known = self._pools.pop(pool, None)
        if known is not None:
            self._stage.dismiss(known)

    def load(self, message: Load) -> None:
        """Make a variant known; its machine code is loaded when it is to run."""
        self.unload(message.variant)
        self._variants[message.variant] = message

    def unload(self, variant: str) -> None:
        """Forget a variant."""
        self._variants.pop(variant, None)
        self._stage.drop(variant)

    def check(self, message: Check) -> tuple[list[RunResult], int]:
        """Run once for each slot and poison with newly loaded code; results and an outputs file.

        Code with variables that outlive a launch runs once more on the first slot: what it
        left in them must not spoil the next call. So does a plan with a setup, none of which is
        repeated then: who calls it twice does not prepare it twice. Where setup fills buffers, it
        runs AGAIN: what calls leave there has to come back, so that every later call finds what one
        of these has found.
        """
        inputs = self._pools[message.pool]
        handover = Handover(inputs.pool.contract, message.known)
        wanted = [(s, p, False) for s, p in zip(message.slots, message.poisons, strict=True)]
        results = list[RunResult]()
        side: Side | None = None
        try:
            side = self._fresh_side(message, inputs)
            if side.code.keeps_state or side.setting.plan.setup:
                further = AGAIN if side.setting.prepared else 1
                wanted += [(*wanted[0][:2], True)] * further
            samples = self._samples(side, wanted)
            for sample, following in zip_longest(samples, samples[1:]):
                results.append(self._run(sample, message.timeout_s, handover, following))
            if names := drifted(sorted(side.setting.prepared), samples):
                results[-1] = results[-1].model_copy(update={"drifted": names})
            if self._stage.damaged():
                results[-1] = results[-1].model_copy(update={"overrun": STRAY})
        except (RunFault, DriverFault) as error:
            fault = self._met(error)
            slot, poison, again = wanted[min(len(results), len(wanted) - 1)]
            told = {"fault": fault.detail, "fault_kind": fault.kind, "again": again}
            results.append(RunResult(slot=slot, poison=poison).model_copy(update=told))
        if side is not None and not self.lost:
            self._stage.close(side)
        return results, handover.close()

    def block(self, message: Block) -> tuple[BlockResult, int]:
        """One block of timed samples: every round runs all sides once, in the order given."""
        inputs = self._pools[message.pool]
        handover = Handover(inputs.pool.contract, message.known)
        before, busy_s = self._watch.state(), self._stage.runs.busy_s
        self._blocks += 1
        try:
            if message.reload:
                self._stage.reload(inputs)
            sides = self._sides(message, inputs)
            times = run_block(self._stage, message, sides, handover, self._blocks)
            if self._stage.damaged():  # nobody knows by whom: once more, and look at each sample
                os.close(handover.close())
                handover = Handover(inputs.pool.contract, message.known)
                times = run_block(self._stage, message, sides, handover, self._blocks)
        except (RunFault, DriverFault) as error:
            fault = self._met(error)
            variant = fault.variant or self._largest(message)
            times = [SideTimes(variant=variant, fault=fault.detail, fault_kind=fault.kind)]
            return BlockResult(sides=tuple(times)), handover.close()
        conditions = self._watch.conditions(before)
        busy_s = self._stage.runs.busy_s - busy_s
        block = BlockResult(sides=tuple(times), conditions=conditions, busy_s=busy_s)
        return block, handover.close()

    def _met(self, error: RunFault | DriverFault) -> RunFault:
        if isinstance(error, OutOfDeviceMemory):
            fault = no_room("what checks need beside it", 0)
        else:
            fault = error if isinstance(error, RunFault) else fault_of(error)
        self.lost = fault.lost
        return fault

    def _largest(self, message: Block) -> str:
        """Who asks for most memory: whose fault it is when there is not enough for all."""
        label = self._pools[message.pool].pool.contract.label
        return max(
            message.rounds[0],
            key=lambda v: sum(
                b.nbytes for p in self._variants[v].plans if p.label == label for b in p.buffers
            ),
        )

    def copy_bandwidth(self) -> float:
        """Bytes read and written a second by a large copy."""
        return copy_bandwidth(self._stage.stream)

    def _fresh_side(self, message: Check, inputs: DeviceInputs) -> Side:
        """Newly loaded code, with a set that it gets and one that it does not."""
        load = self._variants[message.variant]
        plan = next(p for p in load.plans if p.label == inputs.pool.contract.label)
        if message.placement in WALLED:
            return self._stage.walled_side(
                load.variant, load.modules, plan, inputs, message.placement
            )
        sets = self._stage.sets_for([plan], inputs, 2)
        return self._stage.fresh_side(
            load.variant,
            load.modules,
            plan,
            inputs,
            sets,
            barely_aligned=message.placement == "barely",
        )

    def _samples(self, side: Side, wanted: Sequence[tuple[int, int, bool]]) -> list[Sample]:
        """Runs on (slot, poison), each by itself; or again, on what the run before has left."""
        mine, *others = self._stage.shuffled(side.setting.sets)
        slots = range(side.setting.inputs.pool.slots)
        made = [
            Sample(
                side,
                (slot,),
                (mine,),
                poison,
                bystander=(others[0], random.choice(slots)) if others else None,
                again=again,
            )
            for slot, poison, again in wanted
        ]
        for sample, following in pairwise(made):
            sample.lasting = following.again
        return made

    def _run(
        self, sample: Sample, timeout_s: float, handover: Handover, following: Sample | None
    ) -> RunResult:
        """One checked run."""
        places = list[int | None]()

        def take(sample: Sample) -> None:
            digest = sample.digest(0)
            places.append(handover.place(sample.slots[0], digest, lambda: sample.parts(0)))

        self._stage.runs.perform(sample, timeout_s, "by_steps", take, following)
        return sample.result(0, places[0], sample.busy_ms * 1e-3)

    def _sides(self, message: Block, inputs: DeviceInputs) -> dict[str, Side]:
        """All sides of a block, on equally many sets. Raises RunFault."""
        variants = message.rounds[0]
        loads = {v: self._variants[v] for v in variants}
        label = inputs.pool.contract.label
        plans = {v: next(p for p in load.plans if p.label == label) for v, load in loads.items()}
        calls = 1 if message.hot else max(message.calls.get(v, 1) for v in variants)
        wanted = max(calls + 1, self._stage.bound_sets(inputs))
        sets = self._stage.sets_for(list(plans.values()), inputs, wanted)
        self._stage.reserve_for(list(plans.values()), inputs, sets)
        sides = dict[str, Side]()
        for variant, load in loads.items():
            try:
                plan = plans[variant]
                sides[variant] = self._stage.side(variant, load.modules, plan, inputs, sets)
            except RunFault as fault:
                fault.variant = variant
                raise
        return sides


def main() -> None:
    """Serve messages until the channel closes: argv is CHANNEL_FD UUID FOLDER (of `registry`)."""
    channel = Channel.from_fd(int(sys.argv[1]))
    uuid, folder = sys.argv[2], Path(sys.argv[3])
    register(folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what kernels print
    process = DeviceProcess(uuid, folder)

    def answer(message: dict[str, Any], fds: list[int]) -> Answer:
        reply, out = _answer(process, message, fds)
        return {**reply, "lost": process.lost}, out

    serve(channel, answer, over=lambda: process.lost)
    os._exit(0)  # a kernel that hangs would hold up every orderly end


def _answer(process: DeviceProcess, message: dict[str, Any], fds: Sequence[int]) -> Answer:
    body = message.get("body")
    match message["verb"]:
        case "pool":
            process.pool(Pool.model_validate(body), fds[0])
        case "drop pool":
            process.drop_pool(str(body))
        case "load":
            process.load(Load.model_validate(body))
        case "unload":
            process.unload(str(body))
        case "check":
            results, fd = process.check(Check.model_validate(body))
            return {"results": [r.model_dump(mode="json") for r in results]}, [fd]
        case "block":
            block, fd = process.block(Block.model_validate(body))
            return block.model_dump(mode="json"), [fd]
        case "copy_bandwidth":
            return {"bytes_per_s": process.copy_bandwidth()}, []
        case verb:
            raise ValueError(f"the runner knows no `{verb}`")
    return {}, []


if __name__ == "__main__":
    main()
