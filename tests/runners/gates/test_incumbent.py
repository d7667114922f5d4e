"""The incumbent's and the winner's gates: determinism, trials that the baseline calibrates,
physics, and what is left of a gain."""

from __future__ import annotations

from typing import Any

import pytest

from kernelwright.runners.gates import Run, ending_of
from kernelwright.runners.gates.incumbent import (
    SHAPES,
    STRESS,
    STRESS_SLACK,
    Trial,
    holds,
    is_deterministic,
    refused_build,
)
from kernelwright.runners.gates.physics import (
    Floor,
    Floors,
    fastest_flops,
    floors,
    is_plausibly_fast,
    most_speedup,
    obeys_physics,
)
from kernelwright.runners.gates.winner import (
    is_faster_again,
    is_not_slower_on_held_out_workloads,
    keeps_its_gain,
)
from kernelwright.runners.model import Comparison, Ending, Judgement, Ratio, WorkloadTimes
from kernelwright.runners.oracle.messages import OutputVerdict
from kernelwright.runners.protocol.messages import RunResult
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.runners.specs.io_contract import Contract

H100, SHEET = PROFILES[0]
MIB = 1 << 20


def run(digest: str = "d", slot: int = 0, poison: int = 255, **left: Any) -> Run:
    timed, verdicts = left.pop("timed", False), left.pop("verdicts", ())
    result = RunResult(slot=slot, poison=poison, digest=digest, **left)
    return Run("big", timed, result, verdicts, "v", "k/big")


def verdict(largest: float, *, right: bool) -> OutputVerdict:
    return OutputVerdict(
        name="y",
        right=right,
        largest=largest,
        allowed=1.0,
        rms=largest,
        worst_index=(0,),
        worst_value="9",
        expected_value="1",
        message="" if right else f"error {largest}",
    )


STEADY = [run(), run(timed=True), run("other", slot=1)]
WOBBLY = [run(), run("e", timed=True)]


def test_the_same_input_with_the_same_bits_is_deterministic() -> None:
    found = is_deterministic(STEADY, asked=True)
    assert found.outcome == "passed"
    assert found.evidence["inputs"] == 1


LOST = run("", fault="the process was lost", fault_kind="crashed")
ALIKE = {
    "timed as it was checked": STEADY,
    "timed many times": [run(), *(run(timed=True) for _ in range(9))],
    "another result for another seed": [run(), run("e", slot=1), run(), run("e", slot=1)],
    "gaps between its rows hold another poison": [run(), run("e", poison=165), run(), run()],
    "both poisons, twice": [run("d"), run("e", poison=165), run("d"), run("e", poison=165)],
    "a run that was lost between two": [run(), LOST, run()],
    "another shape in the same slot": [run(), Run("odd", False, run("e").result), run()],
    "another pool of the same shape": [run(), Run("big", False, run("e").result), run()],
    "checked after it was timed": [run(timed=True), run()],
    "sums in an order of its own, which is always the same": [run("f"), run("f", timed=True)],
    "more seeds than runs of each": [run(str(n % 5), slot=n % 5) for n in range(10)],
    "a count of whole numbers by atomics": [run("g", slot=3), run("g", slot=3), run("g", slot=3)],
    "results that are no numbers, with the same bits": [run("nan"), run("nan"), run("nan")],
}
"""runs of honest kernels"""


@pytest.mark.parametrize("what", ALIKE)
def test_runs_whose_results_follow_from_their_inputs_are_deterministic(what: str) -> None:
    assert is_deterministic(ALIKE[what], asked=True).outcome == "passed"


def test_two_results_of_one_input_are_wrong_and_both_runs_are_named() -> None:
    found = is_deterministic(WOBBLY, asked=True)
    assert found.outcome == "failed"
    assert ending_of(found) is Ending.wrong
    assert "run 2 (timed) than in run 1 (checked)" in found.message
    assert "digests" not in found.evidence, "of a single number they tell which one it is"


def test_what_the_baseline_does_not_hold_to_is_not_asked_of_a_candidate() -> None:
    found = is_deterministic(WOBBLY, asked=True, baseline_is=False)
    assert found.outcome == "note"
    assert "the baseline itself is not deterministic" in found.message


def test_determinism_is_not_asked_where_the_contract_does_not_promise_it() -> None:
    found = is_deterministic(WOBBLY, asked=False)
    assert found.outcome == "skipped"
    assert "deterministic: false" in found.message


def test_runs_on_other_slots_other_poison_or_with_a_fault_are_not_compared() -> None:
    faulted = run("", fault="gone", fault_kind="crashed")
    runs = [run(), run("e", slot=1), run("f", poison=165), faulted]
    assert is_deterministic(runs, asked=True).outcome == "skipped"


WRONG = Trial("stress `offset`", (run(verdicts=(verdict(50.0, right=False),)),))
FINE = Trial("stress `zeros`", (run(verdicts=(verdict(0.1, right=True),)),))


