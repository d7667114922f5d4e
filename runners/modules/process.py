"""The child in which a module of the user's is loaded and run. Its folder has the job; its results
are lines of a file there, each written as soon as it is known."""

from __future__ import annotations

import gc
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel

from ..collecting import nothing_collected
from ..errors import KernelwrightError
from .batches import batches_of, peak_bytes
from .breaks import breaks_of
from .common.clock import Clock, open_lock
from .common.messages import JOB, RESULTS, EagerTimes, ModuleJob, PhaseFailed, Progress
from .common.torch_library import torch
from .confinement import confine
from .cutting.graph import graph_of
from .cutting.inductor import inductor_code
from .forms.subjects import Loaded, facts_of, load_subject
from .ladder.climbing import climb
from .ladder.finding import attention_of
from .recalling import recalled
from .roofs.machine import roofs
from .roofs.own_shapes import own_shapes
from .scoring.scoring import score
from .tracing.trace import Traced, trace_of

OWN_SHAPES_S = 20.0
LONGEST_WORDS = 2000


@dataclass
class Work:
    """What the phases share."""

    job: ModuleJob
    loaded: Loaded
    clock: Clock
    say: Callable[[BaseModel], None]
    traced: Traced | None = field(default=None)


def _eager(work: Work) -> None:
    gc.collect()
    gc.freeze()  # what torch and its compiler have made is not looked through while we time
    with work.clock.alone():
        peak = peak_bytes(work.loaded)
        work.say(
            EagerTimes(
                ms=work.clock.wall_ms(work.loaded.call, 0.3),
                host_ms=work.clock.host_ms(work.loaded.call),
                peak_bytes=peak,
            )
        )


def _trace(work: Work) -> None:
    with work.clock.alone():
        work.traced = trace_of(work.loaded, Path(work.job.scratch))
    work.say(work.traced.trace)


def _roofs(work: Work) -> None:
    work.say(roofs(work.clock, compiled="ladder" in work.job.phases))


def _own_shapes(work: Work) -> None:
    if work.traced is None:
        return
    weights = dict[str, float]()
    for each in work.traced.trace.ops:
        weights[each.key] = weights.get(each.key, 0.0) + each.us
    work.say(own_shapes(work.clock, work.traced.recipes, weights, OWN_SHAPES_S))


def _attention(work: Work) -> None:
    work.say(attention_of(work.loaded, work.clock))


def _breaks(work: Work) -> None:
    work.say(breaks_of(work.loaded))


def _batches(work: Work) -> None:
    work.say(batches_of(work.loaded, work.clock, work.job.batches))


def _graph(work: Work) -> None:
    work.say(graph_of(work.loaded))


def _inductor(work: Work) -> None:
    work.say(inductor_code(work.loaded))


def _recalled(work: Work) -> None:
    work.say(recalled(work.loaded))


def _score(work: Work) -> None:
    rivals = [Path(each) for each in work.job.rivals]
    compiled = ("compile",) in work.job.rungs
    work.say(score(Path(work.job.source.path), rivals, work.clock, compiled=compiled))


def _ladder(work: Work) -> None:
    _eager(work)  # once more: the host is slower in a process that has grown, and this one counts
    climb(work.job, work.loaded, work.clock, work.say)


PHASES: dict[str, Callable[[Work], None]] = {
    "eager": _eager,
    "trace": _trace,
    "roofs": _roofs,
    "own_shapes": _own_shapes,
    "attention": _attention,
    "breaks": _breaks,
    "batches": _batches,
    "ladder": _ladder,
    "graph": _graph,
    "recalled": _recalled,
    "inductor": _inductor,
    "score": _score,
}
"""In their order. One that fails is told, and the next one begins."""


def main() -> None:
    """Do the job that lies in the working folder."""
    job = ModuleJob.model_validate_json(Path(JOB).read_text(encoding="utf-8"))
    results = os.open(RESULTS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def say(line: BaseModel) -> None:
        os.write(results, line.model_dump_json().encode() + b"\n")

    lock = open_lock(sys.argv[1]) if len(sys.argv) > 1 else None
    confine(job)
    with nothing_collected():
        torch()
    warnings.simplefilter("ignore")  # of torch and of the user's code; nobody reads them here
    clock = Clock(job.device, lock)
    if job.threads is not None:
        torch().set_num_threads(job.threads)
    try:
        loaded = load_subject(job)
        say(facts_of(loaded))
    except Exception as error:
        say(PhaseFailed(phase="load", words=words_of(error, job)))
        return
    work = Work(job, loaded, clock, say)
    for name in job.phases:
        say(Progress(word=name))
        try:
            PHASES[name](work)
        except Exception as error:
            say(PhaseFailed(phase=name, words=words_of(error, job)))


def words_of(error: Exception, job: ModuleJob) -> str:
    """An error of ours as it is; of others the kind, the message, and the user's innermost line."""
    if isinstance(error, KernelwrightError):
        return str(error)[:LONGEST_WORDS]
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if Path(f.filename).parent == Path(job.source.path).parent]
    where = f" at {Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
    return f"{type(error).__name__}{where}: {error}"[:LONGEST_WORDS]


if __name__ == "__main__":
    main()
