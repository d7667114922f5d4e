"""The sweep: laws that hold in every space, and that what it measures is used."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.runners.errors import SpecError
from kernelwright.search.sweep import Configuration, Space, Sweep, Value
from kernelwright.search.sweep import surrogate as surrogate_module
from kernelwright.search.sweep import sweep as sweep_module
from kernelwright.search.sweep.acquisition import expected_improvement
from kernelwright.search.sweep.fitting import fitted, loss_of, targets
from kernelwright.search.sweep.kernel import Shape, expected_shape
from kernelwright.search.sweep.posterior import Posterior
from kernelwright.search.sweep.space import features

Cost = Callable[[Configuration], float | None]
VALUES = st.one_of(
    st.lists(st.sampled_from([1, 2, 3, 4, 8, 16, 48, 256]), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(["none", "ca", "cg", "4"]), min_size=1, max_size=3, unique=True),
    st.lists(st.sampled_from([-1, 0, 2]), min_size=1, max_size=3, unique=True),
    st.just([False, True]),
    st.just([0.25, 0.5]),
)
PARAMETERS = st.lists(VALUES, min_size=1, max_size=4).map(
    lambda lists: {f"P{i}": values for i, values in enumerate(lists)}
)
TILES = Space.where(
    {"BLOCK_X": [16, 32, 48, 64, 96, 128], "BLOCK_Y": [1, 2, 4, 8, 16], "TILE": [1, 2, 3, 4]},
    lambda c: 32 <= int(c["BLOCK_X"]) * int(c["BLOCK_Y"]) <= 1024,
)


def tile_time(of: Configuration) -> float:
    """Like a kernel's: factors of single values, one of a pair, and one of alignment."""
    x, y, tile = (int(of[name]) for name in TILES.names)
    threads = abs(math.log2(x * y / 256))
    return (1 + 0.3 * threads) * (1 + 0.2 * abs(tile - 3)) * (1.0 if x % 32 == 0 else 1.4)


def run(sweep: Sweep, cost: Cost, most: int) -> list[dict[str, Value]]:
    """The first configurations that a sweep asks for, told their cost one after another."""
    asked = list[dict[str, Value]]()
    while len(asked) < most and (now := sweep.ask()):
        sweep.tell(now[0], cost(now[0]))
        asked += now
    return asked


def key(configuration: Mapping[str, Value]) -> tuple[Value, ...]:
    return tuple(configuration.values())


@settings(max_examples=40, deadline=None)
@given(PARAMETERS, st.integers(0, 99), st.integers(1, 3), st.integers(0, 3))
def test_every_valid_configuration_is_asked_for_once_and_no_other(
    parameters: dict[str, list[Value]], seed: int, at_once: int, failing: int
) -> None:
    space, rng = Space.where(parameters), Random(seed)
    sweep, asked = Sweep(space, seed), list[dict[str, Value]]()
    while now := sweep.ask(at_once):
        for configuration in rng.sample(now, len(now)):
            failed = rng.randrange(4) < failing
            sweep.tell(configuration, None if failed else 0.1 + rng.random())
        asked += now
    assert sorted(map(repr, map(key, asked))) == sorted(map(repr, space.configurations))
    assert sweep.left == 0


def test_only_valid_configurations_are_asked_for() -> None:
    asked = run(Sweep(TILES, 3), tile_time, 1000)
    assert len(asked) == len(TILES)
    assert all(32 <= int(c["BLOCK_X"]) * int(c["BLOCK_Y"]) <= 1024 for c in asked)


def test_the_same_seed_asks_the_same_and_another_seed_does_not() -> None:
    first, second, other = (run(Sweep(TILES, seed), tile_time, 30) for seed in (5, 5, 6))
    assert first == second != other


def test_a_space_of_one_configuration_is_asked_for_once() -> None:
    sweep = Sweep(Space.where({"BLOCK": [64], "MODE": ["fast"]}), 0)
    assert sweep.ask(3) == [{"BLOCK": 64, "MODE": "fast"}]
    assert sweep.ask() == []


