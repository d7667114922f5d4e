"""Runs of Kernel Tuner's strategies on measured spaces: the real package, in simulation mode.

No strategy is changed but as `kernel_tuner_variants.py` says. What is replaced here is
bookkeeping: measurements come from memory and not from a file, the list of valid configurations is
built once a space (each run gets empty caches of neighbours, whose order steers a strategy), and
Latin hypercubes, which Kernel Tuner leaves unseeded, follow the run's seed.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import importlib
import importlib.util
import io
import random
import signal
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from kernel_tuner_variants import STRATEGIES, VARIANTS
from measured_spaces import Configuration, MeasuredSpace, Trace, space

INSTALL = "pip install kernel-tuner==1.5"
LIMIT_S = 30.0
"""processor seconds after which a run is stopped; what it has measured by then counts"""
CONSTRAINTS = {
    "convolution": [
        "use_padding==0 or block_size_x % 32 != 0",
        "block_size_x*block_size_y<=1024",
        "use_padding==0 or use_shmem != 0",
        "use_shmem == 0 or (((block_size_x*tile_size_x+(filter_width-1)))"
        "*((block_size_y*tile_size_y+(filter_height-1)))) < 12*1024",
    ],
    "dedispersion": [
        "32 <= block_size_x * block_size_y <= 1024",
        "tile_size_x > 1 or tile_stride_x == 0",
        "tile_size_y > 1 or tile_stride_y == 0",
    ],
}
"""what the authors of the spaces declared; leaves exactly the configurations that were measured"""


class Stopped(Exception):
    """The limit of a run has passed."""


def installed() -> bool:
    """Whether Kernel Tuner can be imported here."""
    return importlib.util.find_spec("kernel_tuner") is not None


def trace_of(measured: MeasuredSpace, variant: str, budget: int, seed: int) -> Trace:
    """What a strategy measures in one run of at most `budget` distinct configurations.

    A strategy that breaks off with an error keeps what it has measured, as its user would.
    """
    tuner, chosen = _prepared(), VARIANTS[variant]
    _SEEN.clear()
    random.seed(seed)
    np.random.seed(seed)
    signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        with chosen.repair(), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tuner.tune_kernel(
                measured.kernel_name,
                f"__global__ void {measured.kernel_name}() {{}}",
                measured.problem_size,
                [],
                dict(measured.values),
                restrictions=list(CONSTRAINTS[measured.kernel]),
                strategy=chosen.strategy,
                strategy_options={**chosen.options(budget), "max_fevals": budget},
                cache=str(_named_file(measured.name)),
                simulation_mode=True,
                lang="CUDA",
                quiet=True,
                verbose=False,
                seed=seed,
            )
    except Exception as error:
        _ENDED[f"{variant}: {type(error).__name__}"] = str(error)[:200]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return list(_SEEN.values())


_SEEN: dict[Configuration, float | None] = {}
"""what the run that goes on has measured, in order"""
_ENDED: dict[str, str] = {}
"""errors that ended runs of this process, by variant"""


def errors() -> dict[str, str]:
    """Errors that ended runs of this process, one of each kind a variant."""
    return dict(_ENDED)


def _stop(*_: object) -> None:
    raise Stopped(f"more than {LIMIT_S:g} s of processor time")


@cache
def _named_file(name: str) -> Path:
    """A file of that name, which Kernel Tuner wants to see; what is in it is never read."""
    path = Path(tempfile.mkdtemp(prefix="kernel_tuner_")) / f"{name}.json"
    path.write_text("{}", encoding="utf-8")
    return path


@cache
def _prepared() -> Any:
    """The package, its bookkeeping replaced."""
    tuner: Any = importlib.import_module("kernel_tuner")
    util: Any = importlib.import_module("kernel_tuner.util")
    interface: Any = importlib.import_module("kernel_tuner.interface")
    runner: Any = importlib.import_module("kernel_tuner.runners.simulation").SimulationRunner

    @cache
    def measurements(file: str) -> dict[str, Any]:
        return _measurements(space(Path(file).stem), util)

    def read_cache(file: str, open_cache: bool = True) -> dict[str, Any]:
        return measurements(file)

    util.read_cache = read_cache
    util.close_cache = _nothing
    util.print_config_output = _nothing
    interface.Searchspace = _searchspaces(interface.Searchspace)
    runner.run = _recording(runner.run)
    _seed_hypercubes()
    return tuner


def _nothing(*_: object) -> None: ...


def _measurements(measured: MeasuredSpace, util: Any) -> dict[str, Any]:
    """A space as Kernel Tuner's cache file would hold it."""
    no_times = {"compile_time": 0, "verification_time": 0, "benchmark_time": 0}
    entries = dict[str, dict[str, Any]]()
    for configuration, time in measured.times.items():
        failed = {} if time is not None else {"__error__": util.RuntimeFailedConfig()}
        entries[",".join(map(str, configuration))] = {
            **dict(zip(measured.values, configuration, strict=True)),
            "time": time if time is not None else "RuntimeFailedConfig",
            **no_times,
            **failed,
        }
    return {
        "device_name": measured.name,
        "kernel_name": measured.kernel_name,
        "problem_size": list(measured.problem_size),
        "tune_params_keys": list(measured.values),
        "tune_params": measured.values,
        "cache": entries,
    }


def _recording(run: Callable[..., Any]) -> Callable[..., Any]:
    """The simulation's `run`, which notes each configuration when it is first measured."""

    def recorded(self: Any, asked: Any, tuning: Any) -> Any:
        configurations = [tuple(each) for each in asked]
        results = run(self, configurations, tuning)
        for configuration, result in zip(configurations, results, strict=True):
            if result is not None and ",".join(map(str, configuration)) in tuning.cache:
                time = None if "__error__" in result else result["time"]
                _SEEN.setdefault(configuration, time)
        return results

    return recorded


def _searchspaces(real: Any) -> Callable[..., Any]:
    """Kernel Tuner's class of spaces, each built once; every call gives one with empty caches."""
    methods = importlib.import_module("kernel_tuner.searchspace").supported_neighbor_methods
    built = dict[str, Any]()
    found = real.get_neighbors_indices_no_cache

    def remembered(
        self: Any, at: Any, neighbor_method: Any = None, build_full_cache: bool = False
    ) -> Any:
        if build_full_cache:
            return found(self, at, neighbor_method, build_full_cache)
        key = (neighbor_method, at)
        if key not in self.benchmark_memo:
            self.benchmark_memo[key] = found(self, at, neighbor_method)
        return self.benchmark_memo[key].copy()

    real.get_neighbors_indices_no_cache = remembered

    def fresh(values: Any, constraints: Any, threads: Any, **options: Any) -> Any:
        key = repr((values, constraints, options))
        if key not in built:
            built[key] = real(values, constraints, threads, **options)
            built[key].benchmark_memo = {}
            built[key]._Searchspace__prepare_neighbors_index()
        this = copy.copy(built[key])
        this._Searchspace__neighbor_cache = {m: {} for m in methods}
        this._Searchspace__neighbor_partial_cache = {
            m: collections.defaultdict[Any, list[Any]](list) for m in methods
        }
        return this

    return fresh


def _seed_hypercubes() -> None:
    sampling: Any = importlib.import_module("scipy.stats.qmc")
    strategy: Any = importlib.import_module(f"{STRATEGIES}.bayes_opt")
    unseeded = sampling.LatinHypercube

    def seeded(d: int, **options: Any) -> Any:
        return unseeded(d, **{"rng": np.random.default_rng(np.random.randint(2**31)), **options})

    sampling.LatinHypercube = strategy.LatinHypercube = seeded
