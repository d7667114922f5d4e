"""Later calls of a wrapper: what of them may differ from the first, and what may not."""

from __future__ import annotations

import pytest
from capture_forks import Forks
from captures import HEADER, KERNEL, MISSING, XYN, plan_of

from kernelwright.runners.plans.plan import Fill

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
XYN_MADE = {"x": XYN["x"], "y": XYN["y"]}
ABOVE = "import itertools\n" + HEADER + KERNEL + "\nCALLS, KEPT = itertools.count(), []\n"
OWN = "    y = torch.empty_like(x)\n"
LAUNCH = "    run[({grid},)](x, y, {n}, BLOCK={block})\n    return y\n"


def wrapper(before: str = "", grid: str = "8", n: str = "1000", block: str = "128") -> str:
    launch = LAUNCH.format(grid=grid, n=n, block=block)
    return f"{ABOVE}\ndef lift(x):\n{before or OWN}{launch}"


DIFFERENT = {
    "a smaller grid": (wrapper(grid="8 - next(CALLS)"), "launch 1 is `k0` on (7, 1, 1)"),
    "another number": (wrapper(n="1000 - next(CALLS)"), "argument `n` of launch 1 is another"),
    "another kernel": (wrapper(block="128 << next(CALLS)"), "launch 1 is `k1`"),
    "memory of an earlier result": (
        wrapper("    KEPT or KEPT.append(torch.empty_like(x))\n    y = KEPT[0]\n"),
        "returns the memory of `y`",
    ),
    "only its third call": (wrapper(grid="8 - (next(CALLS) == 2)"), "call 3 of `lift`"),
    "an output that is cleared once": (
        wrapper(OWN + "    if next(CALLS) == 0:\n        y.zero_()\n"),
        "it fills other memory",
    ),
    "an error": (wrapper("    assert next(CALLS) == 0\n" + OWN), "AssertionError"),
}
ALIKE = {
    "memory of its own each time": wrapper(),
    "scratch that is kept, and unused": wrapper("    KEPT.append(torch.zeros_like(x))\n" + OWN),
    "an output that is cleared each time": wrapper("    y = torch.zeros_like(x)\n"),
    "numbers that are counted, and that no launch sees": wrapper("    next(CALLS)\n" + OWN),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_a_later_call_that_differs_is_refused(forks: Forks, what: str) -> None:
    source, words = DIFFERENT[what]
    found = forks.capture(source, XYN_MADE, entry="lift")
    assert found.plan is None and words in found.refusal


@pytest.mark.parametrize("what", ALIKE)
def test_what_does_the_same_each_time_becomes_a_plan(forks: Forks, what: str) -> None:
    plan = plan_of(forks.capture(ALIKE[what], XYN_MADE, entry="lift"))
    assert len(plan.launches) == 1


def test_the_plan_is_that_of_the_first_call_alone(forks: Forks) -> None:
    source = wrapper("    KEPT.append(torch.zeros_like(x))\n    y = torch.zeros_like(x)\n")
    assert len(plan_of(forks.capture(source, XYN_MADE, entry="lift")).steps) == 2


def test_how_many_calls_are_looked_at_is_drawn(forks: Forks) -> None:
    source = wrapper(grid="8 - (next(CALLS) == 3)")
    tries = (forks.capture(source, XYN_MADE, entry="lift").refusal for _ in range(20))
    assert any("call 4 of `lift`" in refusal for refusal in tries)


@pytest.mark.parametrize(("once", "fills"), [(True, (1, 0)), (False, (0, 1))])
def test_kept_memory_that_is_cleared_once_is_set_up_and_what_each_call_clears_is_a_step(
    forks: Forks, once: bool, fills: tuple[int, int]
) -> None:
    clears = "    KEPT or KEPT.append(torch.zeros_like(x))\n"
    again = "    KEPT or KEPT.append(torch.empty_like(x))\n    KEPT[0].zero_()\n"
    uses = "    run[(8,)](x, KEPT[0], 1000, BLOCK=128)\n"
    source = wrapper((clears if once else again) + uses + OWN)
    plan = plan_of(forks.capture(source, XYN_MADE, entry="lift"))
    steps = [step for step in plan.steps if isinstance(step, Fill)]
    assert (len(plan.setup), len(steps)) == fills
    assert len(plan.launches) == 2
