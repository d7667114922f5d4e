"""What interleaved runs of a program say of it with a kernel replaced."""

from __future__ import annotations

import pytest

from kernelwright.analysis.programs.verdict import verdict
from kernelwright.runners.recording.pairs import OneRun, Paired


def runs(*costs: float, equal: bool = True, used: int = 3) -> tuple[OneRun, ...]:
    return tuple(OneRun(cost, equal, used) for cost in costs)


def paired(without: tuple[OneRun, ...], replaced: tuple[OneRun, ...]) -> Paired:
    return Paired(without, replaced, ())


def test_four_pairs_that_agree_show_a_gain() -> None:
    found = verdict(paired(runs(1.0, 1.01, 1.0, 1.01), runs(0.5, 0.505, 0.5, 0.505)))
    assert found.outcome == "faster"
    assert found.speedup == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize("pairs", [2, 3])
def test_fewer_pairs_show_none_however_much_faster_they_are(pairs: int) -> None:
    found = verdict(paired(runs(*[1.0] * pairs), runs(*[0.5] * pairs)))
    assert found.outcome == "few"
    assert "take more pairs" in found.told


def test_two_pairs_are_enough_to_refuse() -> None:
    assert verdict(paired(runs(1.0, 1.0), runs(2.0, 2.0))).outcome == "slower"
    assert verdict(paired(runs(1.0, 1.0), runs(0.5, 0.5, equal=False))).outcome == "not equal"
    assert verdict(paired(runs(1.0, 1.0), runs(0.5, 0.5, used=0))).outcome == "never used"
