"""The first difference of two launch plans, told in words."""

from __future__ import annotations

from typing import Any

import pytest

from kernelwright.runners.plans.plan import LaunchPlan
from kernelwright.runners.toolchains.plan_difference import plan_difference


def plan_with(**changes: Any) -> LaunchPlan:
    scalar = {"arg": "a", "type": "float32", "value": 0.46, "raw": "1f85eb3e"}
    pointer = {"arg": "p", "type": "ptr", "buffer": "x"}
    return LaunchPlan.model_validate(
        {
            "label": "main",
            "kernels": [{"id": "k0", "entry": "k", "sha256": "0"}],
            "buffers": [{"name": "x", "role": "argument", "nbytes": 4, "align": 16}],
            "steps": [
                {"fill": "x", "offset": 0, "nbytes": 4, "pattern": "00"},
                {"launch": "k0", "grid": (1, 1, 1), "params": [pointer, scalar]} | changes,
            ],
            "outputs": [],
        }
    )


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"grid": (2, 1, 1)}, "step 1, grid: (1, 1, 1) against (2, 1, 1)"),
        (
            {
                "params": [
                    {"arg": "p", "type": "ptr", "buffer": "x", "offset": 4},
                    {"arg": "a", "type": "float32", "value": 0.1, "raw": "cdcccc3d"},
                ]
            },
            "step 1, argument p: x+0 against x+4",
        ),
        ({"params": []}, "step 1, 2 parameters against 0"),
    ],
)
def test_the_first_difference_of_two_plans_is_told(other: dict[str, Any], words: str) -> None:
    assert plan_difference(plan_with(), plan_with()) is None
    assert plan_difference(plan_with(), plan_with(**other)) == words


def test_differences_beside_the_steps_are_told() -> None:
    plan = plan_with()
    shorter = plan.model_copy(update={"steps": plan.steps[:1]})
    assert plan_difference(plan, shorter) == "2 steps against 1"
    renamed = plan.model_copy(update={"kernels": ()})
    assert (plan_difference(plan, renamed) or "").startswith("kernels: id='k0'")
