"""The runner process of the native tier: it holds the clock and the buffers.

It binds inputs from the oracle's pools to the arenas of its executors, says go, reads the
clock, and returns raw times and outputs. It never holds an expected value and judges
nothing. Outputs travel by content: those whose digest the server does not know yet are
handed over in shared memory (`outputs.py`), so that each is judged once and re-checked for
the price of a comparison ever after.

A process never sees the same values twice: before its unseen inputs run out, an executor
is replaced, so a result remembered from an earlier call is of no use.
"""

from __future__ import annotations

import mmap
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .channel import Channel
from .contract import BoundArgument, BoundContract
from .errors import ProcessLost
from .executor import Executor, ExecutorLost, Fault
from .layout import Record, arena, record
from .outputs import OutputKey, OutputMemory, OutputSink, same_bytes
from .plan import LaunchPlan
from .runner_messages import Block, Check, Load, Pool, RunResult, SideTimes
from .shared_arena import GUARD_PATTERN, ArenaStock, Bytes, SharedArena

WARM_UP_SLOT = 0
WARM_UP_CALLS = 2
SAMPLES_A_PROCESS = 3
"""A block of them. Where a process happens to place code and stack can cost some percent for
as long as it lives: with a process of its own each block draws again."""


@dataclass(frozen=True)
class InputPool:
    """The inputs of every seed of one workload: `slots` records of `inputs.nbytes`."""

    contract: BoundContract
    inputs: Record
    outputs: Record
    slots: int
    values: Bytes

    def value(self, slot: int, name: str) -> Bytes:
        """The bytes of one input of one seed."""
        place = next(s for s in self.inputs.slots if s.name == name)
        start = slot * self.inputs.nbytes + place.offset
        return self.values[start : start + place.nbytes]


@dataclass
class Session:
    """An executor, the seeds that it has not seen, and the samples it has yet to give."""

    executor: Executor
    unseen: list[int]
    samples: int = SAMPLES_A_PROCESS


