"""Runners as the server sees them: load machine code, run it, return outputs and raw times.

A runner judges nothing. A tier is one class here with its process beside it; `RUNNERS` says
which class runs what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from ..errors import DeviceMissing
from ..forking.starting import start_python
from ..model import GateResult, Tier
from ..native.executor_binary import compile_executor
from ..plans.plan import LaunchPlan
from ..processes.locks import gpu_registry
from ..processes.process import Child, Limits, clean_environment
from ..profiling.model import Profile
from ..profiling.running import profile
from ..protocol.messages import Block, BlockResult, Check, Load, RunResult
from ..protocol.pools import SeedPool
from ..sanitizer.running import is_small, sanitize
from ..specs.devices import DeviceFacts
from ..specs.io_contract import Contract
from ..watched.running import subject_of
from .process_runner import ProcessRunner


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
        self,
        variant_id: str,
        modules: Mapping[str, Path],
        plans: tuple[LaunchPlan, ...],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Make a variant known; `modules` are the files of its artifact by hash, `environment`
        variables of the process that runs it, where it has one of its own."""
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


class NativeRunner(ProcessRunner):
    """Host code: one runner process, which starts an executor for each variant."""

    def __init__(self, scratch: Path, kept: Path | None) -> None:
        """`kept`: where the executor's binary is looked for and left, for the next one."""
        super().__init__(scratch)
        self._kept = kept

    def rest(self) -> None:
        """See `Runner.rest`."""
        if self._child is not None:
            self._ask("rest", None)

    def _start(self) -> Child:
        binary = compile_executor(self._scratch, self._kept)
        return start_python(
            "kernelwright.runners.native.process",
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
        return start_python(
            "kernelwright.runners.device.process",
            (uuid, str(gpu_registry())),
            name=self.name,
            scratch=self._scratch,
            environment=clean_environment(self._scratch, settings),
            limits=Limits(file_bytes=64 << 30),  # outputs count as files; CUDA reserves terabytes
        )


def _native(scratch: Path, device: DeviceFacts | None, kept: Path | None) -> Runner:
    del device  # it runs on the host
    return NativeRunner(scratch, kept)


def _device(scratch: Path, device: DeviceFacts | None, kept: Path | None) -> Runner:
    del kept  # nothing of it is compiled here
    if device is None or device.uuid is None:
        raise DeviceMissing("a runner for GPU code needs a GPU of this machine")
    return DeviceRunner(scratch, device)


RUNNERS: Mapping[Tier, Callable[[Path, DeviceFacts | None, Path | None], Runner]] = {
    "native": _native,
    "device": _device,
}
"""By a scratch folder, the GPU, and a folder for what the next one of its kind can use."""
