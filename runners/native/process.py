"""The runner process of the native tier: it holds the clock and the buffers.

It binds inputs from the oracle's pools to the arenas of its executors, says go, reads the
clock, and returns raw times and outputs. It never holds an expected value and judges
nothing. Outputs travel by content: those whose digest the server does not know yet are
handed over in shared memory (`outputs.py`), so that each is judged once and re-checked for
the price of a comparison ever after.

A process never sees the same values twice: before its unseen inputs run out, an executor
is replaced, so a result remembered from an earlier call is of no use.

A sample of several calls has more sets of buffers than calls: which one or two of them are not
called is drawn anew each time. Code that works ahead for calls to come writes where nobody
called it, and code that works behind does not know its last call.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ..plans.plan import LaunchPlan
from ..processes.channel import Answer, Channel, serve
from ..protocol.arena_values import InputPool, collect, fill, touched
from ..protocol.layout import Arena, Flush, arena, placed_arena
from ..protocol.messages import (
    Block,
    BlockResult,
    Check,
    Load,
    Placement,
    Pool,
    RunResult,
    SideTimes,
)
from ..protocol.outputs import OutputKey, OutputMemory, OutputSink
from ..protocol.shared_arena import ArenaStock, SharedArena
from ..screens.asking import wants_answers
from .cores import Cores, CoreWatch, drawn, may_start_threads
from .executor import Executor, ExecutorLost, Fault
from .others import OthersWatch
from .sample_sets import DRAWN, WARM_UP_SLOT, calls_of, drawn_calls, sets_of, usual_seeds
from .warm import repeatable, warm_samples

WARM_UP_CALLS = 2
WARMED_NS = 10_000_000
"""A call of that length has met pages, caches and threads for the first time in a small part of it,
and needs no second one: a beginner's baseline, of the slowest kernels there are, is timed in every
block of its search."""
FLUSH: Mapping[Placement, Flush] = {"end": "behind", "start": "before"}
SAMPLES_A_PROCESS = 3
"""A block of them. Where a process happens to place code and stack can cost some percent for
as long as it lives: with a process of its own each block draws again."""


@dataclass
class Session:
    """An executor, the seeds that it has not seen, and the samples it has yet to give."""

    executor: Executor
    unseen: list[int]
    samples: int = SAMPLES_A_PROCESS


class NativeRunner:
    """Keeps pools, variants and executors; one method a message."""

    def __init__(self, binary: Path) -> None:
        # By a descriptor: a scratch folder that somebody removes takes nothing from us.
        self._binary = Path(f"/proc/{os.getpid()}/fd/{os.open(binary, os.O_RDONLY | os.O_CLOEXEC)}")
        self._pools: dict[str, InputPool] = {}
        self._modules: dict[str, Path] = {}
        self._plans: dict[tuple[str, str], LaunchPlan] = {}
        self._environments: dict[str, dict[str, str]] = {}
        self._sessions: dict[tuple[str, str], Session] = {}
        self._memory = OutputMemory()
        self._arenas = ArenaStock()
        self._seed = DRAWN.getrandbits(63)
        """of what is drawn of arenas"""
        self._core_watch = CoreWatch()
        self._cores = Cores()
        """of the block under way"""

    def pool(self, message: Pool, fd: int) -> None:
        """Take over the inputs of a workload; a pool of the same name is replaced."""
        self.drop_pool(message.pool)
        self._pools[message.pool] = InputPool.of(message, fd)

    def drop_pool(self, pool: str) -> None:
        """Forget the inputs of a workload, and end the executors that work on them."""
        self._memory.forget(lambda key: key.pool == pool)
        self._retire(pool)
        self._pools.pop(pool, None)

    def load(self, message: Load) -> None:
        """Make a variant known by its module and plans."""
        (self._modules[message.variant],) = map(Path, message.modules.values())
        self._environments[message.variant] = message.environment
        for plan in message.plans:
            self._plans[message.variant, plan.label] = plan

    def unload(self, variant: str) -> None:
        """Forget a variant and end its executors."""
        self._modules.pop(variant, None)
        self._environments.pop(variant, None)
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
        shared = self._arenas.take(self._layout(message, pool))
        shared.guard()
        fill(shared, pool, 0, message.slots[0], message.poisons[0])  # loading it runs code, too
        try:
            threaded = may_start_threads(self._module(message.variant))
            cores = drawn(self._core_watch.allowed, threaded, DRAWN)
            executor = self._executor(message.variant, pool, shared, cores)
        except ExecutorLost as lost:
            return [_faulted(message.slots[0], message.poisons[0], lost.fault)], sink.close()
        for slot, poison in zip(message.slots, message.poisons, strict=True):
            fill(executor.shared, pool, 0, slot, poison)
            try:
                executor.run((0,), message.timeout_s)
            except ExecutorLost as lost:
                results.append(_faulted(slot, poison, lost.fault))
                break
            key = OutputKey(message.variant, message.pool, slot)
            found = collect(executor.shared, pool, 0, key, poison, sink)
            results.append(found.model_copy(update={"printed": executor.printed()}))
        executor.close()
        return results, sink.close()

    def watch(self) -> OthersWatch:
        """Of others, from now on."""
        return OthersWatch.watch(self._core_watch.allowed, self._living_s)

    def block(self, message: Block) -> tuple[list[SideTimes], int]:
        """One block of timed samples: every round runs all sides once, in the order given."""
        pool = self._pools[message.pool]
        sink = OutputSink(pool.outputs, message.known, self._memory)
        if message.hot:
            return self._warm(message, pool), sink.close()
        if message.reload:
            self._retire(message.pool)
        self._cores = self._core_watch.next_block()
        sides = {variant: SideTimes(variant=variant) for variant in message.rounds[0]}
        for order, hidden in zip_longest(message.rounds, message.hidden, fillvalue=tuple[()]()):
            called = dict[int, tuple[int, ...]]()  # the same for all sides of a round
            for variant in order:
                side, calls = sides[variant], calls_of(message, pool, variant)
                try:
                    which = called.setdefault(calls, drawn_calls(calls))
                    sides[variant] = self._sample(message, pool, side, which, hidden, sink)
                except ExecutorLost as lost:
                    self._sessions.pop((variant, message.pool), None)
                    faulted = side.model_copy(update={"fault": lost.fault.detail})
                    faulted = faulted.model_copy(update={"fault_kind": lost.fault.kind})
                    return [faulted], sink.close()
        return list(sides.values()), sink.close()

    def _warm(self, message: Block, pool: InputPool) -> list[SideTimes]:
        """Samples with warm caches, in processes of their own that end with them; without times
        where calls cannot be repeated, or a side is lost: nothing is judged by them."""
        sides = message.rounds[0]
        if not repeatable(pool.contract):
            return [SideTimes(variant=v) for v in sides]
        self._retire(message.pool)
        self._cores = self._core_watch.next_block()
        shared, executors = self._memory_of(message, pool, 1), dict[str, Executor]()
        shared.guard()
        fill(shared, pool, 0, WARM_UP_SLOT, message.poison)
        try:
            for variant in sides:
                cores = self._cores.of(may_start_threads(self._module(variant)))
                executors[variant] = self._executor(variant, pool, shared, cores, shortly=False)
            return warm_samples(executors, message.rounds, message.calls, message.timeout_s)
        except ExecutorLost:
            return [SideTimes(variant=v) for v in sides]
        finally:
            for executor in executors.values():
                executor.close()

    def _sample(
        self,
        message: Block,
        pool: InputPool,
        side: SideTimes,
        called: tuple[int, ...],
        hidden: Sequence[int],
        sink: OutputSink,
    ) -> SideTimes:
        session = self._session(side.variant, message, pool)
        session.samples -= 1
        sets = sets_of(calls_of(message, pool, side.variant))
        slots = [session.unseen.pop() for _ in range(sets)]
        few = hidden[: len(called)]
        for index, slot in zip(DRAWN.sample(called, len(few)), few, strict=True):
            slots[index] = slot
        before = [session.unseen.pop() for _ in slots] if message.given else slots
        held = before if message.given == "late" else slots
        shared = session.executor.shared
        # a side with more calls has left its answers in the sets that this one does not use
        held = [*held, *[WARM_UP_SLOT] * (shared.layout.sets - sets)]
        for index, slot in enumerate(held):
            fill(shared, pool, index, slot, message.poison)
        before_it = session.executor.spent()
        if message.given:
            elapsed = 0
            for index in called:
                fill(shared, pool, index, slots[index], message.poison)
                elapsed += session.executor.run((index,), message.timeout_s)
        else:
            elapsed = session.executor.run(called, message.timeout_s)
        held_up = session.executor.held_up(before_it, elapsed)
        results = list[RunResult]()
        for index in called:
            key = OutputKey(side.variant, message.pool, slots[index])
            results.append(collect(shared, pool, index, key, message.poison, sink))
        for index in set(range(len(held))) - set(called):
            if foreign := touched(shared, pool, index, held[index], message.poison):
                results[-1] = results[-1].model_copy(update={"overrun": foreign})
            if index < sets and not message.given:
                session.unseen.insert(0, slots[index])
        return side.model_copy(
            update={
                "nanoseconds": (*side.nanoseconds, elapsed / len(called)),
                "disturbed": (*side.disturbed, held_up),
                "crowded": side.crowded or session.executor.crowded,
                "results": (*side.results, *results),
            }
        )

    def _session(self, variant: str, message: Block, pool: InputPool) -> Session:
        """A warm executor that can give another sample."""
        key, sets = (variant, message.pool), sets_of(calls_of(message, pool, variant))
        most = max(sets_of(calls_of(message, pool, each)) for each in message.rounds[0])
        shared = self._memory_of(message, pool, most)
        session = self._sessions.get(key)
        if session is not None:
            needed = sets * (2 if message.given else 1)
            fresh = session.samples > 0 and len(session.unseen) >= needed
            if fresh and session.executor.shared is shared:
                return session
            session.executor.close()
            del self._sessions[key]
        cores = self._cores.of(may_start_threads(self._module(variant)))
        shared.guard()
        for index in range(most):  # before it is loaded: answers of the last one lie there
            fill(shared, pool, index, WARM_UP_SLOT, message.poison)
        executor = self._executor(variant, pool, shared, cores)
        for _ in range(WARM_UP_CALLS):
            if executor.run(range(sets), message.timeout_s * sets) > sets * WARMED_NS:
                break
        unseen = usual_seeds(message, pool)
        session = self._sessions[key] = Session(executor, unseen)
        return session

    def _memory_of(self, message: Block, pool: InputPool, sets: int) -> SharedArena:
        """The arena of all sides of a block: the one that they always have, or one placed anew."""
        if message.placed is None:
            return self._arenas.take(arena(pool.contract, sets, scattered=self._seed))
        return self._arenas.anew(placed_arena(pool.contract, sets, message.placed))

    def _executor(
        self,
        variant: str,
        pool: InputPool,
        shared: SharedArena,
        cores: frozenset[int],
        *,
        shortly: bool = True,
    ) -> Executor:
        plan = self._plans[variant, pool.contract.label]
        module, environment = self._module(variant), self._environments[variant]
        answers = wants_answers(pool.allowed)
        return Executor(self._binary, module, plan, shared, cores, environment, answers, shortly)

    def _layout(self, message: Check, pool: InputPool) -> Arena:
        """Where arrays lie in a check: on pages as when they are timed, unless it asks for
        something else, which is then drawn, once for this process and so alike for all variants."""
        placement = message.placement
        return arena(
            pool.contract,
            1,
            barely_aligned=placement in ("barely", "anywhere"),
            flush=FLUSH.get(placement, ""),
            placed=None if placement == "pages" else self._seed,
        )

    def _module(self, variant: str) -> Path:
        """The file of a variant's machine code. Raises ExecutorLost when somebody removed it."""
        module = self._modules[variant]
        if not module.exists():
            raise ExecutorLost(Fault("lost", f"its machine code is gone: {module} was removed"))
        return module

    def _living_s(self) -> float:
        return sum(session.executor.worked_s() for session in self._sessions.values())

    def _retire(self, pool: str) -> None:
        """End the executors that work on a pool: the next sample has processes of its own."""
        for key in [k for k in self._sessions if k[1] == pool]:
            self._sessions.pop(key).executor.close()


def _faulted(slot: int, poison: int, fault: Fault) -> RunResult:
    return RunResult(
        slot=slot,
        poison=poison,
        fault=fault.detail,
        fault_kind=fault.kind,
        said=fault.said,
        printed=fault.printed,
    )


def main() -> None:
    """Serve messages until the channel closes: argv is CHANNEL_FD EXECUTOR."""
    channel = Channel.from_fd(int(sys.argv[1]))
    runner = NativeRunner(Path(sys.argv[2]))
    try:
        serve(channel, partial(_answer, runner))
    finally:
        runner.rest()


def _answer(runner: NativeRunner, message: dict[str, Any], fds: list[int]) -> Answer:
    body = message.get("body")
    match message["verb"]:
        case "pool":
            runner.pool(Pool.model_validate(body), fds[0])
        case "drop pool":
            runner.drop_pool(str(body))
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
            watch = runner.watch()
            sides, fd = runner.block(Block.model_validate(body))
            told = BlockResult(sides=tuple(sides), **watch.until_now()._asdict())
            return told.model_dump(mode="json"), [fd]
        case verb:
            raise ValueError(f"the runner knows no `{verb}`")
    return {}, []


if __name__ == "__main__":
    main()