class NativeRunner:
    """Keeps pools, variants and executors; one method a message."""

    def __init__(self, binary: Path, scratch: Path) -> None:
        self._binary, self._scratch = binary, scratch
        self._pools: dict[str, InputPool] = {}
        self._modules: dict[str, Path] = {}
        self._plans: dict[tuple[str, str], LaunchPlan] = {}
        self._sessions: dict[tuple[str, str], Session] = {}
        self._memory = OutputMemory()
        self._arenas = ArenaStock()

    def pool(self, message: Pool, fd: int) -> None:
        """Take over the inputs of a workload; a pool of the same name is replaced."""
        contract = message.bound()
        inputs = record(contract.inputs)
        size = inputs.nbytes * message.slots
        values = np.frombuffer(mmap.mmap(fd, size, prot=mmap.PROT_READ), dtype=np.uint8)
        outputs = record(contract.outputs)
        self._memory.forget(lambda key: key.pool == message.pool)
        for key in [k for k in self._sessions if k[1] == message.pool]:
            self._sessions.pop(key).executor.close()
        self._pools[message.pool] = InputPool(contract, inputs, outputs, message.slots, values)

    def load(self, message: Load) -> None:
        """Make a variant known by its module and plans."""
        (self._modules[message.variant],) = map(Path, message.modules.values())
        for plan in message.plans:
            self._plans[message.variant, plan.label] = plan

    def unload(self, variant: str) -> None:
        """Forget a variant and end its executors."""
        self._modules.pop(variant, None)
        self._memory.forget(lambda key: key.variant == variant)
        for key in [k for k in self._plans if k[0] == variant]:
            del self._plans[key]
        self.rest(variant)

    def rest(self, variant: str | None = None) -> None:
        """End the executors of a variant, or all: the next run starts in a fresh process."""
        for key in [k for k in self._sessions if variant in (None, k[0])]:
            self._sessions.pop(key).executor.close()

    def check(self, message: Check) -> tuple[list[RunResult], int]:
        """Run once for each slot and poison in a fresh process; results and an outputs file."""
        pool = self._pools[message.pool]
        sink = OutputSink(pool.outputs, message.known, self._memory)
        results = list[RunResult]()
        layout = arena(pool.contract, 1, barely_aligned=message.barely_aligned)
        try:
            executor = self._executor(message.variant, pool, self._arenas.take(layout))
        except ExecutorLost as lost:
            return [_faulted(message.slots[0], message.poisons[0], lost.fault)], sink.close()
        for slot, poison in zip(message.slots, message.poisons, strict=True):
            _fill(executor, pool, 0, slot, poison)
            try:
                executor.run(0, 1, message.timeout_s)
            except ExecutorLost as lost:
                results.append(_faulted(slot, poison, lost.fault))
                break
            key = OutputKey(message.variant, message.pool, slot)
            results.append(_collect(executor, pool, 0, key, poison, sink))
        executor.close()
        return results, sink.close()

    def block(self, message: Block) -> tuple[list[SideTimes], int]:
        """One block of timed samples: every round runs all sides once, in the order given."""
        pool = self._pools[message.pool]
        sink = OutputSink(pool.outputs, message.known, self._memory)
        sides = {variant: SideTimes(variant=variant) for variant in message.rounds[0]}
        for order in message.rounds:
            for variant in order:
                side = sides[variant]
                try:
                    sides[variant] = self._sample(message, pool, side, sink)
                except ExecutorLost as lost:
                    self._sessions.pop((variant, message.pool), None)
                    faulted = side.model_copy(update={"fault": lost.fault.detail})
                    faulted = faulted.model_copy(update={"fault_kind": lost.fault.kind})
                    return [faulted], sink.close()
        return list(sides.values()), sink.close()

    def _sample(
        self, message: Block, pool: InputPool, side: SideTimes, sink: OutputSink
    ) -> SideTimes:
        calls = _calls(message, pool, side.variant)
        session = self._session(side.variant, message, pool)
        session.samples -= 1
        slots = [session.unseen.pop() for _ in range(calls)]
        for index, slot in enumerate(slots):
            _fill(session.executor, pool, index, slot, message.poison)
        waited = session.executor.waited_ns()
        elapsed = session.executor.run(0, calls, message.timeout_s)
        waited = max(0, session.executor.waited_ns() - waited)
        results = [
            _collect(
                session.executor,
                pool,
                index,
                OutputKey(side.variant, message.pool, slot),
                message.poison,
                sink,
            )
            for index, slot in enumerate(slots)
        ]
        return side.model_copy(
            update={
                "nanoseconds": (*side.nanoseconds, elapsed / calls),
                "disturbed": (*side.disturbed, waited / elapsed),
                "results": (*side.results, *results),
            }
        )

    def _session(self, variant: str, message: Block, pool: InputPool) -> Session:
        """A warm executor that can give another sample."""
        key, calls = (variant, message.pool), _calls(message, pool, variant)
        sets = max(_calls(message, pool, each) for each in message.rounds[0])
        shared = self._arenas.take(arena(pool.contract, sets))
        session = self._sessions.get(key)
        if session is not None:
            fresh = session.samples > 0 and len(session.unseen) >= calls
            if fresh and session.executor.shared is shared:
                return session
            session.executor.close()
            del self._sessions[key]
        executor = self._executor(variant, pool, shared)
        for index in range(calls):
            _fill(executor, pool, index, WARM_UP_SLOT, message.poison)
        for _ in range(WARM_UP_CALLS):
            executor.run(0, calls, message.timeout_s * calls)
        unseen = [slot for slot in range(pool.slots) if slot != WARM_UP_SLOT]
        session = self._sessions[key] = Session(executor, unseen)
        return session

    def _executor(self, variant: str, pool: InputPool, shared: SharedArena) -> Executor:
        plan = self._plans[variant, pool.contract.label]
        return Executor(self._binary, self._modules[variant], plan, shared, self._scratch)


def _calls(message: Block, pool: InputPool, variant: str) -> int:
    """Calls of one sample; each needs a seed of its own beside the one of the warm-up."""
    return min(message.calls.get(variant, 1), pool.slots - 1)


def _fill(executor: Executor, pool: InputPool, index: int, slot: int, poison: int) -> None:
    """Fresh values for one set: inputs from the pool, outputs poisoned."""
    base = index * executor.shared.layout.stride
    roles = {a.name: a.argument.role for a in pool.contract.arrays}
    for place in executor.shared.layout.slots:
        start = base + place.offset
        target = executor.shared.memory[start : start + place.nbytes]
        if roles[place.name] == "output":
            target[:] = poison
        else:
            target[:] = pool.value(slot, place.name)