def baseline_of(trial: Trial, *verdicts: OutputVerdict, **left: Any) -> Trial:
    return Trial(trial.what, trial.runs, (run(verdicts=verdicts, **left),))


def test_a_trial_that_fails_ends_as_what_it_failed() -> None:
    found = holds(STRESS, [FINE, WRONG])
    assert found.outcome == "failed"
    assert ending_of(found) is Ending.wrong
    assert found.message.startswith("stress `offset`: on `big`")
    overrun = Trial("shape n=1", (run(overrun="byte 1 behind the end of `y`"),))
    assert ending_of(holds(SHAPES, [overrun])) is Ending.unsafe


def test_a_trial_that_the_baseline_fails_is_noted_and_not_asked() -> None:
    trial = baseline_of(WRONG, verdict(9.0, right=False))
    found = holds(STRESS, [FINE, trial])
    assert found.outcome == "note"
    assert found.evidence["asked"] == ["stress `zeros`"]
    assert "the baseline fails it, too" in found.evidence["not_asked"]["stress `offset`"]


@pytest.mark.parametrize(
    ("error", "outcome"), [(0.03, "note"), (0.9, "failed"), (float("inf"), "failed")]
)
def test_a_baseline_that_is_slightly_wrong_hides_no_candidate_that_is_far_off(
    error: float, outcome: str
) -> None:
    candidate = Trial("shape n=1", (run(verdicts=(verdict(error, right=False),)),))
    trial = baseline_of(candidate, verdict(0.02, right=False))
    assert holds(SHAPES, [trial]).outcome == outcome


def test_a_crash_is_not_excused_by_a_baseline_that_is_merely_wrong() -> None:
    crashed = Trial("stress `large`", (run("", fault="signal 11", fault_kind="crashed"),))
    trial = baseline_of(crashed, verdict(9.0, right=False))
    found = holds(STRESS, [trial])
    assert found.outcome == "failed"
    assert ending_of(found) is Ending.launch_failed


@pytest.mark.parametrize(("error", "outcome"), [(13.0, "note"), (12.0, "failed")])
def test_under_stress_an_error_of_the_baselines_size_is_excused(error: float, outcome: str) -> None:
    trial = baseline_of(WRONG, verdict(error, right=True))
    assert holds(STRESS, [trial], STRESS_SLACK).outcome == outcome
    assert holds(SHAPES, [trial]).outcome == "failed", "elsewhere nothing is"


def test_a_nan_is_never_of_the_baselines_size() -> None:
    nan = Trial("stress `large`", (run(verdicts=(verdict(float("inf"), right=False),)),))
    trial = baseline_of(nan, verdict(50.0, right=True))
    assert holds(STRESS, [trial], STRESS_SLACK).outcome == "failed"


def test_a_trial_that_was_not_made_is_noted() -> None:
    found = holds(STRESS, [FINE], not_asked={"stress `tiny`": "the reference fails on it"})
    assert found.outcome == "note"
    assert found.message.endswith("not asked: stress `tiny`: the reference fails on it")


def test_nothing_to_try_is_skipped_and_a_build_that_fails_ends_as_one() -> None:
    assert holds(STRESS, []).outcome == "skipped"
    assert ending_of(refused_build("no", Ending.build_failed)) is Ending.build_failed


def contract(math: str = "ieee", dtype: str = "float32", **declared: Any) -> Contract:
    return Contract.model_validate(
        {
            "arguments": [
                {"name": "x", "role": "input", "dtype": dtype, "shape": ["n"]},
                {"name": "y", "role": "output", "dtype": dtype, "shape": ["n"]},
            ],
            "math": math,
            **declared,
        }
    )


def compared(candidate_ms: float, baseline_ms: float, speedup: float = 2.0) -> Comparison:
    times = {"v": candidate_ms, "b": baseline_ms}
    return Comparison(
        candidate="v",
        ratios=(ratio(speedup),),
        workloads=(WorkloadTimes(workload="big", weight=1, median_ms=times, blocks_ms={}),),
        resolution=0.004,
        samples=10,
        seconds=1.0,
    )


def ratio(speedup: float, judgement: Judgement = "faster") -> Ratio:
    return Ratio(
        over="b", speedup=speedup, low=speedup - 0.01, high=speedup + 0.01, judgement=judgement
    )


def floors_of(made: Contract, n: int) -> Floors:
    return floors(made, [bind(made, {"n": n}, "big")], H100)


def test_a_time_below_the_floor_is_a_cheat_with_the_numbers() -> None:
    copying = floors_of(contract(bytes="8 * n"), 256 * MIB)
    (floor,) = copying.known
    # 2 GiB, of which 50 MiB may stay in L2, at 3.35 TB/s
    assert floor.seconds == pytest.approx((2048 - 50) * MIB / 3.35e12)
    below = obeys_physics(compared(0.94e3 * floor.seconds, 9.0), copying, "b")
    assert below.outcome == "failed"
    assert ending_of(below) is Ending.cheated
    assert below.evidence["time_over_floor"] == 0.94
    within = obeys_physics(compared(0.96e3 * floor.seconds, 9.0), copying, "b")
    assert within.outcome == "passed"
    assert within.evidence["time_over_floor"] == {"big": 0.96}


