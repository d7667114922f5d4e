from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.model import Ending
from kernelwright.search.graph.rewards import REWARDS, least_gain, reward_of, speedup_of
from kernelwright.search.settings import RewardName, Settings

SETTINGS = Settings()
REGRAPHT = Settings(rewards="regrapht")


def test_every_reward_name_has_a_scale() -> None:
    assert set(REWARDS) == set(get_args(RewardName))


def test_twice_as_fast_and_half_as_fast_weigh_the_same() -> None:
    assert reward_of(Ending.faster, 2.0, None, SETTINGS).value == 1.0
    assert reward_of(Ending.slower, 0.5, None, SETTINGS).value == -1.0


def test_the_ends_of_the_interval_have_their_own_rewards() -> None:
    assert reward_of(Ending.faster, 2.0, (1.0, 4.0), SETTINGS) == (0.0, 1.0, 2.0)
    assert reward_of(Ending.faster, 2.0, (1.5, 3.0), REGRAPHT) == (1.5, 2.0, 3.0)


def test_an_unstable_measurement_counts_with_its_low_end() -> None:
    assert reward_of(Ending.unstable, 3.0, (0.5, 8.0), SETTINGS) == (-1.0, -1.0, 3.0)
    assert reward_of(Ending.tie, 1.0, (0.5, 2.0), SETTINGS).value == 0.0


def test_regrapht_counts_speedups_and_takes_one_off_what_is_slower() -> None:
    found = {
        speedup: reward_of(Ending.slower, speedup, None, REGRAPHT).value
        for speedup in (0.25, 1.0, 3.0)
    }
    assert found == {0.25: -0.75, 1.0: 1.0, 3.0: 3.0}
    assert reward_of(Ending.wrong, None, None, REGRAPHT).value == -1.0


@pytest.mark.parametrize("name", get_args(RewardName))
@given(
    st.sampled_from([e for e in Ending if e.measured]),
    st.floats(1e-300, 1e300),
    st.floats(-1.0, 1.0),
)
def test_every_measured_variant_is_above_every_failure(
    name: RewardName, ending: Ending, speedup: float, low: float
) -> None:
    settings = Settings(rewards=name)
    success = reward_of(ending, speedup, (low, speedup), settings)
    failures = [reward_of(e, None, None, settings).value for e in Ending if not e.measured]
    assert all(math.isfinite(end) for end in success)
    assert success.low <= success.value <= success.high
    assert success.low > max(failures)


@pytest.mark.parametrize("name", get_args(RewardName))
@given(st.floats(0.01, 1e6))
def test_a_reward_leads_back_to_its_speedup(name: RewardName, speedup: float) -> None:
    settings = Settings(rewards=name)
    reward = reward_of(Ending.slower, speedup, None, settings).value
    assert math.isclose(speedup_of(reward, settings), speedup, rel_tol=1e-9)


def test_the_least_gain_is_that_of_the_scale() -> None:
    assert least_gain(Settings(min_gain=1.0)) == 1.0
    assert math.isclose(least_gain(Settings(min_gain=0.05, rewards="regrapht")), 0.05)
