"""The runner process of the device tier: machine code for the GPU runs here, and nothing else.

It loads cubins through the driver, binds its own buffers, launches, and returns raw times and
outputs. It holds no expected value, judges nothing, and executes nothing of a candidate on the
host. After an error that spoils its context it answers, and ends; the server starts another.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..arena_values import InputPool
from ..channel import Answer, Channel, serve
from ..plan import fills_in_setup
from ..runner_messages import Block, BlockResult, Check, Load, Pool, RunResult, SideTimes
from .blocks import parts_of, run_block
from .conditions import Watch
from .copying import copy_bandwidth
from .faults import DriverFault, OutOfDeviceMemory, RunFault, fault_of
from .handover import Handover
from .memory import DeviceInputs, no_room
from .registry import register
from .side import Side
from .stage import Stage

STRAY = "memory far from its buffers: inputs kept for later runs"


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
        left in them must not spoil the next call. So does a plan whose setup fills buffers, on
        what the run before left there: who calls it twice does not prepare them twice.
        """
        inputs = self._pools[message.pool]
        handover = Handover(inputs.pool.contract, message.known)
        wanted = [(s, p, False) for s, p in zip(message.slots, message.poisons, strict=True)]
        results = list[RunResult]()
        side: Side | None = None
        try:
            side = self._fresh_side(message, inputs)
            if side.code.keeps_state or fills_in_setup(side.setting.plan):
                wanted.append((*wanted[0][:2], True))
            for slot, poison, again in wanted:
                found = self._run(side, slot, poison, message.timeout_s, handover, again=again)
                results.append(found)
        except (RunFault, DriverFault) as error:
            fault = self._met(error)
            slot, poison, again = wanted[len(results)]
            told = {"fault": fault.detail, "fault_kind": fault.kind, "again": again}
            results.append(RunResult(slot=slot, poison=poison).model_copy(update=told))
        if side is not None and not self.lost:
            side.close()
        return results, handover.close()

    def block(self, message: Block) -> tuple[BlockResult, int]:
        """One block of timed samples: every round runs all sides once, in the order given."""
        inputs = self._pools[message.pool]
        handover = Handover(inputs.pool.contract, message.known)
        clock = self._watch.clock()
        self._blocks += 1
        try:
            sides = self._sides(message, inputs)
            times = run_block(self._stage, message, sides, handover, self._blocks)
        except (RunFault, DriverFault) as error:
            fault = self._met(error)
            variant = fault.variant or self._largest(message)
            times = [SideTimes(variant=variant, fault=fault.detail, fault_kind=fault.kind)]
            return BlockResult(sides=tuple(times)), handover.close()
        conditions = self._watch.conditions(clock)
        return BlockResult(sides=tuple(times), conditions=conditions), handover.close()

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
        load = self._variants[message.variant]
        plan = next(p for p in load.plans if p.label == inputs.pool.contract.label)
        return self._stage.fresh_side(
            load.variant, load.modules, plan, inputs, 1, barely_aligned=message.barely_aligned
        )

    def _run(
        self,
        side: Side,
        slot: int,
        poison: int,
        timeout_s: float,
        handover: Handover,
        *,
        again: bool,
    ) -> RunResult:
        """One checked run; again, if what its inputs are copied from had been damaged before."""
        stage = self._stage
        sample, found = stage.run_once(side, slot, poison, timeout_s, again=again)
        stray = False
        if sample.result(found, 0).changed_inputs and side.setting.inputs.repair(*stage.tools):
            sample, found = stage.run_once(side, slot, poison, timeout_s, again=again)
            stray = side.setting.inputs.repair(*stage.tools)
        result = sample.result(found, 0)
        place = handover.place(slot, result.digest, lambda: parts_of(sample, 0))
        told = {"stored": place, "overrun": STRAY if stray else result.overrun, "again": again}
        return result.model_copy(update=told)

    def _sides(self, message: Block, inputs: DeviceInputs) -> dict[str, Side]:
        """All sides of a block, on equally many sets. Raises RunFault."""
        variants = message.rounds[0]
        loads = {v: self._variants[v] for v in variants}
        label = inputs.pool.contract.label
        plans = {v: next(p for p in load.plans if p.label == label) for v, load in loads.items()}
        wanted = max(message.calls.get(v, 1) for v in variants)
        wanted = max(wanted, self._stage.bound_sets(variants, inputs))
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
