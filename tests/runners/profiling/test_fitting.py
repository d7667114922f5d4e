"""Whether the launches of a report are those of a plan."""

from __future__ import annotations

from typing import Any

import pytest
from profiles import launch, run
from real_reports import known_profile, needs_reader

from kernelwright.runners.plans.plan import Launch, LaunchPlan, PlanKernel
from kernelwright.runners.profiling.fitting import CLUSTER, DYNAMIC, launched, launches_of, misfit

ALIKE = (1024, 1, 1)
"""the grid of `profiles.launch`, whose blocks have 256 threads"""


def plan(*grids: tuple[int, int, int], **kernel: Any) -> LaunchPlan:
    """Launches of the kernel `k` with these grids."""
    kernel = {"entry": "k", "block": (256, 1, 1), **kernel}
    return LaunchPlan(
        label="main",
        kernels=(PlanKernel(id="k0", sha256="00", **kernel),),
        buffers=(),
        steps=tuple(Launch(launch="k0", grid=grid, params=()) for grid in grids),
        outputs=(),
    )


def test_launches_of_a_report_are_the_plans_by_kernel_and_shape() -> None:
    other = launch({}, kernel="other")
    assert launches_of(plan((7, 1, 1), ALIKE), run(other, launch({}), other, launch({}))) == (1, 3)
    assert launches_of(plan((7, 1, 1)), run(other, launch({}))) == ()


def test_what_is_told_of_a_misfit_is_of_the_plans_kernel_where_it_was_launched() -> None:
    once = run(launch({}), launch({}))
    assert not misfit(once, plan((7, 1, 1), ALIKE))
    assert misfit(once, plan((7, 1, 1))) == "`k` with grid 1024x1x1, not 7x1x1"
    other = launch({}, kernel="other")
    assert misfit(run(other, launch({})), plan(ALIKE)) == "`other` is not launched"
    assert misfit(run(other, launch({})), plan((7, 1, 1))).startswith("`k` with grid")


@pytest.mark.parametrize(
    ("metrics", "kernel", "words"),
    [
        ({DYNAMIC: 4096}, {"shared": 4096}, ""),
        ({DYNAMIC: 0}, {"shared": 4096}, "0 bytes of dynamic shared memory, not 4096"),
        ({}, {"shared": 4096}, ""),
        (dict.fromkeys(CLUSTER, 0), {"cluster": (2, 1, 1)}, "cluster 1x1x1, not 2x1x1"),
        (dict.fromkeys(CLUSTER, 0), {"cluster": (1, 1, 1)}, ""),
        (dict.fromkeys(CLUSTER, 2), {}, ""),
    ],
)
def test_shared_memory_and_clusters_must_be_the_plans_where_both_say_them(
    metrics: dict[str, float], kernel: dict[str, Any], words: str
) -> None:
    """A plan says no cluster where the kernel has it compiled in."""
    told = misfit(run(launch(metrics)), plan(ALIKE, **kernel))
    assert told == (f"`k` with {words}" if words else "")


@needs_reader
def test_a_real_report_of_another_kernel_of_the_same_name_does_not_fit() -> None:
    naive = {"entry": "hgemm", "block": (16, 16, 1)}
    assert not misfit(known_profile("gemm_cuda_fp16"), plan((256, 256, 1), **naive))
    assert misfit(known_profile("hgemm_wgmma"), plan((256, 256, 1), **naive)) == (
        "`hgemm` with grid 132x1x1, not 256x256x1, block 384x1x1, not 16x16x1, "
        "197632 bytes of dynamic shared memory, not 0"
    )


def test_a_plan_of_many_launches_is_told_in_a_few_words() -> None:
    told = launched(plan(*((n, 1, 1) for n in (1, 1, 2, 3, 4, 5, 6, 7)), shared=32))
    assert told.count("`k`") == 5 and told.endswith(" and 2 more")
    assert told.startswith("`k` with grid 1x1x1, block 256x1x1, 32 bytes of dynamic shared memory;")
