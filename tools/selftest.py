"""The evaluator against the library of cheats, on this machine: who was stopped, and by what.

Every page is evaluated as any candidate is, and goes on as far as it gets: first set and
comparison, the incumbent set, the winner set. What must be stopped and comes out as a winner
is NOT CAUGHT. Each stands before the baseline alone: no page meets another one's success.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from ..runners.gates import first_failure
from ..runners.model import Ending, Evaluation, Record
from ..runners.screen import static_screen
from .candidates import variant_from
from .cheats import NO_GAIN, NOT_KEPT, Cheat, victim
from .records import KernelRecord, VariantRecord
from .workbench import Workbench

BUILDS_AT_ONCE = 2

Verdict = Literal["caught", "passed", "NOT CAUGHT", "STOPPED", "not run"]
"""`passed` and `STOPPED` are about honest kernels; capitals are what must not be"""


class Outcome(Record):
    """What became of one page."""

    name: str
    title: str
    verdict: Verdict
    ending: Ending | None = None
    by: str = ""
    """the gate that stopped it, or `no gain`, `not kept`"""
    expected: bool = True
    """whether that is what its page says"""
    message: str = ""
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether it ended as it should: caught, passed, or not to be tried here."""
        return self.verdict in ("caught", "passed", "not run")


class _Stopped(Record):
    """What stopped a candidate, and how it ended."""

    by: str
    ending: Ending
    message: str


def selftest(bench: Workbench, cheats: Sequence[Cheat]) -> Iterator[Outcome]:
    """Try the pages one after the other, kernel by kernel. Raises what opening a victim raises."""
    for name in dict.fromkeys(cheat.page.victim for cheat in cheats):
        group = [cheat for cheat in cheats if cheat.page.victim == name]
        yield from _on_victim(bench, victim_of(bench, name), group)


def victim_of(bench: Workbench, name: str) -> KernelRecord:
    """A page's kernel, open. Raises BaselineRefused, ToolchainMissing, ReferenceFailed."""
    return bench.evaluator.open(victim(name))


def attempt(bench: Workbench, kernel: KernelRecord, cheat: Cheat) -> Outcome:
    """Try one page on its open kernel."""
    started = time.monotonic()
    if why := _not_here(bench, kernel, cheat):
        return _outcome(cheat, "not run", message=why)
    record = record_of(bench, kernel, cheat)
    try:
        evaluation = bench.evaluator.evaluate(record)
        stopped = _stopped(bench, kernel, cheat, evaluation)
    finally:
        _forget_success(bench, kernel)
    found = _judged(cheat, evaluation, stopped)
    return found.model_copy(update={"seconds": round(time.monotonic() - started, 2)})


def record_of(bench: Workbench, kernel: KernelRecord, cheat: Cheat) -> VariantRecord:
    """A page as a candidate against its kernel's baseline."""
    base = bench.evaluator.variant(kernel.baseline).variant
    return VariantRecord(
        variant=variant_from(kernel, base, cheat.candidate),
        parent=kernel.baseline,
        method=cheat.candidate.method,
        detail=cheat.name,
    )


def _judged(cheat: Cheat, evaluation: Evaluation, stopped: _Stopped | None) -> Outcome:
    ending, message = evaluation.ending, evaluation.message
    if ending == Ending.build_failed and str(ending) not in cheat.page.expect:
        return _outcome(cheat, "not run", ending, f"it does not build here: {message}")
    if stopped is None or ending == Ending.lost:  # a process of ours fell: no gate's merit
        passed = cheat.honest and ending != Ending.lost
        found = _outcome(cheat, "passed" if passed else "NOT CAUGHT", ending, message)
        return found.model_copy(update={"expected": passed})
    found = _outcome(
        cheat, "STOPPED" if cheat.honest else "caught", stopped.ending, stopped.message
    )
    expected = bool({stopped.by, str(stopped.ending)} & set(cheat.page.expect))
    return found.model_copy(update={"by": stopped.by, "expected": expected})


def _on_victim(
    bench: Workbench, kernel: KernelRecord, cheats: Sequence[Cheat]
) -> Iterator[Outcome]:
    def build(cheat: Cheat) -> None:
        _build(bench, kernel, cheat)

    with ThreadPoolExecutor(BUILDS_AT_ONCE) as pool:  # all before anything is timed
        list(pool.map(build, cheats))
    for cheat in cheats:
        yield attempt(bench, kernel, cheat)


def _build(bench: Workbench, kernel: KernelRecord, cheat: Cheat) -> None:
    """Build ahead what the static screen lets through; how that ends is for the evaluation."""
    spec = kernel.spec.kernel
    record = record_of(bench, kernel, cheat)
    if not _not_here(bench, kernel, cheat):
        screen = static_screen(
            record.variant.source, spec.kernel_type, entry=spec.metadata.kernel_name
        )
        if screen.outcome != "failed":
            bench.evaluator.build(record)


def _not_here(bench: Workbench, kernel: KernelRecord, cheat: Cheat) -> str:
    """Why a page cannot be tried on this machine; empty where it can."""
    needs = cheat.page.needs
    if needs and platform.machine() != needs:
        return f"it is for {needs}, this is {platform.machine()}"
    return "" if kernel.timed else bench.gpus.missing()


def _stopped(
    bench: Workbench, kernel: KernelRecord, cheat: Cheat, evaluation: Evaluation
) -> _Stopped | None:
    """What stopped a candidate on its way to be announced; None: nothing did."""
    failed = first_failure(evaluation.gates)
    if not evaluation.ending.measured:
        by = failed.gate if failed is not None else str(evaluation.ending)
        return _Stopped(by=by, ending=evaluation.ending, message=evaluation.message)
    if evaluation.ending != Ending.faster:
        return None if cheat.honest else _without(NO_GAIN, evaluation)
    if not evaluation.became_incumbent:
        return None if cheat.honest else _without(NOT_KEPT, evaluation)
    confirmation = bench.evaluator.confirm(evaluation.variant_id)
    if confirmation.accepted or (cheat.honest and confirmation.right):
        return None
    refused = first_failure(confirmation.gates)
    by = NO_GAIN if refused is None else refused.gate
    return _Stopped(by=by, ending=evaluation.ending, message=confirmation.message)


def _without(by: str, evaluation: Evaluation) -> _Stopped:
    return _Stopped(by=by, ending=evaluation.ending, message=evaluation.message)


def _forget_success(bench: Workbench, kernel: KernelRecord) -> None:
    """The next page is compared with the baseline again."""
    baseline = {"incumbent": kernel.baseline}
    with bench.store.transaction() as writer:
        writer.update("kernels", kernel.kernel_id, lambda known: {**(known or {}), **baseline})


def _outcome(
    cheat: Cheat, verdict: Verdict, ending: Ending | None = None, message: str = ""
) -> Outcome:
    return Outcome(
        name=cheat.name, title=cheat.page.title, verdict=verdict, ending=ending, message=message
    )
