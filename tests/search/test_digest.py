"""A kernel's memory in short."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.model import Ending
from kernelwright.search.digest import MOST, digest, taught
from kernelwright.search.memory import Lesson

WORDS = "num_warps=4 -> num_warps=8"


def tried(
    method: str = "tune_parameters",
    gain: float | None = None,
    *,
    detail: str = WORDS,
    parent: str = "v1",
    lesson: str = "",
) -> Lesson:
    """One try; without a gain it failed."""
    return Lesson(
        kernel_id="k",
        parent=parent,
        change=f"{method} {detail}",
        method=method,
        detail=detail,
        changed="num_warps=8",
        ending=Ending.wrong if gain is None else Ending.faster if gain > 0 else Ending.slower,
        gain=gain,
        lesson=lesson,
    )


def test_what_gained_in_most_states_works_and_what_never_did_does_not() -> None:
    lessons = [tried(gain=0.5, parent="v1"), tried(gain=0.2, parent="v2")]
    lessons += [tried(gain=-0.1, parent="v3")]
    lessons += [tried("cache_policy_cg", parent=f"v{n}", lesson="gate is_right") for n in (1, 2)]
    lessons += [tried("increase_ilp", -0.2, detail="2 sums")]
    told = digest(taught(lessons))
    assert told["works"] == (
        f"tune_parameters num_warps=8: 2 of 3 tries gained, {100 * (2**0.5 - 1):+.1f} % at most",
    )
    assert told["does not work"] == (
        "cache_policy_cg num_warps=8: 0 of 2 tries gained, 2 failed (gate is_right)",
    )
    assert told["open"] == ("increase_ilp 2 sums: 0 of 1 try gained, -12.9 % at most",)


def test_the_same_change_of_the_same_state_in_two_searches_is_one_try() -> None:
    (only,) = taught([tried(gain=0.5), tried(gain=0.5)])
    assert only.times == 1


def test_a_long_list_says_how_much_was_left_out() -> None:
    lessons = [tried(f"idea_{n}", 0.1 * n, parent="v") for n in range(1, MOST + 4)]
    lines = digest(taught(lessons))["works"]
    assert len(lines) == MOST + 1 and lines[-1] == "and 3 more"
    assert lines[0].startswith(f"idea_{MOST + 3} "), "the largest gain first"


GAINS = st.one_of(st.none(), st.floats(-3, 3))


@given(st.lists(st.tuples(st.sampled_from("abc"), GAINS, st.sampled_from("xyz")), max_size=30))
def test_every_try_counts_once_whatever_came_of_it(
    tries: list[tuple[str, float | None, str]],
) -> None:
    lessons = [tried(m, g, parent=p) for m, g, p in tries]
    found = taught(lessons)
    assert sum(each.times for each in found) == len({(m, p) for m, _, p in tries})
    for each in found:
        assert each.better + each.failed <= each.times
        assert each.gain is None or math.isfinite(each.gain)
