"""What a call of `search_step` counts as a step and lists."""

from __future__ import annotations

from kernelwright.runners.model import Ending
from kernelwright.search.stored.records import StepReport
from kernelwright.tools.parts.search_answer import LISTED, Made


def report(step: int, *, duplicate: bool = False) -> StepReport:
    return StepReport(
        search_id="s",
        step=step,
        parent="v0",
        variant_id=f"v{step}",
        method="tune_constants",
        detail="",
        changed="TILE=32",
        ending=Ending.faster,
        message="",
        speedup=2.0,
        interval=(1.9, 2.1),
        became_incumbent=False,
        duplicate=duplicate,
        builds=step,
        budget=50,
    )


def test_what_rules_found_again_is_counted_apart_and_not_listed() -> None:
    made = Made()
    added = [made.add(report(n, duplicate=n == 2), asked_for=False) for n in (1, 2, 3)]
    assert added == [True, False, True]
    assert [step.step for step in made.steps] == [1, 3]
    assert (made.known, made.left_out) == (1, 0)


def test_what_a_client_asked_for_is_told_though_it_was_known() -> None:
    made = Made()
    assert made.add(report(1, duplicate=True), asked_for=True)
    (step,) = made.steps
    assert step.duplicate
    assert made.known == 0


def test_more_steps_than_a_reply_lists_are_counted() -> None:
    made = Made()
    for number in range(LISTED + 3):
        made.add(report(number), asked_for=False)
    assert [step.step for step in made.steps] == list(range(3, LISTED + 3))
    assert made.left_out == 3
