"""The ladder, measured: rungs are made one after the other, and timed in turns."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from ..common.clock import Clock
from ..common.messages import ModuleJob, Planned, Progress, RungMade, RungTimes
from ..common.torch_library import tensors_in, torch
from ..forms.subjects import Loaded, load_subject
from ..steps import BY_NAME, STEPS
from .agreement import agreement, kept, truth_of, worse
from .planning import EAGER, Rung, rungs_of

BLOCKS, SAMPLE_S = 10, 0.03
MOST_PARAMETERS = 1_000_000_000
"""beyond it the module is not made again for other inputs"""


@dataclass
class Ladder:
    """What was made so far: calls by rung, each made of the rung below it."""

    loaded: Loaded
    calls: dict[Rung, Callable[..., Any]] = field(default_factory=dict[Rung, Callable[..., Any]])

    def call_of(self, rung: Rung) -> Callable[..., Any]:
        """The callable of a rung. Raises what a step raises."""
        if rung == EAGER:
            return self.loaded.model
        if rung not in self.calls:
            below = self.call_of(rung[:-1])
            self.calls[rung] = BY_NAME[rung[-1]].apply(below, self.loaded.inputs)
        return self.calls[rung]


@dataclass(frozen=True)
class Expected:
    """Eager outputs and the truth, for each set of inputs."""

    inputs: tuple[Any, ...]
    eager: list[Any]
    truth: list[Any]
    of: str


def climb(job: ModuleJob, loaded: Loaded, clock: Clock, say: Callable[[BaseModel], None]) -> None:
    """Make every rung, compare its outputs, and time those that run, eager among them."""
    rungs = list(dict.fromkeys([EAGER, *(job.rungs or _applying(job, loaded))]))
    say(Planned(rungs=tuple(rungs)))
    expected = _expected(job, loaded)
    ladder, running, end = Ladder(loaded), list[Rung](), time.monotonic() + job.budget_s
    for rung in rungs:
        if time.monotonic() > end and rung != EAGER:
            say(RungMade(steps=rung, failed="the budget was spent before it"))
            continue
        say(Progress(word=f"rung {'+'.join(rung) or 'eager'}"))
        made = _make(ladder, rung, expected)
        say(made)
        if not made.failed:
            running.append(rung)
    if len(running) > 1:
        say(Progress(word="times in turns"))
    say(_times(ladder, running, clock, expected[0].of))


def _applying(job: ModuleJob, loaded: Loaded) -> list[Rung]:
    applying = [
        step
        for step in STEPS
        if job.device in step.devices
        and (not step.consent or step.consent in job.allow)
        and not _why_not(step.name, loaded)
    ]
    return rungs_of(applying, job.allow, slow="autotune" in job.phases)


def _why_not(name: str, loaded: Loaded) -> str:
    try:
        return BY_NAME[name].why_not(loaded.model, loaded.inputs, loaded.device)
    except Exception as error:  # a module that Dynamo cannot follow at all
        return f"{type(error).__name__}: {error}"


def _expected(job: ModuleJob, loaded: Loaded) -> list[Expected]:
    """For the module's inputs, and for those of another seed where they can be had."""
    found = list[Expected]()
    for inputs in (loaded.inputs, *_other_inputs(job, loaded)):
        each = Loaded(loaded.model, inputs, loaded.device, loaded.form, loaded.path)
        eager = kept(each.call())
        truth, of = truth_of(each, eager)
        found.append(Expected(inputs, eager, truth, of))
    return found


def _other_inputs(job: ModuleJob, loaded: Loaded) -> list[tuple[Any, ...]]:
    if sum(p.numel() for p in loaded.model.parameters()) > MOST_PARAMETERS:
        return []
    other = load_subject(job.model_copy(update={"seed": job.seed + 1})).inputs
    shapes = [[t.shape for t in tensors_in(each)] for each in (other, loaded.inputs)]
    return [other] if shapes[0] == shapes[1] else []


def _make(ladder: Ladder, rung: Rung, expected: Sequence[Expected]) -> RungMade:
    start = time.monotonic()
    try:
        with torch().no_grad():
            call = ladder.call_of(rung)
            first = kept(call(*expected[0].inputs))
            took = time.monotonic() - start
            found = agreement(first, expected[0].eager, expected[0].truth)
            for each in expected[1:]:
                outputs = kept(call(*each.inputs))
                found = worse(found, agreement(outputs, each.eager, each.truth))
    except Exception as error:
        return RungMade(steps=rung, failed=_words(error), prepared_s=time.monotonic() - start)
    note = getattr(call, "__doc__", None) if rung and rung[-1] == "threads" else None
    return RungMade(
        steps=rung,
        agreement=found,
        prepared_s=round(took, 2),
        peak_bytes=_peak(ladder, rung),
        notes=(note,) if note else (),
    )


def _peak(ladder: Ladder, rung: Rung) -> int | None:
    if ladder.loaded.device == "cpu":
        return None
    cuda, call = torch().cuda, ladder.call_of(rung)
    cuda.synchronize()
    cuda.reset_peak_memory_stats()
    before = cuda.memory_allocated()
    with torch().no_grad():
        call(*ladder.loaded.inputs)
    cuda.synchronize()
    return int(cuda.max_memory_allocated() - before)


def _times(ladder: Ladder, rungs: Sequence[Rung], clock: Clock, truth: str) -> RungTimes:
    """Blocks: in each every rung is sampled once, in an order drawn anew."""
    rng, inputs = random.Random(20261124), ladder.loaded.inputs
    calls = {rung: ladder.call_of(rung) for rung in rungs}
    blocks = {rung: list[float]() for rung in rungs}
    with torch().no_grad(), clock.alone():
        counts = dict[Rung, int]()
        for rung, call in calls.items():
            clock.sample_ms(lambda c=call: c(*inputs), 2)
            once = clock.sample_ms(lambda c=call: c(*inputs), 1)
            counts[rung] = max(1, min(1000, int(SAMPLE_S * 1e3 / max(once, 1e-4))))
        for _ in range(BLOCKS):
            order = list(rungs)
            rng.shuffle(order)
            for rung in order:
                ms = clock.sample_ms(lambda c=calls[rung]: c(*inputs), counts[rung])
                blocks[rung].append(round(ms, 6))
    return RungTimes(
        rungs=tuple(rungs), blocks_ms=tuple(tuple(blocks[r]) for r in rungs), truth=truth
    )


def _words(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = lines if len(lines) < 5 else [*lines[:2], "...", *lines[-2:]]
    return f"{type(error).__name__}: {' '.join(told)}"[:800]
