"""Runners as the server sees them: load machine code, run it, return outputs and raw times.

A runner judges nothing. A tier is one class here with its process beside it; `RUNNERS` says
which class runs what.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from .devices import DeviceFacts
from .errors import DeviceMissing, ProcessLost
from .executor import START_S, compile_executor
from .locks import gpu_registry
from .model import GateResult, Record, Tier
from .plans.plan import LaunchPlan
from .pools import SeedPool
from .processes.process import Child, Limits, clean_environment, spawner
from .profiling.model import Profile
from .profiling.running import profile
from .runner_messages import Block, BlockResult, Check, Load, Pool, RunResult
from .sanitizer.running import is_small, sanitize
from .specs.io_contract import Contract
from .watched.running import subject_of

SLACK_S = 60.0  # copying, hashing and starting processes, beside the runs themselves


class Runner(Protocol):
    """What every tier's runner does. Raises ProcessLost when the runner itself is lost."""

    name: str
    """of its process and that one's logs: two in one scratch folder need two"""

    def attach(self, pool: SeedPool, contract: Contract, fd: int) -> None:
        """Take the inputs of a pool; the runner owns `fd` from here on."""
        ...

    def detach(self, pool: str) -> None:
        """Give the inputs of a pool back."""
        ...

    def load(
        self, variant_id: str, modules: Mapping[str, Path], plans: tuple[LaunchPlan, ...]
    ) -> None:
        """Make a variant known; `modules` are the files of its artifact by hash."""
        ...

    def unload(self, variant_id: str) -> None:
        """Forget a variant."""
        ...

    def check(self, message: Check) -> tuple[list[RunResult], int]:
        """Runs in a fresh process; a descriptor of the outputs not known yet."""
        ...

    def block(self, message: Block) -> tuple[BlockResult, int]:
        """One block of timed samples; a descriptor of the outputs not known yet."""
        ...

    def rest(self) -> None:
        """End whatever could keep state between runs."""
        ...

    def pause(self) -> None:
        """Leave the device to others; the next request starts again, with all that is known."""
        ...

    def close(self) -> None:
        """End the runner."""
        ...


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
            if self._runs_now:
                self._ask("drop pool", pool)

    def load(
        self, variant_id: str, modules: Mapping[str, Path], plans: tuple[LaunchPlan, ...]
    ) -> None:
        """See `Runner.load`."""
        paths = {sha256: str(path) for sha256, path in modules.items()}
        self._keep(variant_id, Load(variant=variant_id, modules=paths, plans=plans))

    def unload(self, variant_id: str) -> None:
        """See `Runner.unload`."""
        if self._variants.pop(variant_id, None) is not None and self._runs_now:
            self._ask("unload", variant_id)

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

    @property
    def _runs_now(self) -> bool:
        """Whether there is a process that has to be told what changes."""
        return self._child is not None and self._child.poll() is None

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


class NativeRunner(ProcessRunner):
    """Host code: one runner process, which starts an executor for each variant."""

    def rest(self) -> None:
        """See `Runner.rest`."""
        if self._child is not None:
            self._ask("rest", None)

    def _start(self) -> Child:
        binary = compile_executor(self._scratch)
        return spawner().start_python(
            "kernelwright.runners.native_runner",
            (str(binary),),
            name=self.name,
            scratch=self._scratch,
            environment=clean_environment(self._scratch, {"OPENBLAS_NUM_THREADS": "1"}),
            limits=Limits(file_bytes=64 << 30),  # arenas and outputs count as files
        )


class DeviceRunner(ProcessRunner):
    """GPU code: one runner process, alone with the driver on one GPU."""

    def __init__(self, scratch: Path, device: DeviceFacts) -> None:
        super().__init__(scratch)
        self._device = device

    def copy_bandwidth(self) -> float:
        """Bytes read and written a second by a large copy in the device's memory."""
        reply, _ = self._ask("copy_bandwidth", None)
        return float(reply["bytes_per_s"])

    def sanitize(self, variant_id: str, pools: Sequence[str]) -> tuple[GateResult, ...]:
        """What compute-sanitizer finds in a loaded variant, on those of the pools for which it has
        a plan that is small enough; in processes of its own. The caller holds the device."""
        load = self._variants[variant_id]
        assert isinstance(load, Load)
        plans = {plan.label: plan for plan in load.plans if is_small(plan)}
        known = [self._pools[pool] for pool in pools]
        subjects = [subject_of(m, fd, plans[m.label]) for m, fd in known if m.label in plans]
        modules = {sha256: Path(path) for sha256, path in load.modules.items()}
        return sanitize(subjects, modules, self._device, self._scratch / f"sanitizer.{variant_id}")

    def profile(self, variant_id: str, pool: str, report: Path, *, full: bool = False) -> Profile:
        """What ncu counts in one run of a loaded variant on the first seed of a pool, in processes
        of its own; `report` is where its file is kept. The caller holds the device.

        Raises ToolchainMissing, ProfileFailed.
        """
        load = self._variants[variant_id]
        assert isinstance(load, Load)
        message, fd = self._pools[pool]
        plan = next(plan for plan in load.plans if plan.label == message.label)
        modules = {sha256: Path(path) for sha256, path in load.modules.items()}
        return profile(subject_of(message, fd, plan), modules, self._device, report, full=full)

    def rest(self) -> None:
        """See `Runner.rest`: state on a device ends with the process that holds it."""
        self._end()

    def _runs(self, message: Check | Block) -> int:
        """See `ProcessRunner`: each call of a sample, the warm-up, and what keeps state twice."""
        if isinstance(message, Check):
            return 2 * (len(message.slots) + 1)
        most = max((*message.calls.values(), 1))
        return 2 * most * (sum(len(order) for order in message.rounds) + len(message.rounds[0]))

    def _start(self) -> Child:
        uuid = str(self._device.uuid)
        settings = {
            "CUDA_VISIBLE_DEVICES": uuid,
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            # Loading at the first launch would wait for a stream that we hold until then.
            "CUDA_MODULE_LOADING": "EAGER",
            "OPENBLAS_NUM_THREADS": "1",
        }
        return spawner().start_python(
            "kernelwright.runners.device.process",
            (uuid, str(gpu_registry())),
            name=self.name,
            scratch=self._scratch,
            environment=clean_environment(self._scratch, settings),
            limits=Limits(file_bytes=64 << 30),  # outputs count as files; CUDA reserves terabytes
        )


def _exchange(
    child: Child, verb: str, body: Record | str | None, patience: float, fd: int | None
) -> tuple[dict[str, Any], list[int]]:
    content = body.model_dump(mode="json") if isinstance(body, Record) else body
    child.channel.send({"verb": verb, "body": content}, () if fd is None else (fd,))
    return child.receive(timeout=patience + SLACK_S)


def _native(scratch: Path, device: DeviceFacts | None) -> Runner:
    del device  # it runs on the host
    return NativeRunner(scratch)


def _device(scratch: Path, device: DeviceFacts | None) -> Runner:
    if device is None or device.uuid is None:
        raise DeviceMissing("a runner for GPU code needs a GPU of this machine")
    return DeviceRunner(scratch, device)


RUNNERS: Mapping[Tier, Callable[[Path, DeviceFacts | None], Runner]] = {
    "native": _native,
    "device": _device,
}
