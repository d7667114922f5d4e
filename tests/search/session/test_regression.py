"""When a later source counts as slower than an earlier one."""

from __future__ import annotations

import pytest

from kernelwright.runners.model import Comparison, Judgement, Ratio
from kernelwright.search.session.regression import Verdict, verdict_of
from kernelwright.store.records import Confirmation

SLOWER = (0.8, 0.78, 0.82, "slower")
FASTER = (1.3, 1.2, 1.4, "faster")
TIE = (1.0, 0.99, 1.01, "tie")
OPEN = (0.9, 0.5, 1.6, "unstable")
Figure = tuple[float, float, float, Judgement]


def comparison(figure: Figure) -> Comparison:
    speedup, low, high, judgement = figure
    ratio = Ratio(over="vold", speedup=speedup, low=low, high=high, judgement=judgement)
    return Comparison(
        candidate="vnew", ratios=(ratio,), workloads=(), resolution=0.01, samples=9, seconds=1.0
    )


def confirmation(visible: Figure, held_out: Figure | None, *, right: bool = True) -> Confirmation:
    return Confirmation(
        variant_id="vnew",
        right=right,
        gates=(),
        visible=comparison(visible),
        held_out=None if held_out is None else comparison(held_out),
        accepted=False,
        message="",
    )


@pytest.mark.parametrize(
    ("visible", "held_out", "verdict"),
    [
        (SLOWER, None, Verdict.slower),
        (FASTER, SLOWER, Verdict.slower),  # a gain on one shape does not pay for a loss on another
        (FASTER, TIE, Verdict.not_slower),
        (TIE, None, Verdict.not_slower),
        (TIE, OPEN, Verdict.open),
    ],
)
def test_the_worst_of_visible_and_held_out_workloads_decides(
    visible: Figure, held_out: Figure | None, verdict: Verdict
) -> None:
    assert verdict_of(confirmation(visible, held_out), 0.0) is verdict


def test_a_loss_within_what_is_allowed_is_none() -> None:
    assert verdict_of(confirmation(SLOWER, None), 0.25) is Verdict.not_slower
    assert verdict_of(confirmation(SLOWER, None), 0.15) is Verdict.slower


def test_a_source_that_is_wrong_under_confirmation_failed_however_fast_it_is() -> None:
    assert verdict_of(confirmation(FASTER, None, right=False), 0.0) is Verdict.failed
