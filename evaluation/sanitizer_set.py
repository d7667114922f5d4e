"""The sanitizer on a candidate, in processes of its own beside the gates that run meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import copy_context

from ..runners.gates import first_failure
from ..runners.gates.incumbent import excused, skipped
from ..runners.model import GateResult
from ..runners.progress import report
from ..runners.protocol.pools import SeedPool, draw
from ..runners.specs.contract import BoundContract
from .trials import Trials

Outcome = Callable[[], list[GateResult]]
"""Waits for the sanitizer and gives its results; one result `skipped` for what it cannot watch."""


@contextmanager
def sanitizing(trials: Trials, smallest: BoundContract) -> Generator[Outcome]:
    """Start compute-sanitizer on small shapes; it has ended when the body has.

    What it finds of the same kind in the baseline, too, is a note: the baseline is watched only
    then, by whoever asks for the outcome. `smallest`: the workload that is watched where the
    domains allow no further shape. The caller holds the device and times nothing meanwhile.
    """
    if trials.kernel.tier != "device":
        yield lambda: [skipped("sanitizer", "compute-sanitizer is for GPU code")]
        return
    pools = _watched_pools(trials, smallest)
    names, other = [pool.pool for pool in pools], bool(trials.shapes())
    with ExitStack() as body:
        for pool in pools:
            body.enter_context(trials.fresh.attached(pool))
        thread = body.enter_context(ThreadPoolExecutor(1))
        name = trials.name(other)
        found = thread.submit(copy_context().run, trials.fresh.sanitize, name, names)

        def outcome() -> list[GateResult]:
            report("gates of the incumbent: sanitizer")
            return _excused(trials, found.result(), names, other)

        yield outcome


def _excused(
    trials: Trials, found: Sequence[GateResult], names: Sequence[str], other: bool
) -> list[GateResult]:
    theirs = dict[str, GateResult]()
    if first_failure(found) is not None:
        baseline = trials.of_baseline(other)
        theirs = {g.gate: g for g in trials.fresh.sanitize(baseline, names)}
    return [excused(result, theirs.get(result.gate)) for result in found]


def _watched_pools(trials: Trials, smallest: BoundContract) -> list[SeedPool]:
    """Small further shapes, of which one is ragged and one goes beyond a tile of 256, where loops
    over tiles come to use memory again; the smallest workload where there are none."""
    shapes = [s for s in trials.shapes() if s.label in ("smallest", "vectors", "other")]
    shapes = shapes or trials.shapes() or [smallest]
    name = trials.kernel.kernel_id
    return [draw(name, s, name=f"{s.label}/promotion/watched", slots=1) for s in shapes]
