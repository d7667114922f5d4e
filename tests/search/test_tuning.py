"""Knobs of a candidate are found where they are, and turned together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kernelwright.runners.errors import SpecError
from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.applying.apply import apply
from kernelwright.search.moves import Move, NotApplicable, State
from kernelwright.search.moves.every_language.sweep_constants import MOVE as SWEEP_CONSTANTS
from kernelwright.search.moves.every_language.sweep_parameters import MOST, MOVE
from kernelwright.search.moves.every_language.tune_constants import MOVE as TUNE_CONSTANTS
from kernelwright.search.tuning import Judged, tune, tuning_of

SOURCE = """
#define TILE 32
constexpr int kUnroll = 4;
__global__ void scale(const float* x, float* y) {
  for (int i = 0; i < TILE; i += kUnroll) y[i] = x[i] * ROWS;
}
"""
PLAN: dict[str, Any] = {
    "defines": {"ROWS": 8},
    "steps": [{"launch": "scale", "grid": "ROWS", "block": "WARPS * 32"}],
}


def state(values: dict[str, tuple[int, ...]] | None = None, **spec: Any) -> State:
    shared: dict[str, Any] = {
        "name": "scale",
        "kernel": {"kernel_type": "cuda", "source_code": SOURCE, "plan": PLAN}
        | {"metadata": {"kernel_name": "scale"}},
        "io": {
            "arguments": [
                {"name": "x", "role": "input", "dtype": "float32", "shape": [64]},
                {"name": "y", "role": "output", "dtype": "float32", "shape": [64]},
            ]
        },
        "workloads": [{"name": "w", "symbols": {}}],
        "parameters": {n: {"values": v} for n, v in (values or {"WARPS": (1, 2, 4)}).items()},
        "reference": "baseline",
    }
    made = KernelSpec.model_validate({**shared, **spec})
    return State("cuda", SOURCE, {}, BuildOptions(), made)


def candidate(**changes: Any) -> Candidate:
    return Candidate.model_validate({"method": "tune", "detail": "tiles", **changes})


KNOBS = {"WARPS": (1, 4), "ROWS": (8, 16), "TILE": (16, 64), "kUnroll": (2,)}


def test_knobs_are_parameters_numbers_of_the_plan_and_constants_of_the_source() -> None:
    found = tuning_of(candidate(knobs=KNOBS), state())
    assert len(found.space) == 8
    assert found.start == {"WARPS": 1, "ROWS": 8, "TILE": 32, "kUnroll": 4}
    turned = found.at({"WARPS": 4, "ROWS": 16, "TILE": 64, "kUnroll": 2})
    after = apply(turned, state())
    assert after.source == SOURCE.replace("TILE 32", "TILE 64").replace("= 4;", "= 2;")
    assert after.assignment == {"WARPS": 4}
    assert after.plan is not None and after.plan["defines"] == {"ROWS": 16}
    assert turned.detail == "tiles: ROWS=16 TILE=64 WARPS=4 kUnroll=2"
    assert turned.knobs is None


def test_what_stays_as_it_is_is_no_change() -> None:
    found = tuning_of(candidate(knobs={"WARPS": (1, 2)}), state())
    turned = found.at({"WARPS": 2})
    assert (turned.source, turned.plan) == (None, None)


def test_a_template_brings_its_own_constants_and_plan() -> None:
    source = SOURCE.replace("TILE", "STEP").replace("kUnroll", "kDepth")
    plan = {**PLAN, "defines": {"ROWS": 4, "COLS": 2}}
    knobs = {"kDepth": (1, 2), "STEP": (4, 8), "COLS": (1, 2)}
    found = tuning_of(candidate(source=source, plan=plan, knobs=knobs), state())
    turned = found.at({"kDepth": 1, "STEP": 4, "COLS": 1})
    assert turned.source == source.replace("kDepth = 4", "kDepth = 1").replace("STEP 32", "STEP 4")
    assert turned.plan is not None and turned.plan["defines"] == {"ROWS": 4, "COLS": 1}


def test_constraints_leave_configurations_out() -> None:
    start = state({"WARPS": (1, 2, 4), "STEP": (1, 2)}, constraints=["WARPS * STEP <= 4"])
    found = tuning_of(candidate(knobs={"WARPS": (1, 2, 4), "STEP": (1, 2)}), start)
    assert {tuple(c) for c in found.space.configurations} == {
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
        (4, 1),
    }


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"WARP": (1, 2)}, "did you mean `WARPS`"),
        ({"nowhere": (1,)}, "no parameter, no number of the plan and no constant"),
        ({"WARPS": (1, 3)}, "WARPS cannot be 3"),
    ],
)
def test_a_knob_that_is_nowhere_or_has_an_odd_value_is_refused(
    knobs: dict[str, tuple[int, ...]], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        tuning_of(candidate(knobs=knobs), state())


@pytest.mark.parametrize("knobs", [{}, {"WARPS": ()}])
def test_a_candidate_has_knobs_with_values_or_none(knobs: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="at least one value"):
        candidate(knobs=knobs)


def test_a_sweep_turns_all_parameters_together() -> None:
    start = state({"WARPS": (1, 2, 4, 8), "STEP": (1, 2), "ONLY": (3,)})
    (proposed,) = proposals(in_use(start))
    assert proposed.knobs == {"WARPS": (1, 2, 4, 8), "STEP": (1, 2)}
    assert len(tuning_of(proposed, start).space) == 8


def test_a_sweep_of_a_large_space_stays_near_the_present_values() -> None:
    start = in_use(state({f"P{i}": tuple(range(1, 21)) for i in range(5)}))
    (proposed,) = proposals(start)
    assert proposed.knobs is not None
    sizes = [len(values) for values in proposed.knobs.values()]
    assert len(tuning_of(proposed, start).space) <= MOST
    assert max(sizes) - min(sizes) <= 1 and all(1 in values for values in proposed.knobs.values())


def test_few_combinations_are_no_sweep() -> None:
    assert isinstance(MOVE.propose(state()), NotApplicable)
    assert isinstance(MOVE.propose(in_use(state({"A": (1, 2), "B": (1, 2)}))), NotApplicable)


def test_parameters_that_nothing_has_a_use_for_are_not_swept() -> None:
    start = state({"WARPS": (1, 2, 4, 8), "LEFT_OVER": (1, 2, 3, 4)})
    assert isinstance(MOVE.propose(start), NotApplicable)


def test_constants_and_numbers_of_the_plan_are_tuned_one_by_one_and_together() -> None:
    start = replace(state(), plan=PLAN)
    (proposed,) = proposals(start, SWEEP_CONSTANTS)
    assert proposed.knobs == {
        "TILE": (8, 16, 32, 64, 128),
        "kUnroll": (1, 2, 4, 8, 16),
        "ROWS": (2, 4, 8, 16, 32),
    }
    assert len(tuning_of(proposed, start).space) == 125
    singles = proposals(start, TUNE_CONSTANTS)
    (rows,) = [c for c in singles if c.detail == "ROWS: 8 -> 16"]
    assert rows.plan == {**PLAN, "defines": {"ROWS": 16}} and rows.source is None


def test_one_constant_is_no_sweep_of_constants() -> None:
    alone = replace(state(), source="constexpr int kUnroll = 4; int f() { return kUnroll; }")
    assert isinstance(SWEEP_CONSTANTS.propose(alone), NotApplicable)


def in_use(start: State) -> State:
    """The state with a source that uses all parameters."""
    return replace(start, source=f"{SOURCE}// {' '.join(start.spec.parameters)}\n")


def proposals(start: State, move: Move = MOVE) -> tuple[Candidate, ...]:
    found = move.propose(start)
    assert not isinstance(found, NotApplicable)
    return found


def speedup(made: Candidate) -> float:
    """Best at WARPS=4, TILE=64."""
    values = made.parameters or {}
    tile = 64 if made.source and "TILE 64" in made.source else 32
    return values.get("WARPS", 1) ** 0.5 * (2 if tile == 64 else 1)


def tuned(knobs: dict[str, tuple[int, ...]], at_once: int = 1, builds: int = 6) -> list[Candidate]:
    """What is tried; every configuration costs a build, but the first one is known."""
    start = tuning_of(candidate(knobs=knobs), state())
    run = tune(start, start.space, builds=builds, at_once=at_once, seed=1)
    tried, batch = list[Candidate](), next(run)
    try:
        while True:
            assert len(batch) <= at_once
            costs = [int(bool(tried or position)) for position in range(len(batch))]
            tried += batch
            judged = [Judged(speedup(c), cost) for c, cost in zip(batch, costs, strict=True)]
            batch = run.send(judged)
    except StopIteration:
        return tried


def test_a_candidate_is_tuned_from_where_it_stands_until_its_builds_are_spent() -> None:
    knobs = {"WARPS": (1, 2, 4), "TILE": (8, 16, 32, 64)}
    tried = tuned(knobs)
    assert tried[0] == tuning_of(candidate(knobs=knobs), state()).at({"WARPS": 1, "TILE": 32})
    assert len(tried) == 7 and len({c.detail for c in tried}) == 7
    assert tried == tuned(knobs)


def test_a_small_space_is_tried_whole_and_the_best_is_found() -> None:
    tried = tuned({"WARPS": (1, 2, 4), "TILE": (32, 64)}, at_once=4, builds=20)
    assert len(tried) == 6
    assert max(map(speedup, tried)) == 4


def test_knobs_that_may_not_stay_as_they_are_begin_elsewhere() -> None:
    assert "TILE=32" not in tuned({"TILE": (8, 16)})[0].detail


def test_configurations_that_cost_nothing_come_to_an_end() -> None:
    start = tuning_of(candidate(knobs={"TILE": tuple(range(1, 200))}), state())
    run = tune(start, start.space, builds=3, at_once=2, seed=0)
    asked, batch = 0, next(run)
    with pytest.raises(StopIteration):
        while True:
            asked += len(batch)
            batch = run.send([Judged(None, 0)] * len(batch))
    assert asked == 12
