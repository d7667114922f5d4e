"""What a fault weighs beside units that are busy, or idle: rules on planted launches."""

from __future__ import annotations

import pytest
from planted import OPCODES, PLANTED, Planted, instructions, profile
from profiles import run

from kernelwright.analysis.profile import names as n
from kernelwright.analysis.rules.findings import findings
from kernelwright.analysis.rules.model import Finding


def found(planted: Planted) -> dict[str, Finding]:
    """What fires, the one to act on first."""
    return {each.rule: each for each in findings(profile(planted), planted.facts).ranked}


def severity(rule: str, **changes: float) -> str:
    """Of a planted fault with other metrics beside it; empty where it does not fire."""
    planted = PLANTED[rule]
    metrics = {**planted.metrics, **{getattr(n, name): v for name, v in changes.items()}}
    fired = found(Planted(metrics, planted.opcodes, planted.facts)).get(rule)
    return fired.severity if fired else ""


@pytest.mark.parametrize(("dram", "expected"), [(10, "low"), (39, "low"), (50, "medium"),
                                                (60, "high"), (92, "high")])  # fmt: skip
def test_bytes_of_dram_weigh_as_much_as_dram_is_busy(dram: float, expected: str) -> None:
    assert severity("huge_dram_traffic", DRAM=dram) == expected


def test_how_busy_dram_is_is_asked_of_the_whole_run() -> None:
    """The first launch is short and has an idle DRAM; the bytes are those of the long one."""
    traffic = PLANTED["huge_dram_traffic"]
    short = profile(Planted({**traffic.metrics, n.TIME: 10_000, n.DRAM: 1})).launches[0]
    long = profile(Planted({**traffic.metrics, n.DRAM: 85})).launches[0]
    (told,) = (
        each
        for each in findings(run(short, long), traffic.facts).ranked
        if each.rule == "huge_dram_traffic"
    )
    assert told.severity == "high"


@pytest.mark.parametrize("unit", ["TENSOR", "SM", "MEMORY"])
@pytest.mark.parametrize(
    "rule", ["stall_barrier", "stall_wait", "stall_short_scoreboard", "stall_long_scoreboard"]
)
def test_waits_say_less_the_nearer_a_unit_is_to_its_peak(rule: str, unit: str) -> None:
    idle = {"TENSOR": 0.0, "SM": 30.0, "MEMORY": 30.0}
    told = [severity(rule, **{**idle, unit: busy}) for busy in (30.0, 70.0, 94.0)]
    assert told == ["high", "medium", "low"]


@pytest.mark.parametrize("unit", [n.TENSOR, n.SM])
@pytest.mark.parametrize("rule", ["stall_barrier", "stall_math_pipe", "stall_membar"])
@pytest.mark.parametrize("busy", [81, 94])
def test_no_wait_comes_before_a_unit_near_its_peak(rule: str, unit: str, busy: float) -> None:
    near = Planted({**PLANTED[rule].metrics, unit: busy})
    assert list(found(near))[:2] == ["near_peak_compute", rule]


@pytest.mark.parametrize("rule", ["stall_mio_throttle", "stall_lg_throttle"])
def test_a_full_queue_beside_a_busy_memory_is_what_keeps_it_busy(rule: str) -> None:
    assert severity(rule, MEMORY=93, SM=40) == "high"
    assert severity(rule, MEMORY=40, SM=93) == "low"


def test_the_last_tenth_of_a_peak_is_a_severe_finding() -> None:
    assert [severity("near_peak_compute", SM=busy) for busy in (85, 91)] == ["medium", "high"]


def test_badly_coalesced_accesses_of_an_idle_memory_are_no_severe_fault() -> None:
    assert severity("poor_coalescing", MEMORY=2) == "medium"
    assert severity("poor_coalescing", MEMORY=35) == "high"


def test_atomics_are_contended_where_one_slice_works_and_all_else_idles() -> None:
    assert severity("atomic_contention") == "high"
    assert severity("atomic_contention", MEMORY=45) == "medium"
    assert severity("atomic_contention", BUSIEST_ATOMICS=40) == ""


@pytest.mark.parametrize("busy", [{"MEMORY": 85.0}, {"SM": 75.0}, {"ISSUE": 0.7}])
def test_atomics_of_a_launch_that_keeps_a_unit_busy_are_not_contended(
    busy: dict[str, float],
) -> None:
    assert severity("atomic_contention", **busy) == ""


@pytest.mark.parametrize("opcode", ["ATOMS", "REDUX", "LDG"])
def test_other_opcodes_are_no_global_atomics(opcode: str) -> None:
    metrics = PLANTED["atomic_contention"].metrics
    assert "atomic_contention" in found(Planted(metrics, {"ATOMG": 5e5}))
    assert "atomic_contention" not in found(Planted(metrics, {opcode: 5e5}))


@pytest.mark.parametrize("opcode", ["LDGSTS", "UTMALDG", "UBLKCP"])
def test_tiles_that_are_copied_past_l1_are_no_fault_of_its_hit_rate(opcode: str) -> None:
    planted = PLANTED["low_l1_hit"]
    assert "low_l1_hit" in found(planted)
    copied = {**OPCODES, "LDG": 1e5, opcode: 1e7}
    assert "low_l1_hit" not in found(Planted(planted.metrics, copied, planted.facts))


def test_a_place_that_rounds_to_nothing_is_left_out() -> None:
    assert len(found(Planted(hottest=30))["hot_line"].lines) == 3
    assert len(found(Planted(hottest=10_000))["hot_line"].lines) == 1


def test_the_first_of_many_places_is_named_however_little_it_is() -> None:
    launch = profile(PLANTED["divergence"]).launches[0]
    counter = "smsp__branch_targets_threads_divergent"
    lines = tuple(
        each.model_copy(update={"counters": {counter: 1.0}}) for each in instructions(1, lines=300)
    )
    whole = run(launch.model_copy(update={"instructions": lines}))
    (told,) = findings(whole, PLANTED["divergence"].facts).ranked
    assert [line.place for line in told.lines] == ["kernel.cu:10"]
