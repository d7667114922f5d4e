"""Parameters that are found in a declared plan: blocks and grids in numbers."""

from __future__ import annotations

from typing import Any

import pytest
from declared_plans import ROWS, contract, launch_of, spec, step, steps
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.inferring.found_parameters import Found, find_parameters, tuned
from kernelwright.runners.plans.declared_plan import declared_plan, resolve
from kernelwright.runners.plans.plan import LaunchPlan
from kernelwright.runners.specs.expressions import cdiv

SMS = 132


LINEAR = "__global__ void scale(...) { int i = blockIdx.x * blockDim.x + threadIdx.x; }"
LOOP = "__global__ void scale(...) { for (i = id; i < n; i += gridDim.x * blockDim.x) }"


def found_in(source: str, plan: dict[str, Any], taken: tuple[str, ...] = ()) -> Found:
    return find_parameters(declared_plan(spec(plan=plan).kernel), source, SMS, taken)


def retuned(source: str, plan: dict[str, Any], **values: int) -> LaunchPlan:
    made = spec(plan=plan)
    declared = declared_plan(made.kernel)
    found = find_parameters(declared, source, SMS, ())
    starts = {name: p.start for name, p in found.parameters.items()} | values
    return resolve(tuned(declared, found, starts), contract(made), {"TILE": 4} | starts)


def test_a_block_in_numbers_is_a_parameter() -> None:
    (name, parameter), *others = found_in(LINEAR, steps(step(block=96))).parameters.items()
    assert (name, parameter.start) == ("block_x", 96)
    assert parameter.values == (32, 64, 96, 128, 256, 512, 1024)
    assert not others


def test_each_axis_of_a_block_is_a_parameter() -> None:
    found = found_in(LINEAR, steps(step(block=[16, 12]))).parameters
    assert list(found) == ["block_x", "block_y"]
    assert found["block_y"].values == (1, 2, 4, 8, 12, 16, 32, 64)


def test_a_block_of_expressions_is_left_to_its_own_parameters() -> None:
    assert not found_in(LINEAR, steps(step(block=["32 * TILE"]))).parameters


def test_with_several_launches_parameters_carry_the_kernels_name() -> None:
    plan = steps(step(), step(launch="ns::last<float>", block=32), step(), step(block=64))
    assert list(found_in(LINEAR, plan).parameters) == [
        "scale_block_x",
        "last_block_x",
        "scale_2_block_x",
    ]


def test_a_name_that_is_taken_is_not_found_again() -> None:
    assert not found_in(LINEAR, steps(step()), taken=("block_x",)).parameters


def test_a_grid_in_numbers_is_a_parameter_only_where_the_kernel_loops_over_it() -> None:
    plan = steps(step(grid=100))
    assert found_in(LOOP, plan).parameters["grid_x"].values == (100, 132, 264, 528, 1056, 2112)
    assert "grid_x" not in found_in(LINEAR, plan).parameters


def test_another_grid_is_taken_as_it_is() -> None:
    plan = retuned(LOOP, steps(step(grid=100)), grid_x=264, block_x=256)
    assert (launch_of(plan).grid, plan.kernels[0].block) == ((264, 1, 1), (256, 1, 1))


@pytest.mark.parametrize("grid", [8, "cdiv(n, 128)", "cdiv(n, block_x)"])
def test_the_number_of_threads_stays_when_the_block_changes(grid: int | str) -> None:
    plan = retuned(LINEAR, steps(step(grid=grid)), block_x=32)
    assert (launch_of(plan).grid[0], plan.kernels[0].block[0]) == (32, 32)


def test_a_grid_of_one_block_a_row_stays_when_the_block_changes() -> None:
    assert launch_of(retuned(ROWS, steps(step(grid="n")), block_x=32)).grid[0] == 1000


@given(st.integers(1, 1 << 16), st.sampled_from([32, 64, 128, 256, 512, 1024]))
def test_a_rescaled_grid_covers_all_threads_and_no_whole_block_more(grid: int, block: int) -> None:
    made = launch_of(retuned(LINEAR, steps(step(grid=grid)), block_x=block)).grid[0]
    assert made == cdiv(grid * 128, block)


def test_template_arguments_follow_a_found_block() -> None:
    plan = retuned(LINEAR, steps(step(launch="scale<block_x>")), block_x=64)
    assert plan.kernels[0].entry == "scale<64>"
