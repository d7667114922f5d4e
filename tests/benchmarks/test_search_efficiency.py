"""The benchmark of searches: its spaces, its scores, and what it says of a result."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SPACES = ("convolution_A100", "convolution_A4000", "dedispersion_A6000")
Script = Callable[[str], Any]


@pytest.mark.parametrize(
    ("name", "configurations", "failed", "optimum"),
    [
        (SPACES[0], 4362, 161, 0.5536),
        (SPACES[1], 4362, 161, 1.0212),
        (SPACES[2], 11130, 0, 84.2181),
    ],
)
def test_a_space_holds_what_was_measured(
    script: Script, name: str, configurations: int, failed: int, optimum: float
) -> None:
    space = script("measured_spaces").space(name)
    assert len(space.times) == configurations
    assert sum(time is None for time in space.times.values()) == failed
    assert space.optimum == pytest.approx(optimum, abs=1e-4)


@pytest.mark.parametrize("name", SPACES)
def test_kernel_tuner_is_given_constraints_that_leave_the_measured_configurations(
    script: Script, name: str
) -> None:
    space = script("measured_spaces").space(name)
    constraints = script("kernel_tuner_runs").CONSTRAINTS[space.kernel]
    code = compile(" and ".join(f"({c})" for c in constraints), "constraints", "eval")
    every = product(*space.values.values())
    valid = {c for c in every if eval(code, dict(zip(space.values, c, strict=True)))}
    assert valid == set(space.times)


def test_a_score_is_the_optimum_over_the_best_so_far(script: Script) -> None:
    scores = script("measured_spaces").scores
    assert scores([None, 4.0, 8.0, 2.0], 2.0, (1, 2, 3, 4, 9)) == [0, 0.5, 0.5, 1, 1]


def test_random_search_scores_as_probability_says(script: Script) -> None:
    measured, efficiency = script("measured_spaces"), script("search_efficiency")
    space = measured.space("convolution_A4000")
    runs = (efficiency.random_search(space, 25, seed) for seed in range(400))
    found = [measured.scores(trace, space.optimum, (25,))[0] for trace in runs]
    # The best of 25 drawn is the k-th of all if it is drawn and none of the better ones is.
    times: list[float] = sorted(filter(None, space.times.values()))
    total = len(space.times)
    exact = sum(
        math.comb(total - k - 1, 24) / math.comb(total, 25) * space.optimum / time
        for k, time in enumerate(times)
    )
    assert sum(found) / len(found) == pytest.approx(exact, abs=0.02)


def test_a_run_of_ours_is_scored_at_every_budget(script: Script) -> None:
    efficiency = script("search_efficiency")
    ended = efficiency.carried_out(efficiency.Run("sweep", SPACES[0], 0, (5, 30)))
    assert 0 <= ended.scores[0] <= ended.scores[1] <= 1


def test_own_constants_are_those_that_the_sweep_has(script: Script) -> None:
    constants = script("sweep_constants")
    modules = [
        importlib.import_module(f"kernelwright.search.sweep.{place}")
        for place in constants.PLACES.values()
    ]
    has = tuple(getattr(m, name) for m, name in zip(modules, constants.VALUES, strict=True))
    assert has == constants.OWN
    with constants.in_force((8, 1.0, 128)):
        inside = tuple(getattr(m, name) for m, name in zip(modules, constants.VALUES, strict=True))
    assert inside == (8, 1.0, 128)


@pytest.mark.parametrize("change", range(3))
def test_each_constant_changes_what_the_sweep_measures(script: Script, change: int) -> None:
    efficiency, own = script("search_efficiency"), script("sweep_constants").OWN
    space = script("measured_spaces").space(SPACES[1])
    other = list(script("sweep_constants").VALUES.values())[change][0]
    with script("sweep_constants").in_force((*own[:change], other, *own[change + 1 :])):
        changed = efficiency.sweep(space, 25, 0)
    assert changed != efficiency.sweep(space, 25, 0)


def test_constants_are_chosen_by_the_other_spaces_alone(script: Script) -> None:
    constants = script("sweep_constants")
    own, other = constants.GRID[:2]
    scores = {(c, name): 0.1 for c in constants.GRID for name in ("a", "b", "c")}
    assert constants.chosen(scores, ["a", "b", "c"]) == own
    scores |= {(other, "a"): 0.9, (other, "b"): 0.0}
    assert constants.chosen(scores, ["a", "c"]) == other
    assert constants.chosen(scores, ["b", "c"]) == own


def test_each_space_is_left_out_and_so_is_each_kernel_of_several(script: Script) -> None:
    assert script("sweep_constants").left_out(SPACES) == [
        *((name,) for name in SPACES),
        ("convolution_A100", "convolution_A4000"),
    ]


def test_a_choice_is_scored_where_it_was_not_made_with_the_seeds_of_the_sweep(
    script: Script,
) -> None:
    efficiency, constants = script("search_efficiency"), script("sweep_constants")
    better = constants.GRID[1]  # in the spaces of convolution, and worse in the other

    def carry(runs: Iterable[Any]) -> list[Any]:
        return [efficiency.Ended(run, (score(run),) * len(run.budgets), 0.0, {}) for run in runs]

    def score(run: Any) -> float:
        gain = 0.2 if run.space.startswith("convolution") else -0.1
        return 0.5 + run.seed / 100 + (gain if run.constants == better else 0)

    ended = carry(efficiency.runs_of(["sweep"], 4))
    rows = efficiency.leave_one_out(ended, 2, carry)["left_out"]
    assert [(row["left_out"], row["constants"], row["gain"]) for row in rows] == [
        (SPACES[:1], better, 0.2),
        (SPACES[1:2], better, 0.2),
        (SPACES[2:], better, -0.1),
        (SPACES[:2], constants.OWN, 0.0),
    ]
    assert rows[0]["spaces"] == {SPACES[0]: {"mean": [0.715] * 4, "standard_error": [0.0065] * 4}}


def test_the_table_says_what_the_best_of_others_reach(script: Script) -> None:
    def row(method: str, kind: str, of_a: float, of_b: float) -> dict[str, Any]:
        spaces = {"a": {"mean": [of_a]}, "b": {"mean": [of_b]}}
        return {"method": method, "kind": kind, "spaces": spaces}

    result = {
        "seeds": 2,
        "budgets": [25],
        "methods": [
            row("sweep", "ours", 0.9, 0.8),
            row("random", "ours", 0.5, 0.3),
            row("one", "kernel-tuner 1.5, stock", 0.8, 0.2),
            row("two", "kernel-tuner 1.5, repaired", 0.4, 0.7),
        ],
    }
    text = script("sweep_tables").efficiency(result)
    assert "| mean of the spaces | sweep | 0.850 |" in text
    assert "| mean of the spaces | best single strategy, stock: one | 0.500 |" in text
    assert "| mean of the spaces | Kernel Tuner, in hindsight | 0.750 |" in text
    assert "| mean of the spaces | Kernel Tuner, chosen on the other spaces | 0.300 |" in text
    assert "| b | uniform random | 0.300 |" in text


def test_the_table_says_nothing_of_others_that_took_no_part(script: Script) -> None:
    spaces = {"a": {"mean": [0.9]}}
    rows = [{"method": m, "kind": "ours", "spaces": spaces} for m in ("sweep", "random")]
    text = script("sweep_tables").efficiency({"seeds": 1, "budgets": [25], "methods": rows})
    assert "| a | sweep | 0.900 |" in text
    assert "in hindsight |" not in text


def test_the_table_says_what_constants_chosen_elsewhere_reach_and_gain(script: Script) -> None:
    def left_out(names: list[str], gain: float, **scores: float) -> dict[str, Any]:
        spaces = {name: {"mean": [score]} for name, score in scores.items()}
        row = {"left_out": names, "constants": [-4, 0.5], "spaces": spaces}
        return {**row, "gain": gain, "gain_standard_error": 0.01}

    spaces = {name: {"mean": [0.9]} for name in ("a_1", "a_2", "b_1")}
    rows = [{"method": m, "kind": "ours", "spaces": spaces} for m in ("sweep", "random")]
    for method, scores in ("one", (0.9, 0.1, 0.5)), ("two", (0.2, 0.8, 0.4)):
        of = {name: {"mean": [score]} for name, score in zip(spaces, scores, strict=True)}
        rows.append({"method": method, "kind": "kernel-tuner 1.5, stock", "spaces": of})
    grid = [([2, 0.5], 0.9), ([-4, 0.5], 0.8), ([2, 0.25], 0.95)]
    found = {
        "values": {"FIRST": [2, -4], "FAR": [0.5, 0.25]},
        "own": [2, 0.5],
        "seeds": 3,
        "budgets": [25],
        "left_out": [
            left_out(["a_1"], -0.2, a_1=0.7),
            left_out(["a_2"], -0.1, a_2=0.8),
            left_out(["b_1"], 0.0, b_1=0.9),
            left_out(["a_1", "a_2"], -0.3, a_1=0.6, a_2=0.6),
        ],
        "grid": [{"constants": c, "mean": dict.fromkeys(spaces, mean)} for c, mean in grid],
    }
    result = {"seeds": 5, "budgets": [25], "methods": rows, "leave_one_out": found}
    text = script("sweep_tables").efficiency(result)
    assert "| mean of the spaces | sweep, constants chosen on the other spaces | 0.800 |" in text
    both = "| mean of a_1 and a_2 |"
    assert f"{both} sweep, constants chosen on the other spaces | 0.750 |" in text
    assert f"{both} sweep, constants chosen on other kernels | 0.600 |" in text
    assert f"{both} Kernel Tuner, chosen on the other spaces | 0.150 |" in text
    assert f"{both} Kernel Tuner, chosen on other kernels | 0.500 |" in text
    assert "scores less on a_1 and a_2; mean gain -0.100 (0.006). So much" in text
    assert (
        "best single strategy at 1 of 1 budgets, and the best of each space in hindsight at 1"
        in text
    )
    assert "0.800 to 0.950, and the sweep's own 0.900: 1 score more" in text
    assert "| a_1, a_2 | -4 | 0.5 | -0.300 (0.010) |" in text
