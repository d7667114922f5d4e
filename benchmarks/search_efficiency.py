"""How near to the optimum a search gets, by how much it measured: ours, random, Kernel Tuner's.

    python benchmarks/search_efficiency.py [--seeds N] [--choosing-seeds N] [--processes N]

Spaces that were measured exhaustively (`data/README.md`) stand for the GPU. A run is scored by
optimum / best after 25, 50, 100 and 200 distinct configurations, a failed one included. Strategies
may act by how much they are allowed, so each budget of Kernel Tuner's is a run of its own; the
sweep and random search do not know it. Kernel Tuner takes part where it is installed:
`pip install kernel-tuner==1.5`. Runs follow from their seeds. The result file is always of one run:
`--only` runs some methods, and writes them only where `--result` says.

Leave one out: constants of the sweep (`sweep_constants.py`) are chosen by the mean score on all
spaces but one, and scored on that one with as many seeds as the sweep's own. `--choosing-seeds`
says how many a choice rests on; 0 leaves it out. It looks at budgets up to 100, which take a fifth
of the time that 200 take.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Any

import kernel_tuner_runs
from environment import write
from kernel_tuner_variants import STOCK, VARIANTS
from measured_spaces import NAMES, MeasuredSpace, Trace, scores, space
from sweep_constants import GRID, OWN, VALUES, Constants, chosen, in_force, left_out

from kernelwright.search.sweep import Space, Sweep

BUDGETS = (25, 50, 100, 200)
CHOOSING_BUDGETS = (25, 50, 100)
OURS, RANDOM = "sweep", "random"
PACKAGES = ("kernel-tuner", "scipy", "scikit-learn")
"""what Kernel Tuner's strategies rest on, beside what the environment names"""

Carry = Callable[[Iterable["Run"]], list["Ended"]]


@dataclass(frozen=True)
class Run:
    """One search: a method in a space, with a seed. `budgets`: where its trace is scored;
    `constants`: of the sweep."""

    method: str
    space: str
    seed: int
    budgets: tuple[int, ...]
    constants: Constants = OWN


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
    parser.add_argument("--choosing-seeds", type=int, default=16)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=(OURS, RANDOM, *VARIANTS), metavar="METHOD")
    parser.add_argument("--result", type=Path)
    asked = parser.parse_args()
    methods = asked.only or (OURS, RANDOM, *_others())
    with multiprocessing.Pool(asked.processes) as pool:

        def carry(runs: Iterable[Run]) -> list[Ended]:
            return pool.map(carried_out, list(runs), chunksize=8)

        ended = carry(runs_of(methods, asked.seeds))
        rows = [summary(method, ended) for method in methods]
        result = {"seeds": asked.seeds, "budgets": BUDGETS, "packages": _packages()}
        result |= {"methods": rows}
        if OURS in methods and asked.choosing_seeds:
            result |= {"leave_one_out": leave_one_out(ended, asked.choosing_seeds, carry)}
    for row in rows:
        print(f"{row['method']:45s}", *(f"{x:.3f}" for x in row["mean"]), *row["broke_off"])
    if asked.result or not asked.only:
        print(f"written to {write('search_efficiency', result, asked.result)}")


def _packages() -> dict[str, str]:
    found = dict[str, str]()
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _others() -> tuple[str, ...]:
    if kernel_tuner_runs.installed():
        return tuple(VARIANTS)
    print(f"Kernel Tuner is not installed and takes no part: {kernel_tuner_runs.INSTALL}")
    return ()


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
        with in_force(run.constants):
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
    mine = [each for each in ended if each.run.method == method]
    spaces = by_space(mine)
    return {
        "method": method,
        "kind": _kind(method),
        "spaces": spaces,
        "mean": [
            round(statistics.fmean(spaces[name]["mean"][b] for name in NAMES), 4)
            for b in range(len(BUDGETS))
        ],
        "longest_run_s": round(max(each.seconds for each in mine), 2),
        "broke_off": sorted(
            {e for each in mine for e in each.errors if e.startswith(f"{method}:")}
        ),
    }


