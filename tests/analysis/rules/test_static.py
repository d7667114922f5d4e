"""Launches that were not run: what plan, compiler and device say of them, and what stays open."""

from __future__ import annotations

import pytest
from static_plans import FACTS, H100, plan

from kernelwright.analysis.profile import names as n
from kernelwright.analysis.rules.findings import findings
from kernelwright.analysis.rules.static import static_profile
from kernelwright.runners.model import KernelFacts
from kernelwright.runners.profiling.model import KernelProfile


def only(grid: int, facts: KernelFacts = FACTS, block: int = 256) -> KernelProfile:
    profile = static_profile(plan(grid, block=block), [facts], H100)
    assert profile is not None and len(profile.launches) == 1
    return profile.launches[0]


def fired(*grids: int) -> list[str]:
    return [f.rule for f in findings(static_profile(plan(*grids), [FACTS], H100)).ranked]


def test_waves_and_limits_have_the_names_of_their_metrics() -> None:
    launch = only(132 * 8 * 2)
    assert launch.number(n.WAVES) == 2
    assert launch.number(n.THEORETICAL) == 100
    assert (launch.number(n.LIMIT_WARPS), launch.number(n.LIMIT_REGISTERS)) == (8, 8)
    assert (launch.number(n.REGISTERS), launch.number(n.SHARED)) == (32, 1024)


def test_a_grid_that_leaves_multiprocessors_without_work_is_found() -> None:
    assert fired(20) == ["low_waves_per_sm"]


def test_a_last_wave_with_few_blocks_is_found() -> None:
    assert fired(132 * 8 + 8) == ["tail_effect"]
    assert fired(132 * 8 * 2) == []


def test_what_only_counters_tell_is_unknown() -> None:
    found = findings(static_profile(plan(500), [FACTS], H100))
    unknown = {each.rule for each in found.unknown}
    assert {"severe_memory_bound", "poor_coalescing", "register_spill", "hot_line"} <= unknown
    assert found.bottleneck.kind == "unknown"


def test_a_kernel_of_which_the_compiler_told_nothing_has_its_grid_alone() -> None:
    launch = only(500, KernelFacts(entry="other", registers=32))
    assert set(launch.metrics) == {n.GRID, n.SMS}
    assert set(only(500, KernelFacts(entry="k")).metrics) == {n.GRID, n.SMS, n.SHARED}


@pytest.mark.parametrize("shape", ["w", "other"])
def test_facts_are_those_of_the_shape_that_is_launched(shape: str) -> None:
    launch = only(500, FACTS.model_copy(update={"shapes": (shape,)}))
    assert (launch.number(n.REGISTERS) == 32) is (shape == "w")


def test_a_plan_without_launches_has_no_profile() -> None:
    assert static_profile(plan(), [FACTS], H100) is None