def test_all_may_fail() -> None:
    sweep = Sweep(TILES, 0)
    assert len(run(sweep, lambda _: None, 1000)) == len(TILES)


def test_all_may_take_the_same_time() -> None:
    assert len(run(Sweep(TILES, 0), lambda _: 2.5, 1000)) == len(TILES)


def test_times_may_span_any_range() -> None:
    steep = {value: 10.0 ** (10 * i - 100) for i, value in enumerate(TILES.configurations[:20])}
    space = Space(TILES.names, tuple(steep))
    assert len(run(Sweep(space, 1), lambda c: steep[key(c)], 1000)) == 20


def test_the_unit_of_time_changes_nothing() -> None:
    in_ms = run(Sweep(TILES, 2), tile_time, 40)
    in_larger = run(Sweep(TILES, 2), lambda c: 1024.0 * tile_time(c), 40)
    assert in_ms == in_larger


def test_the_optimum_is_found_in_a_fraction_of_the_space() -> None:
    optimum = min(tile_time(TILES.configuration(i)) for i in range(len(TILES)))
    for seed in range(5):
        asked = run(Sweep(TILES, seed), tile_time, len(TILES) // 3)
        assert min(map(tile_time, asked)) == optimum


def test_where_configurations_fail_fewer_are_asked_for() -> None:
    def cost(of: Configuration) -> float | None:
        return None if of["TILE"] == 4 else tile_time(of)

    share = sum(TILES.configuration(i)["TILE"] == 4 for i in range(len(TILES))) / len(TILES)
    asked = [c for seed in range(5) for c in run(Sweep(TILES, seed), cost, 30)]
    assert sum(c["TILE"] == 4 for c in asked) < share * len(asked)


def test_asks_that_wait_for_their_times_differ_and_lie_apart() -> None:
    sweep = Sweep(TILES, 4)
    run(sweep, tile_time, 20)
    together = sweep.ask(8)
    assert len(set(map(key, together))) == 8
    assert len({c["BLOCK_X"] for c in together}) > 1


def test_what_was_measured_elsewhere_is_told_and_not_asked_for() -> None:
    sweep = Sweep(TILES, 0)
    for index in range(0, len(TILES), 2):
        known = TILES.configuration(index)
        sweep.tell(known, tile_time(known))
    assert len(run(sweep, tile_time, 1000)) == len(TILES) // 2


def test_a_time_told_again_replaces_the_first() -> None:
    first, second = Sweep(TILES, 0), Sweep(TILES, 0)
    some = TILES.configuration(7)
    first.tell(some, None)
    first.tell(some, 2.0)
    second.tell(some, 2.0)
    assert run(first, tile_time, 25) == run(second, tile_time, 25)


def test_a_right_prior_is_followed_and_a_wrong_one_is_overruled() -> None:
    best = min(map(tile_time, map(TILES.configuration, range(len(TILES)))))
    right = Sweep(TILES, 0, prior=lambda c: math.log(tile_time(c)))
    assert tile_time(right.ask()[0]) == best
    wrong = Sweep(TILES, 0, prior=lambda c: -math.log(tile_time(c)))
    assert min(map(tile_time, run(wrong, tile_time, len(TILES) // 2))) == best


def test_of_a_large_space_a_sample_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_module, "CANDIDATES", 20)
    monkeypatch.setattr(surrogate_module, "FITTED_TO", 16)
    asked = run(Sweep(TILES, 0), tile_time, 1000)
    assert sorted(map(key, asked)) == sorted(map(key, map(TILES.configuration, range(len(TILES)))))


@pytest.mark.parametrize("time", [0.0, -1.0, math.nan, math.inf])
def test_a_time_that_is_none_is_refused(time: float) -> None:
    with pytest.raises(SpecError, match="positive"):
        Sweep(TILES, 0).tell(TILES.configuration(0), time)


def test_a_configuration_from_elsewhere_is_refused() -> None:
    with pytest.raises(SpecError, match="not in the space"):
        Sweep(TILES, 0).tell({"BLOCK_X": 16, "BLOCK_Y": 1, "TILE": 1}, 1.0)


def test_an_empty_space_is_refused() -> None:
    with pytest.raises(SpecError, match="without a configuration"):
        Space.where({"BLOCK": [1, 2]}, lambda _: False)


def test_numbers_are_compared_by_factors_and_by_what_divides_them() -> None:
    of_powers = features(Space.where({"BLOCK": [32, 64, 128]}))
    np.testing.assert_allclose(of_powers, [[0], [0.5], [1]])
    size, divides = features(Space.where({"BLOCK": [32, 48, 64]})).T
    assert size[0] < size[1] < size[2]
    np.testing.assert_allclose(divides, [0.5, 0, 1])


def test_values_without_an_order_are_equally_far_apart() -> None:
    points = features(Space.where({"CACHE": ["ca", "cg", "cs"]}))
    gaps = ((points[:, None] - points) ** 2).sum(2)
    np.testing.assert_allclose(gaps, 1 - np.eye(3))


def test_targets_keep_the_order_of_times() -> None:
    times = np.array([3.0, 1.0, 400.0, 2.0, 5.0])
    assert list(np.argsort(targets(times))) == list(np.argsort(times))


def test_the_gradient_of_a_fit_is_that_of_its_loss() -> None:
    rng = np.random.default_rng(1)
    points, aims = rng.random((12, 4)), rng.normal(size=12)
    gaps = np.abs(points.T[:, :, None] - points.T[:, None, :])
    at = np.append(rng.normal(scale=0.3, size=7), -4.0)
    _, gradient = loss_of(at, gaps, aims)
    steps = 1e-5 * np.eye(len(at))
    risen = [loss_of(at + s, gaps, aims)[0] - loss_of(at - s, gaps, aims)[0] for s in steps]
    np.testing.assert_allclose(gradient, np.array(risen) / 2e-5, rtol=1e-4, atol=1e-6)


def test_a_fit_never_explains_less_than_where_it_began() -> None:
    rng = np.random.default_rng(2)
    points = rng.random((30, 3))
    aims = targets(np.exp(np.sin(5 * points[:, 0])))
    gaps = np.abs(points.T[:, :, None] - points.T[:, None, :])

    def loss(shape: Shape) -> float:
        return loss_of(np.concatenate([shape.scales, shape.orders, [shape.noise]]), gaps, aims)[0]

    found = fitted(points, aims, expected_shape(3), 30)
    assert loss(found) < loss(expected_shape(3))
    assert found.scales[0] < min(found.scales[1:])  # what has an effect varies fastest


def test_a_posterior_that_grew_equals_one_that_was_made_at_once() -> None:
    points, aims = features(TILES), np.linspace(-1, 1, 9)
    shape = expected_shape(points.shape[1])
    grown = Posterior(shape, points, points[:5])
    for point in points[5:9]:
        grown.add(point)
    at_once = Posterior(shape, points, points[:9])
    for left, right in zip(grown.at_candidates(aims), at_once.at_candidates(aims), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-4)


def test_a_posterior_knows_what_was_measured() -> None:
    points, aims = features(TILES), np.linspace(-1, 1, 9)
    mean, deviation = Posterior(expected_shape(points.shape[1]), points, points[:9]).at_candidates(
        aims
    )
    np.testing.assert_allclose(mean[:9], aims, atol=0.1)
    assert deviation[:9].max() < deviation[9:].max() / 5


def test_expected_improvement_is_that_of_drawn_values() -> None:
    draws = np.random.default_rng(0).normal(0.3, 0.8, 400_000)
    found = expected_improvement(np.array([0.3]), np.array([0.8]), -0.2)
    assert found[0] == pytest.approx(np.maximum(-0.2 - draws, 0).mean(), rel=0.01)
