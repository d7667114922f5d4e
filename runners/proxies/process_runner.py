"""A runner process as the server keeps it: asked, replaced when it is lost, told all again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..errors import ProcessLost
from ..model import Record
from ..native.executor import START_S
from ..plans.plan import LaunchPlan
from ..processes.process import Child
from ..protocol.messages import Block, BlockResult, Check, Load, Pool, RunResult
from ..protocol.pools import SeedPool
from ..specs.io_contract import Contract

SLACK_S = 60.0  # copying, hashing and starting processes, beside the runs themselves


class ProcessRunner:
    """What is the same for every tier: one runner process, started when it is needed, which is
    told all pools and variants again when another has to take its place."""

    def __init__(self, scratch: Path) -> None:
        self.name = "runner"
        self._scratch = scratch
        self._child: Child | None = None
        self._pools: dict[str, tuple[Pool, int]] = {}
        self._variants: dict[str, Record] = {}

    def attach(self, pool: SeedPool, contract: Contract, fd: int) -> None:
        """See `Runner.attach`."""
        message = Pool(
            pool=pool.pool,
            contract=contract,
            symbols=dict(pool.contract.symbols),
            label=pool.contract.label,
            slots=pool.slots,
        )
        before = self._pools.pop(pool.pool, None)
        if before is not None:
            os.close(before[1])
        self._pools[pool.pool] = (message, fd)
        if self._child is not None:
            self._ask("pool", message, fd=fd)

    def detach(self, pool: str) -> None:
        """See `Runner.detach`."""
        known = self._pools.pop(pool, None)
        if known is not None:
            os.close(known[1])
            self._forget("drop pool", pool)

    def load(
        self,
        variant_id: str,
        modules: Mapping[str, Path],
        plans: tuple[LaunchPlan, ...],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """See `Runner.load`."""
        paths = {sha256: str(path) for sha256, path in modules.items()}
        load = Load(variant=variant_id, modules=paths, plans=plans, environment=dict(environment))
        self._keep(variant_id, load)

    def unload(self, variant_id: str) -> None:
        """See `Runner.unload`."""
        if self._variants.pop(variant_id, None) is not None:
            self._forget("unload", variant_id)

    def check(self, message: Check) -> tuple[list[RunResult], int]:
        """See `Runner.check`."""
        patience = START_S + message.timeout_s * self._runs(message)
        reply, fds = self._ask("check", message, patience)
        return [RunResult.model_validate(r) for r in reply["results"]], fds[0]

    def block(self, message: Block) -> tuple[BlockResult, int]:
        """See `Runner.block`."""
        patience = START_S * len(message.rounds[0]) + message.timeout_s * self._runs(message)
        reply, fds = self._ask("block", message, patience)
        return BlockResult.model_validate(reply), fds[0]

    def pause(self) -> None:
        """See `Runner.pause`."""
        self._end()

    def close(self) -> None:
        """See `Runner.close`."""
        self._end()
        for _, fd in self._pools.values():
            os.close(fd)
        self._pools.clear()

    def _keep(self, variant_id: str, message: Record) -> None:
        """Tell the process of a variant, and every process that takes its place."""
        self._variants[variant_id] = message
        if self._child is not None:
            self._ask("load", message)

    def _forget(self, verb: str, name: str) -> None:
        """Have the process let go of something; one that is gone, or is lost now, has."""
        if self._child is not None and self._child.poll() is None:
            with suppress(ProcessLost):
                self._ask(verb, name)

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def _ask(
        self, verb: str, body: Record | str | None, patience: float = 0.0, fd: int | None = None
    ) -> tuple[dict[str, Any], list[int]]:
        child = self._running()
        try:
            reply, fds = _exchange(child, verb, body, patience, fd)
            if reply.pop("lost", False):  # it answered, and is of no more use
                self._end()
            return reply, fds
        except (ProcessLost, TimeoutError) as error:
            raise self._lost(child, error) from error

    def _lost(self, child: Child, error: ProcessLost | TimeoutError) -> ProcessLost:
        late = isinstance(error, TimeoutError)
        ended = child.wait(0.0 if late else 1.0) is not None
        why = child.describe_end() if ended else str(error)
        why = "it did not answer in time" if late else why
        detail = child.stderr_text(2000).strip()
        self._end()
        return ProcessLost(
            f"the runner was lost: {why}" + (f"\n{detail}" if detail else ""),
            next_step="ask again; a fresh runner starts",
        )

    def _running(self) -> Child:
        if self._child is not None and self._child.usable:
            return self._child
        self._end()
        child = self._child = self._start()
        try:
            for pool, fd in self._pools.values():
                _exchange(child, "pool", pool, 0.0, fd)
            for variant in self._variants.values():
                _exchange(child, "load", variant, 0.0, None)
        except (ProcessLost, TimeoutError) as error:
            raise self._lost(child, error) from error
        return child

    def _start(self) -> Child:
        """A runner process that knows nothing yet."""
        raise NotImplementedError

    def _runs(self, message: Check | Block) -> int:
        """The most runs, each of which may take the message's time limit."""
        if isinstance(message, Check):
            return len(message.slots)
        return sum(len(order) for order in message.rounds) + 2 * len(message.calls)


def _exchange(
    child: Child, verb: str, body: Record | str | None, patience: float, fd: int | None
) -> tuple[dict[str, Any], list[int]]:
    content = body.model_dump(mode="json") if isinstance(body, Record) else body
    child.channel.send({"verb": verb, "body": content}, () if fd is None else (fd,))
    return child.receive(timeout=patience + SLACK_S)
