"""How near to the optimum a search gets, by how much it measured: ours, random, Kernel Tuner's.

    python benchmarks/search_efficiency.py [--seeds N] [--processes N] [--only METHOD ...]

Spaces that were measured exhaustively (`data/README.md`) stand for the GPU. A run is scored by
optimum / best after 25, 50, 100 and 200 distinct configurations, a failed one included. Strategies
may act by how much they are allowed, so each budget of Kernel Tuner's is a run of its own; the
sweep and random search do not know it. Kernel Tuner takes part where it is installed:
`pip install kernel-tuner==1.5`. Runs follow from their seeds: `--only` runs some methods again, and
keeps what the result file says of the others.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import kernel_tuner_runs
from environment import RESULTS, write
from kernel_tuner_variants import STOCK, VARIANTS
from measured_spaces import NAMES, MeasuredSpace, Trace, scores, space

from kernelwright.search.sweep import Space, Sweep

BUDGETS = (25, 50, 100, 200)
OURS, RANDOM = "sweep", "random"


@dataclass(frozen=True)
class Run:
    """One search: a method in a space, with a seed. `budgets`: where its trace is scored."""

    method: str
    space: str
    seed: int
    budgets: tuple[int, ...]


@dataclass(frozen=True)
class Ended:
    """What came of a run: scores by budget, processor seconds, and errors that ended it."""

    run: Run
    scores: tuple[float, ...]
    seconds: float
    errors: dict[str, str]


def main() -> None:
    """Run every method in every space and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=(OURS, RANDOM, *VARIANTS), metavar="METHOD")
    parser.add_argument("--result", type=Path, default=RESULTS / "search_efficiency.json")
    asked = parser.parse_args()
    methods = asked.only or (OURS, RANDOM, *_others())
    with multiprocessing.Pool(asked.processes) as pool:
        ended = pool.map(carried_out, list(runs_of(methods, asked.seeds)), chunksize=8)
    rows = [summary(method, ended) for method in methods]
    for row in rows:
        print(f"{row['method']:45s}", *(f"{x:.3f}" for x in row["mean"]), *row["broke_off"])
    kept = _kept(asked.result, asked.seeds) if asked.only else {}
    every = {**kept, **{row["method"]: row for row in rows}}
    result = {"seeds": asked.seeds, "budgets": BUDGETS, "methods": list(every.values())}
    print(f"written to {write('search_efficiency', result, asked.result)}")


def _others() -> tuple[str, ...]:
    if kernel_tuner_runs.installed():
        return tuple(VARIANTS)
    print(f"Kernel Tuner is not installed and takes no part: {kernel_tuner_runs.INSTALL}")
    return ()


def _kept(path: Path, seeds: int) -> dict[str, dict[str, Any]]:
    """The rows of an earlier result by method; none of one with other seeds."""
    if not path.is_file():
        return {}
    earlier: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {row["method"]: row for row in earlier["methods"] if earlier["seeds"] == seeds}


def runs_of(methods: Iterable[str], seeds: int) -> Iterator[Run]:
    """All runs: one over all budgets for what does not know its budget, else one a budget."""
    for name, seed, method in product(NAMES, range(seeds), methods):
        if method in (OURS, RANDOM):
            yield Run(method, name, seed, BUDGETS)
        else:
            yield from (Run(method, name, seed, (budget,)) for budget in BUDGETS)


def carried_out(run: Run) -> Ended:
    """One run, scored."""
    measured, most = space(run.space), max(run.budgets)
    started = time.process_time()
    if run.method == OURS:
        trace = sweep(measured, most, run.seed)
    elif run.method == RANDOM:
        trace = random_search(measured, most, run.seed)
    else:
        trace = kernel_tuner_runs.trace_of(measured, run.method, most, run.seed)
    seconds = time.process_time() - started
    found = scores(trace, measured.optimum, run.budgets)
    return Ended(run, tuple(found), seconds, kernel_tuner_runs.errors())


def sweep(measured: MeasuredSpace, budget: int, seed: int) -> Trace:
    """What our method measures."""
    search = Sweep(Space(tuple(measured.values), tuple(measured.times)), seed)
    trace = Trace()
    while len(trace) < budget and (asked := search.ask()):
        time_ms = measured.times[tuple(asked[0][name] for name in measured.values)]
        search.tell(asked[0], time_ms)
        trace.append(time_ms)
    return trace


def random_search(measured: MeasuredSpace, budget: int, seed: int) -> Trace:
    """What uniform random search measures, without repetition."""
    times = list(measured.times.values())
    return random.Random(seed).sample(times, min(budget, len(times)))


def summary(method: str, ended: Iterable[Ended]) -> dict[str, Any]:
    """A method's scores: by space and budget the mean of all seeds, its standard error, and the
    mean of the spaces."""
    found = defaultdict[tuple[str, int], list[float]](list)
    mine = [each for each in ended if each.run.method == method]
    for each in mine:
        for budget, score in zip(each.run.budgets, each.scores, strict=True):
            found[each.run.space, budget].append(score)
    means = {key: statistics.fmean(values) for key, values in found.items()}
    errors = {k: statistics.stdev(v) / len(v) ** 0.5 for k, v in found.items() if len(v) > 1}
    return {
        "method": method,
        "kind": _kind(method),
        "spaces": {
            name: {
                "mean": [round(means[name, b], 4) for b in BUDGETS],
                "standard_error": [round(errors.get((name, b), 0.0), 4) for b in BUDGETS],
            }
            for name in NAMES
        },
        "mean": [round(statistics.fmean(means[n, b] for n in NAMES), 4) for b in BUDGETS],
        "longest_run_s": round(max(each.seconds for each in mine), 2),
        "broke_off": sorted(
            {e for each in mine for e in each.errors if e.startswith(f"{method}:")}
        ),
    }


def _kind(method: str) -> str:
    if method in (OURS, RANDOM):
        return "ours"
    return f"kernel-tuner {version('kernel-tuner')}, {'stock' if method in STOCK else 'repaired'}"


if __name__ == "__main__":
    main()
