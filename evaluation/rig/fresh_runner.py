"""A runner process beside the warm one, for one variant at a time: it has seen nothing yet."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from ...runners.gates import Run
from ...runners.gates.checking import Checker
from ...runners.gates.repeats import Repeats, fault_of_side, measure
from ...runners.model import GateResult
from ...runners.plans.plan import Artifact
from ...runners.protocol.messages import Placement
from ...runners.protocol.pools import SeedPool
from ...runners.proxies.runner import DeviceRunner
from .open_kernel import OpenKernel

UNUSUAL_S = 20.0
"""The longest that a reference may take with values other than its inits draw: they need not be
legal, and one that follows them could go on for ever."""


class FreshRunner:
    """What is run in that process. Raises ProcessLost, ReferenceFailed and SpecError.

    `quiet`: whoever runs something here keeps away from a device on which others time.
    """

    def __init__(
        self,
        kernel: OpenKernel,
        checker: Checker,
        paths: Callable[[Artifact], Mapping[str, Path]],
        quiet: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.loaded = set[str]()
        self._kernel, self._checker, self._paths, self._quiet = kernel, checker, paths, quiet

    def load(self, name: str, artifact: Artifact) -> None:
        """Make a built variant known by a name, which need not be its id."""
        plans = tuple(artifact.plans.values())
        environment = self._kernel.loaded.environment
        self._checker.runner.load(name, self._paths(artifact), plans, environment)
        self.loaded.add(name)

    @contextmanager
    def held(self) -> Generator[None]:
        """The device kept for all that the body runs here, also in several threads."""
        quiet = self._quiet
        with quiet():
            self._quiet = nullcontext
            try:
                yield
            finally:
                self._quiet = quiet

    @contextmanager
    def attached(self, pool: SeedPool) -> Generator[None]:
        """The inputs of a pool, for as long as they are wanted."""
        with self._quiet():
            self._checker.attach(pool, self._kernel.loaded.spec.io)
        try:
            yield
        finally:
            self._checker.detach(pool.pool)

    def check(
        self,
        name: str,
        pool: SeedPool,
        slots: Sequence[int],
        *,
        placement: Placement = "pages",
        adopt: bool = False,
    ) -> list[Run]:
        """Run on some slots. `adopt`: the outputs become the truth where the kernel has no
        reference."""
        with self._quiet():
            return self._checker.check(
                name,
                pool,
                slots,
                timeout_s=self._kernel.timeout_s,
                placement=placement,
                adopt=adopt,
            )

    def block(
        self, name: str, pool: SeedPool, calls: int, hidden: Sequence[Sequence[int]]
    ) -> list[Run]:
        """The runs of one block of samples as a comparison has them, of so many calls: one for each
        entry of `hidden`, the seeds that some calls of it get in place of their own. Of a side
        that is lost one run with its fault."""
        rounds, calls_of, limit_s = [[name]] * len(hidden), {name: calls}, self._kernel.timeout_s
        with self._quiet():
            block, runs = self._checker.block(
                pool, rounds, calls_of, limit_s, reload=True, hidden=hidden
            )
        return [*runs, *(fault_of_side(pool, side) for side in block.sides if side.fault)]

    def foresee(self, pool: SeedPool, slot: int) -> None:
        """Work out what is expected on a slot, within the time that values of a kind have which the
        reference may never have met."""
        with self._quiet():
            self._checker.oracle.foresee(pool, (slot,), UNUSUAL_S)

    def rest(self) -> None:
        """What comes next runs in a process that has seen nothing of what came before."""
        self._checker.runner.rest()

    def repeats(self, name: str, pool: SeedPool, seeds: int, timed: int | None) -> Repeats:
        """Times of calls on different values, on such as come again, and on late ones. `seeds`: of
        the calls of a comparison. `timed`: as many calls as in a sample of it."""
        with self._quiet():
            return measure(
                self._checker,
                pool,
                name,
                timeout_s=self._kernel.timeout_s,
                seeds=seeds if self._kernel.tier == "device" else None,
                timed=timed,
            )

    def sanitize(self, name: str, pools: Sequence[str]) -> tuple[GateResult, ...]:
        """What compute-sanitizer finds in a loaded variant of GPU code on attached pools."""
        runner = self._checker.runner
        assert isinstance(runner, DeviceRunner)
        with self._quiet():
            return runner.sanitize(name, pools)
