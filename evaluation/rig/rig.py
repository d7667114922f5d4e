"""Builder, oracle and runners of this process, and what is done with them to one kernel.

The rig knows no store: it builds, runs, checks and times what it is told to.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from ...runners.building.builder import Builder
from ...runners.building.compile_cache import cache_folder
from ...runners.comparing.as_called import AsCalled
from ...runners.gates import FIRST_SET, Run, first_failure
from ...runners.gates.checking import Checker
from ...runners.model import GateResult, ReferenceTimes, Variant
from ...runners.oracle.oracle import Oracle
from ...runners.plans.plan import Artifact, Module
from ...runners.processes.locks import timing_lock
from ...runners.profiling.model import Profile
from ...runners.progress import report
from ...runners.protocol.pools import SeedPool
from ...runners.proxies.runner import RUNNERS, DeviceRunner
from ...runners.screens.instructions.machine_code import screen_artifact
from ...runners.toolchains import BuildOutcome, BuildRequest, Shape
from .fresh_runner import FreshRunner
from .gated_comparison import GatedComparison
from .gpus import Gpus, device_missing
from .logic_check import LogicCheck
from .open_kernel import OpenKernel
from .quiet_host import QuietHost
from .timing import Timing

CHECKED_SEEDS = (0, 1)


class Rig:
    """The processes that do the work; they start when they are first needed.

    Building needs no device and may be asked for from any thread. Everything else is for one
    thread at a time on each device (`device_queues.py`). Methods raise ProcessLost when a
    process of ours fails; the next call starts afresh.
    """

    def __init__(self, modules: Path, scratch: Path, gpus: Gpus) -> None:
        self._scratch = scratch
        self._builder = Builder(modules, scratch)
        self._kept = cache_folder(modules)
        self._checkers: dict[str, Checker] = {}
        self._files: dict[tuple[str, str], tuple[Path, ...]] = {}
        """by device and variant: where the machine code lies that its runner loads"""
        self._logic = LogicCheck(scratch)
        self._quiet = QuietHost()
        self._timing = Timing(self._quiet)
        self.gpus = gpus

    def attach(self, kernel: OpenKernel) -> None:
        """Load the reference, make the inputs of every pool, and work out what the checks expect.

        Raises ReferenceFailed, and DeviceMissing when the kernel's GPU is not here.
        """
        self.require_device(kernel)
        oracle = self._checker(kernel).oracle
        with _undisturbing(kernel):
            oracle.open(kernel.loaded)
        self.attach_pools(kernel, kernel.all_pools)
        for pool in kernel.all_pools:
            with _undisturbing(kernel):
                oracle.foresee(pool, CHECKED_SEEDS[:1] if pool is kernel.odd else CHECKED_SEEDS)

    def truth_of(self, kernel: OpenKernel) -> str:
        """What is the truth of an attached kernel, and why not what was read from its baseline."""
        return self._checker(kernel).oracle.where(kernel.kernel_id)

    def require_device(self, kernel: OpenKernel) -> None:
        """Raises DeviceMissing when the kernel's GPU is not here."""
        if not kernel.runnable:
            assert kernel.target is not None
            raise device_missing(kernel.target, self.gpus.missing(), self.gpus.present())

    def attach_pools(self, kernel: OpenKernel, pools: Sequence[SeedPool]) -> None:
        """Make the inputs of some pools and hand them to the runner."""
        for pool in pools:
            with _undisturbing(kernel):
                self._checker(kernel).attach(pool, kernel.loaded.spec.io)

    def detach(self, kernel: OpenKernel) -> None:
        """Give back all that runner and oracle hold of a kernel: gigabytes, for large inputs."""
        checker = self._checkers.get(kernel.device)
        if checker is None:
            return
        for variant_id in tuple(kernel.in_runner):
            self.unload(kernel, variant_id)
        self.detach_pools(kernel, checker.pools_of(kernel.kernel_id))
        checker.oracle.forget(kernel.kernel_id)

    def detach_pools(self, kernel: OpenKernel, pools: Sequence[str]) -> None:
        """Give the inputs of some pools back, by name."""
        for pool in pools:
            self._checker(kernel).detach(pool)

    def build(
        self,
        kernel: OpenKernel,
        variant: Variant,
        known: BuildOutcome | None = None,
        shapes: Sequence[Shape] = (),
        limit_s: float | None = None,
    ) -> BuildOutcome:
        """Build a variant, unless `known` is all that is needed: a failure, or an artifact with
        its modules still on disk and all plans. `limit_s`: None: as long as any build has."""
        if known is not None and (not known.artifact or self._usable(kernel, known.artifact)):
            return known
        request = BuildRequest(
            kernel=kernel.loaded,
            variant=variant,
            shapes=tuple(shapes) or kernel.shapes,
            device=kernel.target,
        )
        if limit_s is not None:
            request = request.model_copy(update={"timeout_s": min(limit_s, request.timeout_s)})
        with self._quiet.building():
            return self._builder.build(request)

    def list_code(self, artifact: Artifact) -> tuple[Module, ...]:
        """SASS of what was built, to be read by people."""
        with self._quiet.building():
            return self._builder.list_code(artifact)

    def machine_screen(self, kernel: OpenKernel, artifact: Artifact) -> GateResult:
        """What the machine code of a built variant does, whatever its source says."""
        loaded = kernel.loaded
        return screen_artifact(
            artifact, self._builder.module_path, loaded.spec.io, loaded.source_name
        )

    def load(self, kernel: OpenKernel, artifact: Artifact) -> None:
        """Make a built variant known to the runner."""
        if self.holds(kernel, artifact.variant_id):
            return
        self.unload(kernel, artifact.variant_id)
        plans, paths = tuple(artifact.plans.values()), self._paths(artifact)
        self._checker(kernel).runner.load(
            artifact.variant_id, paths, plans, kernel.loaded.environment
        )
        kernel.in_runner.add(artifact.variant_id)
        self._files[kernel.device, artifact.variant_id] = tuple(paths.values())

    def holds(self, kernel: OpenKernel, variant_id: str) -> bool:
        """Whether the runner knows a variant, whose machine code nobody removed meanwhile."""
        files = self._files.get((kernel.device, variant_id), ())
        return variant_id in kernel.in_runner and all(map(Path.exists, files))

    def unload(self, kernel: OpenKernel, variant_id: str) -> None:
        """Forget a variant that nobody will time again soon."""
        if variant_id in kernel.in_runner:
            kernel.in_runner.discard(variant_id)
            self._timing.forget(variant_id)
            self._files.pop((kernel.device, variant_id), None)
            self._checker(kernel).runner.unload(variant_id)

    def check(self, kernel: OpenKernel, variant_id: str) -> list[Run]:
        """The runs of the first gate set: two seeds of each workload, then the odd shape, in
        buffers no better aligned than promised."""
        runs, checker, timeout_s = list[Run](), self._checker(kernel), kernel.timeout_s
        with _undisturbing(kernel):
            for pool in kernel.pools:
                runs += checker.check(variant_id, pool, CHECKED_SEEDS, timeout_s=timeout_s)
                if first_failure([gate(runs) for gate in FIRST_SET]):
                    return runs
            if kernel.odd is not None:
                runs += checker.check(
                    variant_id,
                    kernel.odd,
                    CHECKED_SEEDS[:1],
                    timeout_s=timeout_s,
                    placement="barely",
                )
        return runs

    def logic(self, kernel: OpenKernel, variant: Variant) -> GateResult | None:
        """Where the kernel's GPU is not here: what the interpreter says; None: it cannot say."""
        return None if kernel.runnable else self._logic.check(kernel, variant)

    def run(
        self,
        kernel: OpenKernel,
        variant_id: str,
        pool: SeedPool,
        seeds: Sequence[int],
        *,
        adopt: bool = False,
    ) -> list[Run]:
        """Run on some seeds in a fresh process.

        `adopt`: the outputs become the truth where the kernel has no reference.
        """
        with _undisturbing(kernel):
            return self._checker(kernel).check(
                variant_id, pool, seeds, timeout_s=kernel.timeout_s, adopt=adopt
            )

    def adopt(self, kernel: OpenKernel, variant_id: str, pools: Sequence[SeedPool]) -> None:
        """Without a reference: make a variant's outputs the truth on every seed of the pools."""
        if kernel.loaded.reference is None:
            for pool in pools:
                self.run(kernel, variant_id, pool, range(pool.slots), adopt=True)

    def compare(
        self,
        kernel: OpenKernel,
        pools: Sequence[SeedPool],
        candidate: str,
        others: Sequence[str],
        *,
        placed: bool = False,
    ) -> GatedComparison:
        """Time loaded variants against each other; the device is ours alone meanwhile.

        `placed`: buffers lie elsewhere in every block, and the intervals hold it.

        Raises SideFailed when another side than the candidate fails.
        """
        checker = self._checker(kernel)
        return self._timing.compare(checker, kernel, pools, candidate, others, placed=placed)

    def as_called(
        self, kernel: OpenKernel, pools: Sequence[SeedPool], sides: Sequence[str]
    ) -> AsCalled:
        """Times of loaded variants as other callers see them, for the reader."""
        return self._timing.as_called(self._checker(kernel), kernel, pools, sides)

    def reference_times(
        self, kernel: OpenKernel, pools: Sequence[SeedPool]
    ) -> ReferenceTimes | None:
        """How long the reference itself takes, for the reader; None on a GPU, and where the
        baseline is the reference."""
        return self._timing.reference_times(self._checker(kernel), kernel, pools)

    @contextmanager
    def fresh(self, kernel: OpenKernel, *, alone: bool = False) -> Generator[FreshRunner]:
        """A runner process of its own, beside the warm one, with the same oracle.

        `alone`: the warm one leaves the device meanwhile.
        """
        warm = self._checker(kernel)
        if alone:
            warm.runner.pause()
        runner = RUNNERS[kernel.tier](self._scratch, kernel.target, self._kept)
        runner.name = "fresh"
        try:
            checker = Checker(runner, warm.oracle)
            yield FreshRunner(kernel, checker, self._paths, lambda: _undisturbing(kernel))
        finally:
            runner.close()

    def warm(self, kernel: OpenKernel) -> FreshRunner:
        """The process in which its variants are timed, which has seen them, for whoever holds the
        device already."""
        warm = FreshRunner(kernel, self._checker(kernel), self._paths, nullcontext)
        warm.loaded |= kernel.in_runner
        return warm

    def _paths(self, artifact: Artifact) -> dict[str, Path]:
        """Where the modules lie that a runner loads, by hash."""
        return {m.sha256: self._builder.module_path(m) for m in artifact.loaded}

    def copy_bandwidth(self, kernel: OpenKernel) -> float:
        """Bytes read and written a second by a large copy on the kernel's GPU."""
        runner = self._checker(kernel).runner
        assert isinstance(runner, DeviceRunner)  # a host's is measured by `limits.measure_host`
        with timing_lock(kernel.device, report):
            return runner.copy_bandwidth()

    def profile(
        self, kernel: OpenKernel, variant_id: str, pool: SeedPool, kept: Path, *, full: bool
    ) -> Profile:
        """What ncu counts in one run of a loaded variant; `kept` is where its report stays.

        Raises ToolchainMissing, ProfileFailed.
        """
        runner = self._checker(kernel).runner
        assert isinstance(runner, DeviceRunner)  # what runs on a host has no such counters
        with timing_lock(kernel.device, report):
            return runner.profile(variant_id, pool.pool, kept, full=full)

    def rest(self, kernel: OpenKernel) -> None:
        """End whatever could keep state between runs: what comes next runs in fresh processes."""
        self._checker(kernel).runner.rest()

    def pause(self, device: str) -> None:
        """End runner and oracle of a device; what is asked of them next starts them again, with
        all that they knew."""
        checker = self._checkers.get(device)
        if checker is not None:
            try:
                checker.runner.pause()
            finally:
                checker.oracle.pause()

    def close(self) -> None:
        """End every process."""
        checkers, self._checkers = self._checkers, {}
        for checker in checkers.values():
            checker.runner.close()
            checker.oracle.close()
        self._logic.close()
        self._builder.close()

    def _usable(self, kernel: OpenKernel, artifact: Artifact) -> bool:
        here = all(self._builder.module_path(m).exists() for m in artifact.modules)
        return here and {s.label for s in kernel.shapes} <= set(artifact.plans)

    def _checker(self, kernel: OpenKernel) -> Checker:
        """Runner and oracle of the kernel's device; they know each other's pools."""
        if kernel.device not in self._checkers:
            runner = RUNNERS[kernel.tier](self._scratch, kernel.target, self._kept)
            self._checkers[kernel.device] = Checker(runner, Oracle(self._scratch, kernel.target))
        return self._checkers[kernel.device]


def _undisturbing(kernel: OpenKernel) -> AbstractContextManager[None]:
    """For work that is not timed: it keeps away from a GPU while another server times there, to
    whom processes of ours are no strangers. On the host nothing would keep builds away."""
    return nullcontext() if kernel.target is None else timing_lock(kernel.device, report)