def by_space(ended: Iterable[Ended]) -> dict[str, dict[str, list[float]]]:
    """Scores of some runs of one method, by space and budget: their mean and its standard error."""
    found = defaultdict[str, defaultdict[int, list[float]]](lambda: defaultdict(list))
    for each in ended:
        for budget, score in zip(each.run.budgets, each.scores, strict=True):
            found[each.run.space][budget].append(score)
    return {
        name: {
            "mean": [round(statistics.fmean(some), 4) for _, some in sorted(budgets.items())],
            "standard_error": [round(_error(some), 4) for _, some in sorted(budgets.items())],
        }
        for name, budgets in found.items()
    }


def _error(values: Sequence[float]) -> float:
    """The standard error of a mean; 0 where one value does not tell."""
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def leave_one_out(ended: Iterable[Ended], choosing_seeds: int, carry: Carry) -> dict[str, Any]:
    """What constants score in spaces that they were not chosen on, beside the sweep's own.

    `ended`: the sweep's own runs, among others.
    """
    own = [each for each in ended if each.run.method == OURS]
    grid = product(GRID, NAMES, range(choosing_seeds))
    tried = carry(Run(OURS, name, seed, CHOOSING_BUDGETS, c) for c, name, seed in grid)
    scores = _mean_scores(tried)
    choices = {
        left: chosen(scores, [n for n in NAMES if n not in left]) for left in left_out(NAMES)
    }
    seeds = sorted({each.run.seed for each in own})
    others = {(c, name) for left, c in choices.items() for name in left if c != OWN}
    runs = (Run(OURS, name, s, BUDGETS, c) for (c, name), s in product(sorted(others), seeds))
    judged = [*own, *carry(runs)]
    return {
        "values": VALUES,
        "own": OWN,
        "seeds": choosing_seeds,
        "budgets": CHOOSING_BUDGETS,
        "left_out": [_judged(left, choices[left], judged) for left in choices],
        "grid": [
            {"constants": c, "mean": {name: round(scores[c, name], 4) for name in NAMES}}
            for c in GRID
        ],
    }


def _mean_scores(ended: Iterable[Ended]) -> dict[tuple[Constants, str], float]:
    """The mean of all seeds and budgets, by constants and space."""
    found = defaultdict[tuple[Constants, str], list[float]](list)
    for each in ended:
        found[each.run.constants, each.run.space].extend(each.scores)
    return {key: statistics.fmean(values) for key, values in found.items()}


def _judged(left: Sequence[str], choice: Constants, ended: Iterable[Ended]) -> dict[str, Any]:
    """What a choice scores in the spaces that were left out. `gain`: over the sweep's own
    constants, mean of spaces and budgets; its standard error is that of the seeds' differences."""
    here = [each for each in ended if each.run.space in left]
    mine = [each for each in here if each.run.constants == choice]
    gains = defaultdict[int, list[float]](list)
    own = {(e.run.space, e.run.seed): e.scores for e in here if e.run.constants == OWN}
    for each in mine:
        before = own[each.run.space, each.run.seed]
        gains[each.run.seed].append(statistics.fmean(each.scores) - statistics.fmean(before))
    of_seeds = [statistics.fmean(some) for some in gains.values()]
    return {
        "left_out": left,
        "constants": choice,
        "spaces": by_space(mine),
        "gain": round(statistics.fmean(of_seeds), 4),
        "gain_standard_error": round(_error(of_seeds), 4),
    }


def _kind(method: str) -> str:
    if method in (OURS, RANDOM):
        return "ours"
    return f"kernel-tuner {version('kernel-tuner')}, {'stock' if method in STOCK else 'repaired'}"


if __name__ == "__main__":
    main()
