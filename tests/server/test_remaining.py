"""How long a search may still take follows from the pace of its builds, and its budget of time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.search.settings import Settings
from kernelwright.server.remaining import Pace, left_text

BUILDS = Settings(budget_builds=30)
TIMED = Settings(budget_builds=30, budget_seconds=60)


def test_the_pace_of_builds_so_far_goes_on() -> None:
    pace = Pace.of(BUILDS, False, 100.0)
    assert pace.left_s(10, 30, 150.0) == 100.0
    assert pace.left_s(1, 30, 105.0) is None, "one build says nothing yet"


def test_a_budget_of_time_ends_it_earlier() -> None:
    pace = Pace.of(TIMED, False, 0.0)
    assert pace.left_s(10, 30, 50.0) == 10.0
    assert pace.left_s(0, 30, 20.0) == 40.0, "without any build"
    assert pace.left_s(20, 30, 70.0) == 0.0


def test_builds_of_an_earlier_run_do_not_make_this_one_seem_fast() -> None:
    pace = Pace.of(BUILDS, True, 0.0).after(20)
    assert pace.after(25).left_s(25, 30, 50.0) == 50.0


@given(st.floats(0, 1e5), st.integers(0, 500), st.integers(1, 500), st.floats(0, 1e5))
def test_what_is_left_is_never_below_nothing(
    began: float, builds: int, budget: int, passed: float
) -> None:
    left = Pace.of(TIMED, False, began).left_s(builds, budget, began + passed)
    assert left is None or left >= 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0.2, ""),
        (3, "about 5 s left"),
        (62, "about 60 s left"),
        (170, "about 3 min left"),
        (7200, "about 2.0 h left"),
    ],
)
def test_it_is_told_as_coarsely_as_it_is_known(seconds: float | None, text: str) -> None:
    assert left_text(seconds) == text
