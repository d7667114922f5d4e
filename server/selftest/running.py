"""The evaluator against the library of cheats, on this machine: who was stopped, and by what.

Every page is evaluated as any candidate is, and goes on as far as it gets: first set and
comparison, the incumbent set, the winner set. What must be stopped and comes out as a winner
is NOT CAUGHT. Each stands before the baseline alone: no page meets another one's success.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from pydantic import Field

from ...evaluation.bench import Bench
from ...runners.errors import BaselineRefused, ReferenceFailed, ToolchainMissing
from ...runners.gates import first_failure
from ...runners.model import Ending, Evaluation, GateResult, Record
from ...runners.sanitizer import running as sanitizer
from ...runners.screens.source import static_screen
from ...search.stored.variants import variant_from
from ...store.kernels import set_incumbent
from ...store.records import KernelRecord, VariantRecord
from .cheats import NO_GAIN, NOT_KEPT, Cheat, victim

BUILDS_AT_ONCE = max(2, (os.cpu_count() or 2) // 2)
"""of the pages of one kernel, before the first is tried; a build has threads of its own at times"""
LOGIC = "logic_check"

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
    stages: dict[str, float] = Field(default_factory=dict[str, float])
    gates: dict[str, float] = Field(default_factory=dict[str, float])
    """seconds of those gates of the incumbent that tell how long they took"""
    """seconds of its evaluation, by stage; a confirmation is in none"""

    @property
    def good(self) -> bool:
        """Whether it ended as it should: caught, passed, or not to be tried here."""
        return self.verdict in ("caught", "passed", "not run")


class _Stopped(Record):
    """What stopped a candidate, and how it ended."""

    by: str
    ending: Ending
    message: str


def selftest(bench: Bench, cheats: Sequence[Cheat]) -> Generator[Outcome]:
    """Try the pages one after the other, kernel by kernel. Raises ProcessLost."""
    for name in dict.fromkeys(cheat.page.victim for cheat in cheats):
        group = [cheat for cheat in cheats if cheat.page.victim == name]
        try:
            kernel = victim_of(bench, name)
        except ToolchainMissing as error:
            yield from (_outcome(cheat, "not run", message=str(error)) for cheat in group)
        except (BaselineRefused, ReferenceFailed) as error:
            why = f"its own victim is refused: {error}"
            yield from (_outcome(cheat, "STOPPED", message=why) for cheat in group)
        else:
            yield from _on_victim(bench, kernel, group)


def victim_of(bench: Bench, name: str) -> KernelRecord:
    """A page's kernel, open. Raises BaselineRefused, ToolchainMissing, ReferenceFailed."""
    return bench.evaluator.open(victim(name))


def attempt(bench: Bench, kernel: KernelRecord, cheat: Cheat) -> Outcome:
    """Try one page on its open kernel."""
    started = time.monotonic()
    if why := _not_here(cheat):
        return _outcome(cheat, "not run", message=why)
    record = record_of(bench, kernel, cheat)
    if not kernel.timed:
        found = _without_device(bench, kernel, cheat, record)
        return found.model_copy(update={"seconds": round(time.monotonic() - started, 2)})
    try:
        evaluation = bench.evaluator.evaluate(record)
        stopped = _stopped(bench, kernel, cheat, evaluation)
    finally:
        _forget_success(bench, kernel)
    found = _judged(cheat, evaluation, stopped)
    took = round(time.monotonic() - started, 2)
    gates = {g.gate: g.evidence["seconds"] for g in evaluation.gates if "seconds" in g.evidence}
    return found.model_copy(update={"seconds": took, "stages": evaluation.seconds, "gates": gates})


def record_of(bench: Bench, kernel: KernelRecord, cheat: Cheat) -> VariantRecord:
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


def _on_victim(bench: Bench, kernel: KernelRecord, cheats: Sequence[Cheat]) -> Iterator[Outcome]:
    def build(cheat: Cheat) -> None:
        _build(bench, kernel, cheat)

    with ThreadPoolExecutor(BUILDS_AT_ONCE) as pool:  # all before anything is timed
        list(pool.map(build, cheats))
    for cheat in cheats:
        yield attempt(bench, kernel, cheat)


def _build(bench: Bench, kernel: KernelRecord, cheat: Cheat) -> None:
    """Build ahead what the static screen lets through; how that ends is for the evaluation."""
    record = record_of(bench, kernel, cheat)
    if not _not_here(cheat) and _screen(kernel, record).outcome != "failed":
        bench.evaluator.build(record)


def _screen(kernel: KernelRecord, record: VariantRecord) -> GateResult:
    spec = kernel.spec
    entry = spec.kernel.metadata.kernel_name
    return static_screen(record.variant.source, spec.kernel.kernel_type, entry, spec.io)


def _without_device(
    bench: Bench, kernel: KernelRecord, cheat: Cheat, record: VariantRecord
) -> Outcome:
    """What can be said of a page whose GPU is not here: by screens of source and machine code, the
    build, and for Triton the logic check. Only what its page expects counts as caught: nothing
    was run."""
    screen = _screen(kernel, record)
    if screen.outcome == "failed":
        stopped = _Stopped(by=screen.gate, ending=Ending.rejected, message=screen.message)
        return _seen(cheat, stopped)
    built = bench.evaluator.build(record)
    if built.artifact is None:
        ending = Ending.rejected if built.rejected else Ending.build_failed
        return _seen(cheat, _Stopped(by=str(ending), ending=ending, message=built.message))
    code = bench.evaluator.machine_screen(kernel.kernel_id, built.artifact)
    if code.outcome == "failed":
        return _seen(cheat, _Stopped(by=code.gate, ending=Ending.rejected, message=code.message))
    logic = bench.evaluator.logic(record)
    if logic is not None and logic.outcome == "failed":
        return _seen(cheat, _Stopped(by=logic.gate, ending=Ending.wrong, message=logic.message))
    return _outcome(cheat, "not run", message=f"built only; {bench.gpus.missing()}")


def _seen(cheat: Cheat, stopped: _Stopped) -> Outcome:
    """The outcome where something stopped it before anything was run on a GPU."""
    expected = stopped.by == LOGIC or bool(
        {stopped.by, str(stopped.ending)} & set(cheat.page.expect)
    )
    if not (cheat.honest or expected):
        return _outcome(cheat, "not run", stopped.ending, f"{stopped.by}: {stopped.message}")
    found = _outcome(
        cheat, "STOPPED" if cheat.honest else "caught", stopped.ending, stopped.message
    )
    return found.model_copy(update={"by": stopped.by, "expected": expected})


def _not_here(cheat: Cheat) -> str:
    """Why a page cannot be tried on this machine; empty where it can."""
    match cheat.page.needs:
        case "x86_64" if platform.machine() != "x86_64":
            return f"it is for x86_64, this is {platform.machine()}"
        case "compute-sanitizer" if sanitizer.program() is None:
            return f"compute-sanitizer is not installed here; {sanitizer.INSTALL}"
        case _:
            return ""


def _stopped(
    bench: Bench, kernel: KernelRecord, cheat: Cheat, evaluation: Evaluation
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


def _forget_success(bench: Bench, kernel: KernelRecord) -> None:
    """The next page is compared with the baseline again."""
    with bench.store.transaction() as writer:
        set_incumbent(writer, kernel.kernel_id, kernel.baseline)


def _outcome(
    cheat: Cheat, verdict: Verdict, ending: Ending | None = None, message: str = ""
) -> Outcome:
    return Outcome(
        name=cheat.name, title=cheat.page.title, verdict=verdict, ending=ending, message=message
    )
