"""What an evaluation says of a measured candidate."""

from __future__ import annotations

import pytest

from kernelwright.evaluation.attempt import describe
from kernelwright.evaluation.one_evaluation import shares_noise
from kernelwright.runners.model import Comparison, Ending, Evaluation, Judgement, Ratio


def ratio(low: float, high: float, judgement: Judgement) -> Ratio:
    return Ratio(over="v", speedup=(low + high) / 2, low=low, high=high, judgement=judgement)


def test_a_tie_far_from_one_names_the_resolution_that_made_it_one() -> None:
    told = describe(ratio(1.3, 1.5, "tie"), "the baseline", 0.25)
    assert told == (
        "1.4x the baseline (1.3 to 1.5, tie: differences up to 25 % are not told apart here)"
    )
    assert "up to 25 %" in describe(ratio(0.7, 0.9, "unstable"), "the baseline", 0.25)


def evaluated(ending: Ending) -> Evaluation:
    timed = Comparison(
        candidate="v", ratios=(), workloads=(), resolution=0.01, samples=0, seconds=0.0
    )
    return Evaluation(
        evaluation_id="v/0001",
        variant_id="v",
        kernel_id="k",
        ending=ending,
        tier="native",
        message="",
        comparison=timed if ending.measured else None,
    )


def test_noise_is_shared_by_who_was_not_measured_yet() -> None:
    noise = evaluated(Ending.unstable)
    assert shares_noise(None, noise)
    assert shares_noise(evaluated(Ending.lost), noise)
    assert not shares_noise(noise, noise), "asked for once more, it is measured anew"
    assert not shares_noise(None, None)
    assert not shares_noise(None, evaluated(Ending.lost)), "a process that ended is no measurement"


@pytest.mark.parametrize(
    ("low", "high", "judgement"), [(0.99, 1.01, "tie"), (1.3, 1.5, "faster"), (0.5, 0.6, "slower")]
)
def test_what_explains_itself_is_told_without_it(
    low: float, high: float, judgement: Judgement
) -> None:
    told = describe(ratio(low, high, judgement), "the incumbent", 0.25)
    assert told.endswith(f"({low:.3g} to {high:.3g}, {judgement})")
