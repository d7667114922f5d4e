"""Which way a method was taken, and what the way is worth beside the method."""

from __future__ import annotations

import pytest

from kernelwright.runners.model import Ending
from kernelwright.search.regraph.file import from_json, to_json
from kernelwright.search.regraph.posterior import Posteriors
from kernelwright.search.regraph.tallies import aggregate, merge
from kernelwright.search.regraph.transition import Transition
from kernelwright.search.regraph.ways import LONGEST, way_of
from kernelwright.search.regraph.weighing import MOST, way_weights


def taken(way: str, gain: float, kernel: str = "k", language: str = "triton") -> Transition:
    return Transition(
        kernel_id=kernel,
        search_id=f"of {kernel}",
        language=language,
        from_method="baseline",
        to_method="tune_parameters",
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


def test_of_two_values_the_one_that_paid_on_other_kernels_comes_first() -> None:
    rows = [taken("num_warps=8", 0.5, f"k{n}") for n in range(6)]
    rows += [taken("num_warps=2", -0.5, f"k{n}") for n in range(6)]
    factors = way_weights(Posteriors(aggregate(rows)), "triton")
    assert factors["tune_parameters", "num_warps=8"] > 1
    assert factors["tune_parameters", "num_warps=2"] < 1
    assert max(factors.values()) <= MOST


def test_a_way_is_worth_what_its_method_is_where_nothing_is_known_of_it() -> None:
    known = Posteriors(aggregate([taken("", 0.5), taken("", 0.4, "other")]))
    assert way_weights(known, "triton") == {}


def test_what_a_way_brought_in_one_language_says_nothing_of_another() -> None:
    known = Posteriors(aggregate([taken("num_warps=8", 1.0)]))
    assert way_weights(known, "cuda") == {}


def test_ways_are_merged_and_kept_like_all_sums() -> None:
    one, other = aggregate([taken("BLOCK up", 1.0)]), aggregate([taken("BLOCK up", 0.2, "l")])
    both = merge(one, other)
    assert from_json(to_json(both)) == both
    together = Posteriors(both).ways("triton")["tune_parameters", "BLOCK up"]
    alone = Posteriors(one).ways("triton")["tune_parameters", "BLOCK up"]
    assert together.weight == 2 > alone.weight
