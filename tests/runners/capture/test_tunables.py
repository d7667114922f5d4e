"""Tunables of a captured source: options of a launch, constants, configurations of autotune."""

from __future__ import annotations

import pytest
from capture_forks import CASES, Forks
from captures import HEADER, KERNEL, MISSING, TUNED, XY, XYN, params, plan_of

from kernelwright.runners.plans.plan import Launch, TensorMapParam

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


def test_options_of_a_launch_are_tunables_and_a_value_overrides_them(forks: Forks) -> None:
    found = forks.case_again(CASES / "ok" / "destination.py", parameters={"num_warps": 8})
    warps = found.parameters["num_warps"]
    assert (warps.values, warps.default) == ((1, 2, 4, 8, 16), 4)
    assert plan_of(found).kernels[0].block == (256, 1, 1)


def test_an_option_that_follows_a_parameter_is_no_second_tunable(forks: Forks) -> None:
    launch = {"grid": ["cdiv(n, BLOCK)"], "num_warps": "WARPS", "constexprs": {"BLOCK": 128}}
    given = {"launch": launch, "parameters": {"WARPS": 2}}
    found = forks.capture(HEADER + KERNEL, XYN, **given)
    assert set(found.parameters) == {"num_stages"}
    assert plan_of(found).kernels[0].block == (64, 1, 1)


def test_a_tunable_parameter_may_be_a_constexpr_and_stand_in_the_grid(forks: Forks) -> None:
    launch = {"grid": ["cdiv(n, BLOCK)", 1]}
    found = forks.capture(HEADER + KERNEL, XYN, launch=launch, parameters={"BLOCK": 64})
    assert plan_of(found).launches[0].grid == (16, 1, 1)


def test_autotune_configurations_become_parameters(forks: Forks) -> None:
    found = forks.capture(TUNED, XYN, launch={"grid": ["cdiv(n, BLOCK)"]})
    ranges = {name: (p.values, p.start) for name, p in found.parameters.items()}
    assert ranges == {
        "BLOCK": ((128, 512), 512),
        "num_warps": ((4, 8), 8),
        "num_stages": ((1, 2, 3, 4, 5), 2),
    }
    assert found.configurations == (
        {"BLOCK": 512, "num_warps": 8, "num_stages": 2},
        {"BLOCK": 128, "num_warps": 4, "num_stages": 2},
    )
    plan = plan_of(found)
    assert [type(s) for s in plan.steps] == [Launch]  # resetting belongs to tuning
    assert (plan.launches[0].grid, plan.kernels[0].block) == ((2, 1, 1), (256, 1, 1))


def test_one_launch_uses_the_configuration_that_the_values_make_up(forks: Forks) -> None:
    given = {"BLOCK": 128, "num_warps": 2}
    found = forks.capture(TUNED, XYN, launch={"grid": ["cdiv(n, BLOCK)"]}, parameters=given)
    plan = plan_of(found)
    assert (plan.launches[0].grid, plan.kernels[0].block) == ((8, 1, 1), (64, 1, 1))
    assert found.tried == {"run: BLOCK=128 num_stages=2 num_warps=2": "fits"}


def test_two_autotuners_with_one_name_are_told_apart_by_their_kernels(forks: Forks) -> None:
    tuned = TUNED.replace("def run(", "def first(").removeprefix(HEADER)
    second = tuned.replace("def first(", "def second(")
    call = "def run(x, y):\n" + "".join(
        f"    {name}[lambda meta: (meta['BLOCK'],)](x, y, 1000)\n" for name in ("first", "second")
    )
    given = {"first__BLOCK": 128}
    found = forks.capture(HEADER + tuned + second + call, XY, parameters=given)
    assert {"first__BLOCK", "second__BLOCK", "second__num_warps"} <= set(found.parameters)
    assert [s.grid[0] for s in plan_of(found).launches] == [128, 512]


def test_a_configuration_that_does_not_fit_says_what_it_needs(forks: Forks) -> None:
    given = {"num_stages": 5, "BLOCK": 128}
    found = forks.case_again(CASES / "ok" / "host_descriptor.py", parameters=given)
    assert found.kind == "does_not_fit"
    assert "shared memory" in found.refusal
    assert "Hardware limit: 232448" in found.refusal
    assert ["OutOfResources" in text for text in found.tried.values()] == [True]


def test_hooks_of_a_configuration_are_kept(forks: Forks) -> None:
    found = forks.case_again(CASES / "ok" / "host_descriptor.py", parameters={"BLOCK": 128})
    tensor_map = params(plan_of(found))["a"]
    assert isinstance(tensor_map, TensorMapParam)
    assert tensor_map.box == (64, 128)  # a row of 128 bytes is as wide as a box can be


def test_pruning_of_configurations_is_left_out_and_said_so(forks: Forks) -> None:
    pruned = TUNED.replace('key=["n"],', 'key=["n"], prune_configs_by={"perf_model": max},')
    found = forks.capture(pruned, XYN, launch={"grid": ["cdiv(n, BLOCK)"]})
    assert found.plan is not None
    assert found.warnings == (
        "prune_configs_by of run is left out: any configuration can be chosen",
    )
