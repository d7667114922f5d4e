"""How other values are dealt to the samples of a block that comes as a comparison does."""

from __future__ import annotations

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.evaluation.timed_values import LONGEST_S, Pace, samples
from kernelwright.runners.specs.io_contract import StressKind

KINDS: tuple[StressKind, ...] = ("generic", "spike", "half", "sorted", "lone", "mixed", "unknown")


def test_a_short_kernel_has_a_sample_for_each_kind_in_which_one_call_differs() -> None:
    dealt = samples(KINDS, usual=10, pace=Pace(calls=40, call_s=5e-6))
    assert dealt == tuple((10 + number,) for number in range(len(KINDS)))


def test_where_samples_are_long_several_calls_of_one_differ() -> None:
    dealt = samples(KINDS, usual=4, pace=Pace(calls=8, call_s=LONGEST_S / 24))
    assert [len(each) for each in dealt] == [3, 2, 2]


def test_a_sample_of_one_call_is_of_one_kind_and_there_are_no_more_than_there_is_time_for() -> None:
    assert samples(KINDS, usual=4, pace=Pace(calls=1, call_s=LONGEST_S / 2)) == ((4,), (5,))
    assert samples(KINDS, usual=4, pace=Pace(calls=1, call_s=60.0)) == ((4,),)


@given(st.integers(1, len(KINDS)), st.integers(1, 64), st.integers(1, 64), st.floats(1e-6, 10.0))
def test_a_call_always_has_usual_ones_beside_it_and_no_kind_comes_twice(
    kinds: int, usual: int, calls: int, call_s: float
) -> None:
    dealt = samples(KINDS[:kinds], usual, Pace(calls, call_s))
    every = list(chain(*dealt))
    assert sorted(every) == list(range(usual, usual + len(every)))
    assert 1 <= len(every) <= kinds
    assert all(len(each) < calls or (len(each), calls) == (1, 1) for each in dealt)
