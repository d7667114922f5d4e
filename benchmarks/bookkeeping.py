"""What a search costs beside its evaluations, in a graph of 100,000 nodes.

    python benchmarks/bookkeeping.py [--nodes N] [--steps N] [--store FOLDER]

One process makes a store with a search of that size (`landscape_store.py`). Another, fresh one
resumes the search and makes steps, as a client drives them: a step that evaluates, or a question
and its answer. Evaluations are looked up in the landscape; they, and what they write, are taken off
the times. Everything else is as it always is: the session, the store with its commits, synced.
Right after each commit as many bytes as commits write are appended to a file beside the store
and synced: that is the disk's own share. `--in` names a folder on the disk to measure on.
`--store` measures on a copy of a store that `make` wrote before, and the result says so.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import landscape
import landscape_store
from environment import RESULTS
from environment import write as write_result

from kernelwright.evaluation.evaluator import Evaluator
from kernelwright.runners.model import Evaluation, Variant
from kernelwright.runners.specs.devices import DeviceFacts
from kernelwright.search.session.session import SearchSession
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.stored.records import NeedsCandidates, SearchStopped
from kernelwright.store.evaluations import put_evaluation
from kernelwright.store.records import VariantRecord
from kernelwright.store.store import STATE_FILE, Store
from kernelwright.store.variants import remember

WAL = f"{STATE_FILE}-wal"
TARGETS = {"step_p99_ms": 5.0, "resume_s": 3.0, "peak_gb": 1.0}

Value = TypeVar("Value")


class LookUp(Evaluator):
    """Looks variants up in the landscape; `seconds` is what that took, `busy` of a processor."""

    seconds, busy = 0.0, 0.0

    def __init__(self, store: Store, outdir: Path, bench: Workbench) -> None:
        super().__init__(store, outdir / "modules", outdir / "scratch", bench.gpus)
        self._own = store

    def evaluate(
        self,
        record: VariantRecord,
        min_gain: float | None = 0.01,
        lane: DeviceFacts | None = None,
        limit_s: float | None = None,
    ) -> Evaluation:
        """The landscape's word, on disk on return."""
        began, busy = time.perf_counter(), time.process_time()
        variant_id = record.variant.variant_id
        known = self.evaluation(variant_id)
        if known is None:
            found = landscape.measured(landscape.point_of(record.variant))
            known = landscape.evaluation(record.variant, variant_id, found, False)
            with self._own.transaction() as writer:
                remember(writer, record)
                put_evaluation(writer, known)
        self.seconds += time.perf_counter() - began
        self.busy += time.process_time() - busy
        return known

    def lanes(self, kernel_id: str) -> tuple[DeviceFacts | None, ...]:
        """One."""
        return (None,)

    def build_ahead(self, variants: Sequence[Variant]) -> None:
        """Nothing is built."""


@dataclass
class Timed:
    """Seconds of what the session did, by kind, and what its commits and the disk were like."""

    seconds: dict[str, list[float]] = field(
        default_factory=lambda: defaultdict[str, list[float]](list)
    )
    busy: list[float] = field(default_factory=list[float])
    """processor seconds of the steps"""
    logged_bytes: list[int] = field(default_factory=list[int])
    synced: list[float] = field(default_factory=list[float])


