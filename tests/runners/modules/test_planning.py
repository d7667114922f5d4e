"""Which rungs a ladder has: each once, consent asked for, the slow ones only where wanted."""

from __future__ import annotations

import pytest

from kernelwright.runners.errors import SpecError
from kernelwright.runners.modules.ladder.planning import ordered, rungs_of
from kernelwright.runners.modules.steps import BY_NAME, STEPS
from kernelwright.tools.parts.models.asked import precisions, rungs_named


def test_a_ladder_begins_with_eager_and_has_no_rung_twice() -> None:
    rungs = rungs_of(STEPS, ("tf32", "bf16"))
    assert rungs[0] == ()
    assert len(set(rungs)) == len(rungs)


def test_no_rung_changes_numbers_without_consent() -> None:
    used = {name for rung in rungs_of(STEPS, ()) for name in rung}
    assert not [name for name in used if BY_NAME[name].consent]
    assert any("bf16" in rung for rung in rungs_of(STEPS, ("bf16",)))


def test_slow_steps_are_left_out_until_they_are_asked_for() -> None:
    assert not any("autotune" in rung for rung in rungs_of(STEPS, ()))
    assert any("autotune" in rung for rung in rungs_of(STEPS, (), slow=True))


def test_steps_of_a_rung_are_applied_in_one_order() -> None:
    assert ordered({"graphs", "compile", "bf16"}) == ("bf16", "compile", "graphs")
    assert rungs_named(["graphs+compile", "compile+graphs", "eager"]) == (
        ("compile", "graphs"),
        (),
    )


def test_unknown_steps_and_precisions_are_refused_with_the_known_ones() -> None:
    with pytest.raises(SpecError, match="compile"):
        rungs_named(["fast"])
    with pytest.raises(SpecError, match="bf16"):
        precisions("fp8")
