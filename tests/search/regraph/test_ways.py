"""Which way a method was taken, and what the way is worth beside the method."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from kernelwright.runners.model import Ending
from kernelwright.search.regraph.file import from_json, to_json
from kernelwright.search.regraph.posterior import Posteriors
from kernelwright.search.regraph.tallies import aggregate, merge
from kernelwright.search.regraph.transition import Transition
from kernelwright.search.regraph.ways import LONGEST, way_of
from kernelwright.search.regraph.weighing import LEAST, MOST, way_weights

TUNING = "tune_parameters"


def taken(way: str, gain: float, kernel: str = "k", language: str = "triton") -> Transition:
    return Transition(
        kernel_id=kernel,
        search_id=f"of {kernel}",
        language=language,
        from_method="baseline",
        to_method=TUNING,
        way=way,
        ending=Ending.faster,
        gain=gain,
    )


@pytest.mark.parametrize(
    ("detail", "way"),
    [
        ("num_warps=4 -> num_warps=8", "num_warps=8"),
        ("num_warps=16 -> num_warps=8", "num_warps=8"),
        ("BLOCK_M=32 -> BLOCK_M=64", "BLOCK up"),
        ("TILE=64 -> TILE=32", "TILE down"),
        ("MODE=a -> MODE=b", ""),
        ("kTile: 16 -> 32", "kTile up"),
        ("3 parameters together", "parameter together"),
        ("3 stages in loops along data", "3 stages in loops along data"),
        ("2 programs a processor", "2 programs a processor"),
        (
            "scale: at most 264 blocks, in a grid-stride loop",
            "at most 264 blocks, in a grid-stride loop",
        ),
        ("3 loops along a row become one block", "loop along a row become one block"),
        ("1 loop along a row become one block", "loop along a row become one block"),
        ("tiles of 64x64x32, 4 warps, 3 stages", "tiles of 64x64x32, 4 warps, 3 stages"),
        ("x" * (LONGEST + 1), ""),
        ("a story\nof two lines", ""),
    ],
)
def test_a_way_names_what_other_kernels_have_as_well(detail: str, way: str) -> None:
    assert way_of(detail) == way


def weights(*rows: Transition, language: str = "triton") -> Callable[[str, str], float]:
    return way_weights(Posteriors(aggregate(rows)), language)


def test_of_two_values_the_one_that_paid_on_other_kernels_comes_first() -> None:
    rows = [taken("num_warps=8", 0.5, f"k{n}") for n in range(6)]
    rows += [taken("num_warps=2", -0.5, f"k{n}") for n in range(6)]
    factor = weights(*rows)
    assert MOST >= factor(TUNING, "num_warps=8") > 1 > factor(TUNING, "num_warps=2") >= LEAST


def test_a_way_that_was_ahead_comes_first_though_all_gained_more_on_other_kernels() -> None:
    rows = [taken("BLOCK up", 5.0, "rich"), taken("num_warps=8", 5.2, "rich")]
    rows += [taken("BLOCK up", 0.1, "poor"), taken("num_stages=4", 0.0, "poor")]
    factor = weights(*rows)
    assert factor(TUNING, "num_warps=8") > 1 > factor(TUNING, "num_stages=4")


def test_values_that_nobody_tried_follow_from_those_that_were() -> None:
    small = [taken(f"tiles of {n}x64, 4 warps", math.log2(n) / 40) for n in (16, 32, 64)]
    factor = weights(*small)
    assert factor(TUNING, "tiles of 128x64, 4 warps") > factor(TUNING, "tiles of 64x64, 4 warps")
    assert factor(TUNING, "tiles of 8x64, 4 warps") < 1
    assert factor(TUNING, "something else of 128") == 1


def test_a_try_that_failed_counts_as_behind() -> None:
    failed = taken("num_warps=16", 0.0).model_copy(update={"ending": Ending.wrong, "gain": None})
    assert weights(failed, taken("num_warps=8", 0.1))(TUNING, "num_warps=16") < 1


def test_ways_that_were_ahead_where_nothing_gained_are_worth_nothing() -> None:
    at_the_limit = [taken("num_warps=16", -1.0), taken("num_warps=8", 0.0)]
    assert weights(*at_the_limit)(TUNING, "num_warps=8") == 1


def test_a_way_is_worth_what_its_method_is_where_nothing_is_known_of_it() -> None:
    assert weights(taken("", 0.5), taken("", 0.4, "other"))(TUNING, "num_warps=8") == 1
    alone = weights(taken("num_warps=8", 1.0))
    assert alone(TUNING, "num_warps=8") == 1, "it was ahead of nothing"


def test_what_a_way_brought_in_one_language_says_nothing_of_another() -> None:
    rows = taken("num_warps=8", 1.0), taken("num_warps=4", 0.0)
    assert weights(*rows)(TUNING, "num_warps=8") > 1
    assert weights(*rows, language="cuda")(TUNING, "num_warps=8") == 1


def test_ways_are_merged_and_kept_like_all_sums() -> None:
    one, other = (
        aggregate([taken("BLOCK up", 1.0, kernel), taken("BLOCK down", 0.0, kernel)])
        for kernel in ("k", "l")
    )
    both = merge(one, other)
    assert from_json(to_json(both)) == both
    together, alone = (Posteriors(each).ways("triton") for each in (both, one))
    assert together.ahead[TUNING, "BLOCK up"] == {"k": 0.5, "l": 0.5}
    assert together.expected(TUNING, "BLOCK up") > alone.expected(TUNING, "BLOCK up") > 0
