"""Kernel Tuner's strategies as they are shipped, and some of them repaired.

What is repaired, in 1.5: the hill climber keeps the values it tried, so that its neighbours differ
from the start in more and more parameters, and stops after one improvement (until 1.3.3 it did
neither); `dual_annealing` ends after as many calls as there may be measurements, repeated and
illegal ones included; `bayes_opt` takes the huge number that stands for a failure for a time;
`adaptive_tabu_greywolf` does not learn the budget; populations are made for larger budgets.
"""

from __future__ import annotations

import contextlib
import importlib
import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

Options = dict[str, Any]
STRATEGIES = "kernel_tuner.strategies"
FAILED = 1e20
"""ms; what Kernel Tuner reports of failed configurations lies beyond"""


def no_options(budget: int) -> Options:
    """A strategy's own defaults, whatever the budget."""
    return {}


@dataclass(frozen=True)
class Variant:
    """A strategy as it is run. `options`: from the budget; `repair`: holds while it runs."""

    strategy: str
    options: Callable[[int], Options] = no_options
    repair: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext


def climb(
    start: Sequence[Any],
    neighbours: str,
    most: int,
    searchspace: Any,
    cost: Any,
    restart: bool = True,
    randomize: bool = True,
    order: Sequence[int] | None = None,
) -> Sequence[Any]:
    """Hill climbing that changes one parameter at a time, to a local optimum.

    The signature is that of Kernel Tuner's `base_hillclimb`. `restart`: neighbours of an
    improvement are listed anew at once, else the walk over the parameters goes on from it.
    """
    best, least = list(start), cost(tuple(start), check_restrictions=False)
    improved = True
    while improved:
        improved = False
        indices = list(range(len(best)) if order is None else order)
        if randomize:
            random.shuffle(indices)
        for index in indices:
            for value in searchspace.get_param_neighbors(tuple(best), index, neighbours, randomize):
                tried = [*best[:index], value, *best[index + 1 :]]
                found = cost(tried)
                if found < least:
                    best, least, improved = tried, found, True
                if cost.get_num_unique_results() >= min(searchspace.size, most):
                    return best
                if improved and restart:
                    break
            if improved and restart:
                break
    return best


@contextlib.contextmanager
def _replaced(owner: Any, name: str, by: Any) -> Generator[None]:
    before = getattr(owner, name)
    setattr(owner, name, by)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextlib.contextmanager
def _climbing() -> Generator[None]:
    mls = importlib.import_module(f"{STRATEGIES}.greedy_mls")
    ils = importlib.import_module(f"{STRATEGIES}.greedy_ils")
    with _replaced(mls, "base_hillclimb", climb), _replaced(ils, "base_hillclimb", climb):
        yield


@contextlib.contextmanager
def _knowing_failures() -> Generator[None]:
    optimizer = importlib.import_module(f"{STRATEGIES}.bayes_opt").BayesianOptimization
    is_valid = optimizer.is_valid

    def worked(self: Any, observed: float) -> bool:
        return is_valid(self, observed) and observed < FAILED

    with _replaced(optimizer, "is_valid", worked):
        yield


@contextlib.contextmanager
def _uncapped() -> Generator[None]:
    optimize = importlib.import_module("scipy.optimize")
    annealing = optimize.dual_annealing

    def without_cap(function: Any, bounds: Any, **options: Any) -> Any:
        return annealing(function, bounds, **{**options, "maxfun": 10**7, "maxiter": 10**5})

    with _replaced(optimize, "dual_annealing", without_cap):
        yield


STOCK = (
    *("random_sample", "genetic_algorithm", "simulated_annealing", "dual_annealing", "greedy_ils"),
    *("greedy_mls", "ordered_greedy_mls", "mls", "pso", "diff_evo", "firefly_algorithm"),
    *("basinhopping", "bayes_opt", "hybrid_vndx", "adaptive_tabu_greywolf", "nsga2"),
)
REPAIRED = {
    "greedy_ils, climbing": Variant("greedy_ils", repair=_climbing),
    "greedy_mls, climbing": Variant("greedy_mls", repair=_climbing),
    "mls, climbing": Variant("mls", repair=_climbing),
    "bayes_opt, knowing failures": Variant("bayes_opt", repair=_knowing_failures),
    "dual_annealing, uncapped": Variant("dual_annealing", repair=_uncapped),
    "adaptive_tabu_greywolf, knowing the budget": Variant(
        "adaptive_tabu_greywolf", lambda budget: {"budget": budget}
    ),
    "genetic_algorithm, population of 10": Variant("genetic_algorithm", lambda _: {"popsize": 10}),
    "pso, population of 10": Variant("pso", lambda _: {"popsize": 10}),
    "diff_evo, population of 10": Variant(
        "diff_evo", lambda _: {"popsize": 10, "popsize_times_dimensions": False}
    ),
}
VARIANTS = {**{name: Variant(name) for name in STOCK}, **REPAIRED}
