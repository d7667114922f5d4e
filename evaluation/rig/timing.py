"""Timing loaded variants on a device that is ours alone, and their pace that is known by then."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from ...runners.comparing.as_called import AsCalled, as_called
from ...runners.comparing.comparison import Paces, compare
from ...runners.errors import ReferenceFailed
from ...runners.gates.checking import Checker
from ...runners.model import ReferenceTimes
from ...runners.processes.locks import timing_lock
from ...runners.progress import report
from ...runners.protocol.pools import SeedPool
from .gated_comparison import GatedComparison, gated_comparison
from .open_kernel import OpenKernel
from .quiet_host import QuietHost

REFERENCE_S = 0.3
"""that calls of a reference are repeated for, on each workload"""


class Timing:
    """Comparisons on any device, each by a thread of its own. Raises ProcessLost.

    `quiet`: keeps builds off a host while it times.
    """

    def __init__(self, quiet: QuietHost) -> None:
        self._quiet = quiet
        self._paces: Paces = {}
        """replaced, never changed: a thread of another device may be reading it"""

    def compare(
        self,
        checker: Checker,
        kernel: OpenKernel,
        pools: Sequence[SeedPool],
        candidate: str,
        others: Sequence[str],
        *,
        placed: bool = False,
    ) -> GatedComparison:
        """See `Rig.compare`."""
        quiet = self._quiet.timing() if kernel.target is None else nullcontext()
        with quiet, timing_lock(kernel.device, report):
            measured = compare(
                checker,
                pools,
                candidate,
                others,
                plan=kernel.timing,
                timeout_s=kernel.timeout_s,
                rng=kernel.rng,
                paces=self._paces,
                placed=placed,
            )
        if measured.comparison is not None:
            pairs = zip(pools, measured.comparison.workloads, strict=True)
            told = {(p.pool, v): ms * 1e-3 for p, w in pairs for v, ms in w.median_ms.items()}
            self._paces = {**self._paces, **told}
        return gated_comparison(measured, candidate, others)

    def as_called(
        self, checker: Checker, kernel: OpenKernel, pools: Sequence[SeedPool], sides: Sequence[str]
    ) -> AsCalled:
        """See `Rig.as_called`."""
        with timing_lock(kernel.device, report):
            return as_called(
                checker,
                pools,
                sides,
                plan=kernel.timing,
                timeout_s=kernel.timeout_s,
                rng=kernel.rng,
            )

    def reference_times(
        self, checker: Checker, kernel: OpenKernel, pools: Sequence[SeedPool]
    ) -> ReferenceTimes | None:
        """See `Rig.reference_times`."""
        if kernel.loaded.reference is None or kernel.target is not None:
            return None
        found, oracle = dict[str, float](), checker.oracle
        with self._quiet.timing(), timing_lock(kernel.device, report):
            for pool in pools:
                try:
                    took = oracle.reference_seconds(pool.pool, 0, REFERENCE_S)
                except ReferenceFailed:  # it is no part of any verdict, and worked when it was
                    return None
                if took is not None:
                    found[pool.contract.label] = took * 1e3
        return ReferenceTimes(where=oracle.where(kernel.kernel_id), ms=found)

    def forget(self, variant_id: str) -> None:
        """A variant that nobody will time again soon."""
        self._paces = {key: s for key, s in self._paces.items() if key[1] != variant_id}
