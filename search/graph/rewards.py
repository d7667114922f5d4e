"""What a variant is worth by itself: a reward for its speedup, with the ends of its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from ...runners.model import Ending
from ..settings import RewardName, Settings


class Worth(NamedTuple):
    """A value and the ends of its 95 % interval: low <= value <= high."""

    low: float
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class Rewards:
    """A scale: the reward of a speedup over the baseline, the way back, and that of a failure."""

    of: Callable[[float, Settings], float]
    """increasing, and above `failure` for every speedup"""
    back: Callable[[float], float]
    failure: Callable[[Settings], float]


def reward_of(
    ending: Ending, speedup: float | None, interval: tuple[float, float] | None, settings: Settings
) -> Worth:
    """The reward of a variant by the search's scale, and those of the ends of its interval.

    An `unstable` variant counts with the low end, so that noise attracts nobody. What was never
    measured failed: any success is above every failure.
    """
    scale = REWARDS[settings.rewards]
    if not ending.measured or speedup is None:
        failure = scale.failure(settings)
        return Worth(failure, failure, failure)
    low, high = interval or (speedup, speedup)
    trusted = low if ending is Ending.unstable else speedup
    of = scale.of
    least, most = min(low, trusted), max(high, trusted)
    return Worth(of(least, settings), of(trusted, settings), of(most, settings))


def failure_of(settings: Settings) -> float:
    """The reward of a failure."""
    return REWARDS[settings.rewards].failure(settings)


def speedup_of(reward: float, settings: Settings) -> float:
    """The speedup over the baseline that has this reward."""
    return REWARDS[settings.rewards].back(reward)


def least_gain(settings: Settings) -> float:
    """What `min_gain` over the baseline is worth: closer rewards are not told apart."""
    scale = REWARDS[settings.rewards]
    return max(scale.of(1 + settings.min_gain, settings) - scale.of(1.0, settings), 1e-9)


def _log2(speedup: float, settings: Settings) -> float:
    return math.log2(max(speedup, 2.0 ** (settings.failure_reward + 1)))


def _regrapht(speedup: float, _: Settings) -> float:
    return speedup if speedup >= 1 else max(speedup - 1, -1 + 2**-10)


def _regrapht_back(reward: float) -> float:
    return reward if reward >= 1 else reward + 1


REWARDS: Final[Mapping[RewardName, Rewards]] = {
    "log2": Rewards(_log2, lambda reward: 2.0**reward, lambda settings: settings.failure_reward),
    "regrapht": Rewards(_regrapht, _regrapht_back, lambda _: -1.0),
}
"""`log2`: gains of successive moves add up, and a factor of two weighs the same both ways.
`regrapht`: speedup - 1 for what is slower than the baseline, the speedup else, -1 for a failure
(ReGraphT, arXiv 2510.19873); it jumps by 1 at the baseline, and the largest weigh most."""