def test_the_floors_of_all_workloads_say_how_fast_a_variant_can_be() -> None:
    two = Floors((Floor("a", 1e-3, ""), Floor("b", 2e-3, "")))
    times = {"a": 2.0 * 0.95, "b": 16.0 * 0.95}
    assert most_speedup(two, times, {"a": 1.0}) == pytest.approx(2)
    assert most_speedup(two, times, {"a": 1.0, "b": 1.0}) == pytest.approx(4)
    assert most_speedup(two, times, {"a": 2.0, "b": 1.0}) == pytest.approx(2 ** (2 / 3) * 2)
    assert most_speedup(two, times, {"a": 1.0, "c": 1.0}) is None
    assert most_speedup(two, {"a": 0.5}, {"a": 1.0}) is None
    assert most_speedup(Floors(missing="no datasheet"), times, {"a": 1.0}) is None


def test_outputs_that_fit_in_the_cache_need_not_reach_memory() -> None:
    (floor,) = floors_of(contract(bytes="8 * n"), MIB).known
    assert floor.seconds == pytest.approx(4 * MIB / 3.35e12)


def test_a_floor_that_the_baseline_is_below_is_wrong_itself() -> None:
    found = obeys_physics(compared(0.1, 0.2), floors_of(contract(bytes="8000 * n"), MIB), "b")
    assert found.outcome == "note"
    assert "are the declared bytes and flops right?" in found.message


def test_a_doubtful_floor_of_one_workload_hides_nothing_on_another() -> None:
    made = contract(bytes="8000 * n")
    known = floors(made, [bind(made, {"n": MIB}, each) for each in ("big", "other")], H100)
    first = compared(0.1, 0.2)
    other = first.workloads[0].model_copy(
        update={"workload": "other", "median_ms": {"v": 0.1, "b": 9.0}}
    )
    both = first.model_copy(update={"workloads": (*first.workloads, other)})
    assert obeys_physics(first, known, "b").outcome == "note"
    found = obeys_physics(both, known, "b")
    assert (found.outcome, found.evidence["workload"]) == ("failed", "other")


def test_without_declared_work_or_datasheet_nothing_is_asked() -> None:
    bare, bound = contract(), bind(contract(), {"n": 8}, "big")
    for known, words in (
        (floors(bare, [bound], H100), "neither bytes nor flops"),
        (floors(contract(bytes="8 * n"), [bound], None), "a host has no datasheet"),
        (
            floors(contract(flops="n"), [bound], H100.model_copy(update={"name": "some GPU"})),
            "no datasheet of some GPU",
        ),
    ):
        found = obeys_physics(compared(1e-9, 1.0), known, "b")
        assert found.outcome == "skipped"
        assert words in found.message


@pytest.mark.parametrize(
    ("math", "dtype", "flops"),
    [
        ("ieee", "float32", 494e12 / 3),
        ("tf32", "float32", 494e12),
        ("fast", "float32", 989e12),
        ("ieee", "float16", 989e12),
        ("ieee", "float64", 68e12),
        ("ieee", "float8_e4m3fn", 1978e12),
        ("ieee", "int32", 1978e12),
    ],
)
def test_the_floor_grants_the_fastest_unit_that_could_honestly_do_it(
    math: str, dtype: str, flops: float
) -> None:
    assert SHEET is not None
    assert fastest_flops(contract(math, dtype), SHEET) == pytest.approx(flops)


def test_a_speedup_over_ten_is_flagged_and_does_not_block() -> None:
    assert is_plausibly_fast(compared(1, 9, 9.0), "b").outcome == "passed"
    found = is_plausibly_fast(compared(1, 11, 11.0), "b")
    assert (found.outcome, found.evidence["speedup"]) == ("note", 11.0)


def test_a_winner_tells_how_much_of_its_first_estimate_is_left() -> None:
    kept = keeps_its_gain(1.505, ratio(1.5), 0.01)
    less = keeps_its_gain(1.6, ratio(1.5), 0.01)
    gone = keeps_its_gain(1.05, ratio(1.005, "tie"), 0.01)
    assert [kept.outcome, less.outcome, gone.outcome] == ["passed", "note", "note"]
    assert "6.2% less" in less.message
    assert "below min_gain" in gone.message
    assert keeps_its_gain(None, ratio(1.5), 0.01).outcome == "skipped"


def test_a_winner_that_is_no_longer_faster_or_slower_where_nobody_looked_fails() -> None:
    assert is_faster_again(ratio(1.5)).outcome == "passed"
    assert is_faster_again(ratio(1.001, "tie")).outcome == "failed"
    assert is_not_slower_on_held_out_workloads(None).outcome == "skipped"
    assert is_not_slower_on_held_out_workloads(ratio(1.0, "tie")).outcome == "passed"
    assert is_not_slower_on_held_out_workloads(ratio(0.9, "slower")).outcome == "failed"