def main() -> None:
    """Make the store, measure in a process of its own, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--result", type=Path, default=RESULTS / "bookkeeping.json")
    parser.add_argument("--in", type=Path, dest="folder", metavar="FOLDER")
    parser.add_argument("--store", type=Path, metavar="FOLDER")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        if asked.store is None:
            result = both(Path(folder), asked.nodes, asked.steps)
        else:
            result = again(Path(folder), asked.store, asked.steps)
    for key, value in result.items():
        print(f"{key}: {value}")
    print(f"written to {write_result('bookkeeping', result, asked.result)}")


def both(outdir: Path, nodes: int, steps: int) -> dict[str, Any]:
    """The result for a graph of so many nodes, each part in a fresh process."""
    made = _in_a_process(make, outdir, nodes, steps)
    return made | _in_a_process(measure, outdir, steps)


def again(outdir: Path, kept: Path, steps: int) -> dict[str, Any]:
    """As `both`, on a copy of a store that was made before."""
    shutil.copy(kept / STATE_FILE, outdir)
    with Store.open(outdir / STATE_FILE) as store:
        size = {"nodes": store.count("nodes"), "edges": store.count("edges")}
    size_mb = round((outdir / STATE_FILE).stat().st_size / 1e6, 1)
    made = size | {"store_mb": size_mb, "made_by": "an earlier run"}
    return made | _in_a_process(measure, outdir, steps)


def _in_a_process(function: Callable[..., Value], *arguments: object) -> Value:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def make(outdir: Path, nodes: int, steps: int) -> dict[str, Any]:
    """Write the store."""
    began = time.perf_counter()
    edges = landscape_store.write(outdir, nodes, steps + 1)
    size = (outdir / STATE_FILE).stat().st_size
    seconds = time.perf_counter() - began
    return {
        "nodes": nodes,
        "edges": edges,
        "store_mb": round(size / 1e6, 1),
        "making_it_s": round(seconds, 1),
    }


def measure(outdir: Path, steps: int) -> dict[str, Any]:
    """Resume the search and make so many steps."""
    at_start, load = _peak_gb(), os.getloadavg()[0]
    with Workbench(outdir, [outdir]) as bench:
        began, busy = time.perf_counter(), time.process_time()
        bench.evaluator = lookup = LookUp(bench.store, outdir, bench)
        with closing(SearchSession.resume(bench, landscape_store.SEARCH_ID)) as session:
            resumed, busy = time.perf_counter() - began, time.process_time() - busy
            peak = _peak_gb()
            timed = drive(session, lookup, outdir, steps)
            status = session.status()
    steps_ms = _spread(timed.seconds["step"])
    return {
        "load_at_start": round(load, 2),
        "resume_s": round(resumed, 2),
        "resume_cpu_s": round(busy, 2),
        "peak_gb_before": at_start,
        "peak_gb_resumed": peak,
        "peak_gb": _peak_gb(),
        "steps": steps,
        "evaluations": status.evaluations,
        "step_ms": steps_ms,
        "step_cpu_ms": _spread(timed.busy),
        "question_ms": _spread(timed.seconds["question"]),
        "answer_ms": _spread(timed.seconds["answer"]),
        "status_ms": _spread(timed.seconds["status"]),
        "logged_kb": {k: round(v / 1.024) for k, v in _spread(timed.logged_bytes, 1e-3).items()},
        "sync_of_as_much_ms": _spread(timed.synced),
        "targets": TARGETS,
        "met": steps_ms["p99"] < TARGETS["step_p99_ms"]
        and resumed < TARGETS["resume_s"]
        and _peak_gb() < TARGETS["peak_gb"],
    }


def drive(session: SearchSession, lookup: LookUp, outdir: Path, steps: int) -> Timed:
    """Step until so many candidates were evaluated, answering every question."""
    timed, made, log = Timed(), 0, outdir / WAL
    with (outdir / "probe").open("wb") as probe:
        while made < steps:
            before, spent = _size(log), (lookup.seconds, lookup.busy)
            began, busy = time.perf_counter(), time.process_time()
            report = session.step()
            seconds = time.perf_counter() - began - (lookup.seconds - spent[0])
            busy = time.process_time() - busy - (lookup.busy - spent[1])
            if isinstance(report, SearchStopped):
                raise RuntimeError(f"the search stopped: {report.text}")
            kind = "question" if isinstance(report, NeedsCandidates) else "step"
            timed.seconds[kind].append(seconds)
            if isinstance(report, NeedsCandidates):
                _timed(timed, "answer", lambda report=report: answer(session, report))
                continue
            made += 1
            timed.busy.append(busy)
            if (grown := _size(log) - before) > 0:
                timed.logged_bytes.append(grown)
            _timed(timed, "status", session.status)
            timed.synced.append(_sync(probe.fileno(), grown))
    return timed


def answer(session: SearchSession, needed: NeedsCandidates) -> None:
    """Answer with the landscape's candidates."""
    question = needed.question
    rewrites = {landscape.source(number): number for number in range(landscape.REWRITES)}
    places = tuple(landscape.VALUES.index(question.parameters[n]) for n in landscape.NAMES)
    point = landscape.Point(rewrites[question.source], places)
    wanted = landscape.candidates(point, len(question.tried), question.wanted)
    session.answer(needed.ticket, wanted)


def _timed(timed: Timed, kind: str, work: Callable[[], object]) -> None:
    began = time.perf_counter()
    work()
    timed.seconds[kind].append(time.perf_counter() - began)


def _sync(descriptor: int, size: int) -> float:
    os.write(descriptor, bytes(max(size, 4096)))
    began = time.perf_counter()
    os.fsync(descriptor)
    return time.perf_counter() - began


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _peak_gb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 3)


def _spread(values: Sequence[float], scale: float = 1e3) -> dict[str, float]:
    """Median, 99th percentile and largest, of seconds in milliseconds."""
    if len(values) < 2:
        return {}
    parts = statistics.quantiles(values, n=100, method="inclusive")
    named = {"p50": parts[49], "p99": parts[98], "max": max(values)}
    return {name: round(value * scale, 3) for name, value in named.items()}


if __name__ == "__main__":
    main()
