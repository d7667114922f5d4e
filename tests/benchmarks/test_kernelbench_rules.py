"""What problems in KernelBench's form come to together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def solved(accepted: bool, theirs: float, ours: float) -> dict[str, Any]:
    scores = [{"beside": "eager", "theirs": theirs, "ours": {"speedup": ours}}]
    return {"ended": "well", "solved": {"accepted": accepted, "seconds": 3.0, "scores": scores}}


def test_fast_1_is_of_all_problems_and_the_mean_of_those_that_are_right(
    script: Callable[[str], Any],
) -> None:
    module = script("kernelbench_rules")
    problems = {
        "fast": solved(True, 4.0, 2.0),
        "slow": solved(True, 0.25, 0.5),
        "wrong": solved(False, 9.0, 9.0),
        "late": {"ended": "by its limit of 110 s"},
        "none": {"ended": "well", "solved": {"accepted": False, "seconds": 9, "nothing": "why"}},
    }
    told: dict[str, Any] = {
        "problems": problems,
        "summary": {
            side: {
                rules: module.summary(list(problems.values()), side, rules)
                for rules in module.RULES
            }
            for side in module.SIDES
        },
    }
    theirs = told["summary"]["eager"]["theirs"]
    assert (theirs["fast_1"], theirs["right"], theirs["problems"]) == (0.2, 2, 5)
    assert theirs["unchanged"] == 1
    assert theirs["geometric_mean"] == pytest.approx(1.0)
    assert told["summary"]["compiled"]["ours"]["geometric_mean"] == 1
    lines = module.table(told).splitlines()
    assert lines[1].startswith("fast") and "4.000x" in lines[1] and "2.000x" in lines[1]
    assert lines[4].split()[0] == "late" and "by its limit of 110 s" in lines[4]
    assert lines[5].split()[0] == "none" and "why" in lines[5]
    assert "fast_1 0.20, geometric mean 1.000x (2 of 5 right, 1 unchanged)" in lines[6]
