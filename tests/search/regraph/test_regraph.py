"""ReGraph: sums that merge, posteriors that shrink, and factors on priors."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from kernelwright.runners.model import Ending
from kernelwright.search.moves import ALIASES, CANONICAL
from kernelwright.search.regraph.file import from_json, to_json
from kernelwright.search.regraph.posterior import (
    KERNEL_CAP,
    NOTHING_KNOWN,
    STRENGTH,
    Posteriors,
    asked_by,
    updated,
)
from kernelwright.search.regraph.report import edges
from kernelwright.search.regraph.synonyms import BY_HAND, alike, synonyms
from kernelwright.search.regraph.tallies import (
    ReGraph,
    Tally,
    aggregate,
    as_told,
    merge,
    merge_all,
    tally,
)
from kernelwright.search.regraph.transfer import learned_for, offered
from kernelwright.search.regraph.transition import Transition, completed, difference
from kernelwright.search.regraph.weighing import LEAST, MOST, regraph_weights

METHODS = ("tune_parameters", "smem_tiling", "shared_memory_tiling", "loop_tiling", "my_own_trick")
ENDINGS = (Ending.faster, Ending.tie, Ending.slower, Ending.wrong, Ending.lost)


def step(
    method: str = "tune_parameters",
    gain: float | None = 0.5,
    *,
    kernel: str = "k",
    search: str = "s",
    previous: str = "baseline",
    bottleneck: str = "",
    arch: str = "sm_90a",
    rules: dict[str, str] | None = None,
    language: str = "cuda",
) -> Transition:
    """One transition; without a gain it failed."""
    return Transition(
        kernel_id=kernel,
        search_id=search,
        arch=arch,
        language=language,
        from_method=previous,
        to_method=method,
        ending=Ending.wrong if gain is None else Ending.faster,
        gain=gain,
        bottleneck=bottleneck,
        rules=rules or {},
    )


@st.composite
def transitions(draw: st.DrawFn, searches: st.SearchStrategy[str]) -> Transition:
    ending = draw(st.sampled_from(ENDINGS))
    search = draw(searches)
    return Transition(
        kernel_id=f"k{int(search[1:]) % 3}",
        search_id=search,
        arch=draw(st.sampled_from(("sm_80", "sm_90a"))),
        language="cuda",
        from_method=draw(st.sampled_from(("baseline", *METHODS))),
        to_method=draw(st.sampled_from(METHODS)),
        ending=ending,
        gain=draw(st.floats(-5, 5)) if ending.measured else None,
        bottleneck=draw(st.sampled_from(("", "memory_bound"))),
        rules=draw(st.sampled_from(({}, {"poor_coalescing": "poor-coalescing"}))),
    )


EVEN = st.lists(transitions(st.sampled_from(("s0", "s2", "s4"))), max_size=20)
ODD = st.lists(transitions(st.sampled_from(("s1", "s3"))), max_size=20)
ANY = st.lists(transitions(st.sampled_from(("s0", "s1", "s2"))), max_size=20)


@given(EVEN, ODD)
@settings(max_examples=60, deadline=None)
def test_merging_what_shares_no_search_is_aggregating_all(
    one: list[Transition], other: list[Transition]
) -> None:
    assert merge(aggregate(one), aggregate(other)) == aggregate([*one, *other])


@given(ANY, ANY, ANY)
@settings(max_examples=60, deadline=None)
def test_a_merge_takes_any_order_and_counts_nothing_twice(
    a: list[Transition], b: list[Transition], c: list[Transition]
) -> None:
    one, two, three = aggregate(a), aggregate(b), aggregate(c)
    assert merge(one, two) == merge(two, one)
    assert merge(one, merge(two, three)) == merge(merge(one, two), three)
    assert merge(one, one) == one
    both = merge(one, two)
    assert merge(both, one) == both


@given(EVEN)
@settings(max_examples=40, deadline=None)
def test_the_order_of_transitions_changes_nothing(rows: list[Transition]) -> None:
    assert to_json(aggregate(reversed(rows))) == to_json(aggregate(rows))


@given(EVEN)
@settings(max_examples=40, deadline=None)
def test_what_is_written_is_read_back_and_the_text_is_canonical(rows: list[Transition]) -> None:
    graph = aggregate(rows)
    assert from_json(to_json(graph)) == graph
    assert to_json(from_json(to_json(graph))) == to_json(graph)


@given(EVEN)
@settings(max_examples=40, deadline=None)
def test_merging_of_names_is_undone_and_done_again(rows: list[Transition]) -> None:
    merged, told = aggregate(rows), aggregate(rows, merging=False)
    assert as_told(merged, merging=False) == told
    assert as_told(told, merging=True) == merged


@given(ANY)
@settings(max_examples=40, deadline=None)
def test_factors_stay_within_their_bounds(rows: list[Transition]) -> None:
    known = Posteriors(aggregate(rows))
    factors = regraph_weights(known, "baseline", "memory_bound", "sm_90a", "cuda")
    assert all(LEAST <= factor <= MOST for factor in factors.values())


def test_an_export_that_saw_more_of_a_search_takes_the_place_of_an_earlier_one() -> None:
    early, late = aggregate([step()]), aggregate([step(), step(gain=None)])
    assert merge(early, late) == late == merge(late, early)


def test_a_lost_evaluation_says_nothing() -> None:
    lost = step().model_copy(update={"ending": Ending.lost, "gain": None})
    assert aggregate([lost]) == ReGraph() == merge_all([])


def test_a_step_that_an_earlier_search_had_made_is_not_counted_again() -> None:
    again = step(search="later").model_copy(update={"repeated": True})
    assert aggregate([step(), again]) == aggregate([step()])


def test_another_text_is_no_regraph() -> None:
    with pytest.raises(ValidationError):
        from_json('{"format": 1, "nodes": []}')


def test_rows_of_older_versions_get_their_gain_from_the_speedup_of_the_parent() -> None:
    old = {"kernel_id": "k", "arch": "", "language": "cpp", "ending": "faster", "log2_speedup": 1}
    rows = [
        {"from_method": "baseline", "to_method": "a", "parent": "v0", "variant_id": "v1"},
        {"from_method": "a", "to_method": "b", "parent": "v1", "variant_id": "v2"},
        {"from_method": "x", "to_method": "c", "parent": "v9", "variant_id": "v3"},
    ]
    read = [
        Transition.model_validate(old | row | {"speedup": speedup})
        for row, speedup in zip(rows, (2.0, 3.0, 4.0), strict=True)
    ]
    assert [row.gain for row in completed(read)] == [1.0, pytest.approx(math.log2(1.5)), None]


def test_intervals_of_two_comparisons_with_the_baseline_add_in_quadrature() -> None:
    gain, interval = difference(1.0, (2**0.7, 2**1.3), 0.0, (2**-0.4, 2**0.4))
    assert gain == 1.0
    assert interval == (pytest.approx(0.5), pytest.approx(1.5))
    assert difference(1.0, None, 0.0, (1.0, 1.0)) == (1.0, None)


def test_a_place_without_data_expects_what_the_broader_one_does() -> None:
    known = Posteriors(aggregate([step(gain=1.0), step("smem_tiling", None)]))
    broad = known.expect(method="tune_parameters")
    assert known.expect(method="tune_parameters", bottleneck="memory_bound") == broad
    assert known.expect(method="never_seen") == known.average()
    assert Posteriors(ReGraph()).expect(method="x", previous="y") == NOTHING_KNOWN


def test_the_posterior_is_the_mean_of_prior_and_data_by_their_strengths() -> None:
    found = updated(NOTHING_KNOWN, [tally([step(gain=1.0)] * 4)])
    assert found.mean == pytest.approx(0.5)  # four of 0 and four of 1
    assert found.right == pytest.approx((STRENGTH * 0.5 + 4) / (STRENGTH + 4))
    more = updated(NOTHING_KNOWN, [tally([step(kernel=str(k), gain=1.0)] * 4) for k in range(25)])
    assert found.mean < more.mean < 1.0
    assert more.error < found.error


def test_a_kernel_that_was_searched_for_long_does_not_drown_the_others() -> None:
    long = [step(gain=1.0, kernel="long"), *[step(gain=-1.0, kernel="long")] * 499]
    others = [step(gain=1.0, kernel=f"k{n}") for n in range(int(KERNEL_CAP))]
    known = Posteriors(aggregate([*long, *others]))
    assert known.expect(method="tune_parameters").mean == pytest.approx(0.0, abs=0.01)
    assert known.measured(method="tune_parameters").kernels["long"] == 500


def test_a_step_is_worth_its_chance_of_being_right_times_the_mean_improvement() -> None:
    rows = [step("tune_parameters", gain) for gain in (1.0, 1.0, 1.0, 1.0)]
    rows += [step("smem_tiling", gain) for gain in (1.0, None, None, None)]
    known = Posteriors(aggregate(rows))
    factors = regraph_weights(known, "baseline", "", "sm_90a", "cuda")
    assert factors["tune_parameters"] > 1 > factors["smem_tiling"]
    assert "never_seen" not in factors
    assert known.expect(method="tune_parameters").expected > 0


def test_what_pays_after_one_method_need_not_pay_after_another() -> None:
    rows = [step("my_own_trick", 1.0, previous="a_first_step", kernel=f"k{n}") for n in range(9)]
    rows += [step("my_own_trick", -1.0, previous="baseline", kernel=f"k{n}") for n in range(9)]
    known = Posteriors(aggregate(rows))
    after = regraph_weights(known, "a_first_step", "", "sm_90a", "cuda")["my_own_trick"]
    assert after > regraph_weights(known, "baseline", "", "sm_90a", "cuda")["my_own_trick"]


def test_a_hard_filter_leaves_what_came_after_the_method_and_what_nobody_tried() -> None:
    rows = [step("tune_parameters"), step("my_own_trick", previous="tune_parameters")]
    known = Posteriors(aggregate(rows))
    after = regraph_weights(known, "baseline", "", "sm_90a", "cuda", hard=True)
    assert after["tune_parameters"] > 0 == after["my_own_trick"]
    assert "never_seen" not in after
    unknown = regraph_weights(known, "my_own_trick", "", "sm_90a", "cuda", hard=True)
    assert all(unknown.values())  # nothing was ever tried after it: no filter


def test_names_of_one_method_are_counted_as_one_and_both_are_weighed() -> None:
    known = Posteriors(aggregate([step("smem_tiling", 2.0), step("use_shared_memory_tiling", 2.0)]))
    factors = regraph_weights(known, "baseline", "", "sm_90a", "cuda")
    assert known.methods == ("shared_memory_tiling",)
    assert known.measured(method="smem_tiling").tally.count == 2
    assert factors["smem_tiling"] == factors["use_shared_memory_tiling"]


def test_words_in_another_order_are_the_same_name_and_opposites_are_not() -> None:
    found = synonyms({"tile_the_loops_twice": 3, "twice_tile_loops": 1, "cut_traffic_row": 2})
    assert found["twice_tile_loops"].into == "tile_the_loops_twice"
    assert "spelt alike" in found["twice_tile_loops"].reason
    assert alike("increase_occupancy", "decrease_occupancy") == 0
    assert alike("fewer_barriers", "more_barriers") == 0


def test_a_name_that_takes_others_in_is_not_merged_itself() -> None:
    names = (*ALIASES, *BY_HAND, "smem_tilings", "tiling_of_shared_memory", "cache_block")
    found = synonyms(dict.fromkeys(names, 1))
    assert not {each.into for each in found.values()} & set(found)
    assert not set(found) & set(CANONICAL)


def test_a_rule_is_measured_by_the_methods_that_it_asks_for() -> None:
    fired = {"poor_coalescing": "poor-coalescing", "tail_effect": "tail-effect"}
    rows = [
        step("coalesce_global_accesses", 1.0, rules=fired),
        step("compiler_flags", None, rules=fired),
        step("coalesce_global_accesses", -1.0),
    ]
    known = Posteriors(aggregate(rows))
    assert "coalesce_global_accesses" in asked_by("rule", "poor_coalescing")
    posterior, measured = known.brought("rule", "poor_coalescing")
    assert measured.tally == Tally(count=1, right=1, better=1, gains=1, total=1.0, squares=1.0)
    assert posterior.mean > known.average().mean
    assert known.brought("skill", "poor-coalescing")[1].tally.count == 1
    assert known.fired("rule") == ("poor_coalescing", "tail_effect")


def test_what_a_host_kernel_taught_says_nothing_of_a_gpu_kernel_by_name_alone() -> None:
    host = [step("my_own_trick", 3.0, search=f"s{n}", language="cpp") for n in range(9)]
    gpu = [step("tune_parameters", 0.1, search="s", kernel="g", language="triton")]
    learned = aggregate([*host, *gpu])
    for language in ("cuda", "triton"):
        known = Posteriors(learned_for(learned, language))
        assert known.methods == ("tune_parameters",)
        assert "my_own_trick" not in regraph_weights(known, "baseline", "", "", language)
    assert Posteriors(learned_for(learned, "cpp")).methods == ("my_own_trick",)
    assert learned_for(learned, "a language of tomorrow") == learned


def test_a_step_is_offered_only_where_its_language_can_do_it() -> None:
    host_alone = next(m.id for m in CANONICAL.values() if m.languages == ("cpp",))
    steps = [step(name, language="triton") for name in (host_alone, "my_own_trick")]
    lines = edges(Posteriors(aggregate(steps)))
    assert [line.method for line in offered(lines, "triton")] == ["my_own_trick"]
    assert len(offered(lines, "cpp")) == 2


def test_kernels_in_which_nothing_gains_do_not_keep_a_method_from_the_next() -> None:
    paid = [step("tune_parameters", 0.1), step("smem_tiling", 1.0), step("smem_tiling", None)]
    known = Posteriors(aggregate(paid))
    at_the_limit = [
        step(method, gain, kernel=f"limit{n}", search=f"limit{n}")
        for n in range(8)
        for method, gain in (("smem_tiling", -2.0), ("tune_parameters", 0.0)) * 3
    ]
    both = Posteriors(aggregate([*paid, *at_the_limit]))
    name = both.regraph.name("smem_tiling")
    before, after = (
        regraph_weights(each, "baseline", "", "sm_90a", "cuda")[name] for each in (known, both)
    )
    assert after >= before > 1
    assert both.expect(method="smem_tiling").mean == known.expect(method="smem_tiling").mean
    assert both.measured(method="smem_tiling").tally.count == 26


def test_what_was_wrong_counts_from_a_kernel_in_which_nothing_gains_too() -> None:
    wrong = [step("smem_tiling", None, kernel="limit") for _ in range(5)]
    known = Posteriors(aggregate([step("smem_tiling", 1.0)]))
    both = Posteriors(aggregate([step("smem_tiling", 1.0), *wrong]))
    assert both.expect(method="smem_tiling").right < known.expect(method="smem_tiling").right