def _collect(
    executor: Executor, pool: InputPool, index: int, key: OutputKey, poison: int, sink: OutputSink
) -> RunResult:
    """What a run left behind: guards, inputs, gaps between strides, outputs."""
    memory, base = executor.shared.memory, index * executor.shared.layout.stride
    places = {s.name: s for s in executor.shared.layout.slots}

    def array(name: str) -> Bytes:
        start = base + places[name].offset
        return memory[start : start + places[name].nbytes]

    changed = [
        a.name
        for a in pool.contract.inputs
        if a.argument.role == "input"
        and not same_bytes(array(a.name), pool.value(key.slot, a.name))
    ]
    start_values = {a.name for a in pool.contract.inputs}
    gaps = [
        a.name
        for a in pool.contract.outputs
        if a.name not in start_values and not _gaps_untouched(a, array(a.name), poison)
    ]
    parts = [array(a.name) for a in pool.contract.outputs]
    digest, stored = sink.add(key, parts)
    overrun = _overrun(executor, index)
    if overrun:
        executor.shared.guard()  # the arena serves others, too
    return RunResult(
        slot=key.slot,
        poison=poison,
        overrun=overrun,
        changed_inputs=tuple(changed),
        touched_gaps=tuple(gaps),
        digest=digest,
        stored=stored,
    )


def _overrun(executor: Executor, index: int) -> str:
    """Where a guard band was written, in words; empty when none was."""
    shape = executor.shared.layout
    names = [s.name for s in shape.slots]
    for number, (start, end) in enumerate(shape.guards(index)):
        hit = np.flatnonzero(executor.shared.memory[start:end] != GUARD_PATTERN)
        if not hit.size:
            continue
        behind, before = int(hit[0]), end - start - int(hit[-1])
        if number == len(names) or (number > 0 and behind < before):
            return f"byte {behind + 1} behind the end of `{names[number - 1]}`"
        return f"byte {before} before the start of `{names[number]}`"
    return ""


def _gaps_untouched(bound: BoundArgument, data: Bytes, poison: int) -> bool:
    """Whether the bytes between strided elements still hold the poison."""
    itemsize = data.size // max(1, _span(bound))
    mask = np.ones(_span(bound), dtype=bool)
    np.lib.stride_tricks.as_strided(mask, bound.shape, bound.strides)[...] = False
    if not mask.any():
        return True
    return bool((data.reshape(-1, itemsize)[mask] == poison).all())


def _span(bound: BoundArgument) -> int:
    """Elements from the first to the last."""
    if 0 in bound.shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(bound.shape, bound.strides, strict=True))


def _faulted(slot: int, poison: int, fault: Fault) -> RunResult:
    return RunResult(slot=slot, poison=poison, fault=fault.detail, fault_kind=fault.kind)


def main() -> None:
    """Serve messages until the channel closes: argv is CHANNEL_FD EXECUTOR SCRATCH."""
    channel = Channel.from_fd(int(sys.argv[1]))
    runner = NativeRunner(Path(sys.argv[2]), Path(sys.argv[3]))
    try:
        while True:
            message, fds = channel.receive()
            reply, out = _answer(runner, message, fds)
            channel.send(reply, out)
            for fd in (*fds, *out):
                os.close(fd)
    except ProcessLost:
        pass  # the server is gone
    finally:
        runner.rest()


def _answer(
    runner: NativeRunner, message: dict[str, Any], fds: list[int]
) -> tuple[dict[str, Any], list[int]]:
    body = message.get("body")
    match message["verb"]:
        case "pool":
            runner.pool(Pool.model_validate(body), fds[0])
        case "load":
            runner.load(Load.model_validate(body))
        case "unload":
            runner.unload(str(body))
        case "rest":
            runner.rest()
        case "check":
            results, fd = runner.check(Check.model_validate(body))
            return {"results": [r.model_dump(mode="json") for r in results]}, [fd]
        case "block":
            sides, fd = runner.block(Block.model_validate(body))
            return {"sides": [s.model_dump(mode="json") for s in sides]}, [fd]
        case verb:
            raise ValueError(f"the runner knows no `{verb}`")
    return {}, []


if __name__ == "__main__":
    main()
