"""Rules on planted faults: each fires on its own, none on the healthy launch, and none guesses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import FACTS, HEALTHY, PLANTED, Planted, planted_launch, profile
from profiles import launch, run

from kernelwright.analysis.profile import names as n
from kernelwright.analysis.rules.card import card, top_stalls
from kernelwright.analysis.rules.derived import DERIVED, TENSOR_OPCODE
from kernelwright.analysis.rules.facts import facts_of, matrix_work
from kernelwright.analysis.rules.findings import Findings, findings, rank
from kernelwright.analysis.rules.model import Facts
from kernelwright.analysis.rules.table import RULES
from kernelwright.runners.limits.limits import Work
from kernelwright.runners.profiling.model import Advice, Metric, Profile
from kernelwright.runners.specs.io_contract import Contract

BY_ID = {rule.id: rule for rule in RULES}
REQUIRED = set(
    """severe_memory_bound near_peak_compute latency_bound huge_dram_traffic low_occupancy
    atomic_contention register_limited smem_limited register_spill low_waves_per_sm
    high_waves_per_sm tail_effect poor_coalescing low_l1_hit low_l2_hit smem_bank_conflicts
    stall_long_scoreboard stall_short_scoreboard stall_mio_throttle stall_math_pipe
    stall_barrier stall_wait stall_membar low_ipc divergence tensor_unused imbalance
    non_fused_fp hot_line occupancy_gap""".split()
)
TAIL = Advice(
    rule="LaunchConfiguration",
    name="Launch Configuration",
    kind="optimization",
    title="Tail Effect",
    message="a partial wave",
    speedup_percent=50.0,
    scope="global",
)
metric_names = st.sampled_from(sorted(HEALTHY))


def fired(found: Findings) -> list[str]:
    return [each.rule for each in found.ranked]


def of(planted: Planted) -> Findings:
    return findings(profile(planted), planted.facts)


def without(whole: Profile, metric: str) -> Profile:
    only = whole.launches[0]
    left = {name: value for name, value in only.metrics.items() if name != metric}
    return run(only.model_copy(update={"metrics": left}))


def test_every_rule_has_an_id_of_its_own_and_a_planted_fault() -> None:
    assert len(BY_ID) == len(RULES)
    assert set(BY_ID) >= REQUIRED
    assert set(PLANTED) == set(BY_ID)


def test_a_healthy_launch_has_no_findings_and_nothing_unknown() -> None:
    found = of(Planted())
    assert (fired(found), found.unknown) == ([], ())
    assert set(found.silent) == set(BY_ID)


def test_a_rule_names_the_page_of_its_own_name_where_it_has_one() -> None:
    assert BY_ID["smem_bank_conflicts"].skill == "smem-bank-conflicts"
    assert BY_ID["block_limited"].skill == "low-occupancy"


@pytest.mark.parametrize("rule", PLANTED)
def test_a_rule_fires_on_its_planted_fault(rule: str) -> None:
    found = of(PLANTED[rule])
    assert rule in fired(found), found
    (finding,) = (each for each in found.ranked if each.rule == rule)
    assert set(finding.values) == set(BY_ID[rule].needs)
    assert finding.text and finding.action and finding.because


NEEDED = [
    (rule.id, metric)
    for rule in RULES
    for need in rule.needs
    for metric in (DERIVED[need].metrics if need in DERIVED else (need,))
]


@pytest.mark.parametrize(("rule", "metric"), NEEDED)
def test_without_any_metric_that_it_needs_a_rule_is_unknown(rule: str, metric: str) -> None:
    planted = PLANTED[rule]
    found = findings(without(profile(planted), metric), planted.facts)
    assert rule not in fired(found) and rule not in found.silent
    (unknown,) = (each for each in found.unknown if each.rule == rule)
    assert metric in unknown.missing


@pytest.mark.parametrize("rule", ["huge_dram_traffic", "low_l1_hit", "low_l2_hit", "tensor_unused"])
def test_what_the_contract_does_not_say_leaves_a_rule_unknown(rule: str) -> None:
    found = findings(profile(PLANTED[rule]), Facts())
    (unknown,) = (each for each in found.unknown if each.rule == rule)
    assert not n.section(unknown.missing[0])


@given(
    st.dictionaries(metric_names, st.floats(min_value=0, max_value=1e12), max_size=12),
    st.sets(metric_names, max_size=6),
)
def test_every_rule_is_exactly_one_of_fired_silent_and_unknown(
    changed: dict[str, float], missing: set[str]
) -> None:
    metrics = {name: v for name, v in {**HEALTHY, **changed}.items() if name not in missing}
    found = findings(run(launch(metrics)), FACTS)
    spoken = [*fired(found), *found.silent, *(each.rule for each in found.unknown)]
    assert sorted(spoken) == sorted(BY_ID)


@pytest.mark.parametrize(
    "rule",
    [
        "smem_bank_conflicts",
        "poor_coalescing",
        "register_spill",
        "low_occupancy",
        "tail_effect",
        "divergence",
        "tensor_unused",
        "stall_barrier",
    ],
)
def test_a_cause_comes_before_what_follows_from_it(rule: str) -> None:
    consequences = {n.stall("short_scoreboard"): 8, n.ISSUE: 0.25, n.SM: 30, n.MEMORY: 35}
    planted = PLANTED[rule]
    metrics = {**consequences, **planted.metrics}
    found = of(Planted(metrics, planted.opcodes, planted.facts, hottest=30))
    assert fired(found)[0] == rule
    assert len(found.ranked) > 2


def test_agreement_of_nvidias_rule_raises_the_rank_and_gives_its_estimate() -> None:
    planted = PLANTED["tail_effect"]
    (alone,) = of(planted).ranked
    (agreed,) = findings(profile(planted, (TAIL,)), planted.facts).ranked
    assert (alone.agreed, agreed.agreed) == (False, True)
    assert rank(agreed) > rank(alone)
    assert (agreed.speedup_percent, agreed.scope) == (50.0, "global")


def test_advice_that_no_rule_of_ours_shares_is_kept_beside() -> None:
    found = findings(profile(Planted(), (TAIL,)), FACTS)
    assert found.ranked == ()
    assert [each.title for each in found.others] == ["Tail Effect"]
    told = card(profile(Planted(), (TAIL,)), found)
    assert "Tail Effect (50 % global; our tail_effect finds nothing): a partial wave" in told


@pytest.mark.parametrize(
    "advice",
    [
        TAIL.model_copy(update={"speedup_percent": 0.3}),
        TAIL.model_copy(update={"rule": "MemoryL2Compression", "title": "Low Compression Rate"}),
    ],
)
def test_advice_that_nobody_can_follow_or_gain_by_is_left_out(advice: Advice) -> None:
    assert findings(profile(Planted(), (advice,)), FACTS).others == ()


def test_advice_is_cut_between_words() -> None:
    long = TAIL.model_copy(update={"message": "lengthily " * 40})
    whole = profile(Planted(), (long,))
    last = card(whole, findings(whole, FACTS)).splitlines()[-1]
    assert last.endswith(" lengthily...") and len(last) <= 183


def test_a_share_above_all_is_told_as_all() -> None:
    """ncu counts hits and sectors in different passes: an H200 told of 102 % hits."""
    whole = profile(Planted({n.L2_HIT: 101.6}))
    assert "L2 hit 100 %" in card(whole, findings(whole, FACTS))


def test_a_finding_counts_for_the_part_of_the_time_that_its_kernel_takes() -> None:
    short = {**PLANTED["divergence"].metrics, n.TIME: 50_000}
    found = findings(
        run(
            planted_launch(Planted(short), kernel="short"),
            planted_launch(PLANTED["tail_effect"], kernel="long"),
            planted_launch(PLANTED["tail_effect"], kernel="long"),
        ),
        Facts(work=Work(bytes=3e9)),
    )
    first, second = found.ranked
    assert (first.rule, first.kernel, second.rule) == ("tail_effect", "long", "divergence")
    assert first.share == pytest.approx(10 / 11)
    assert second.share == pytest.approx(1 / 11)


def test_a_short_launch_is_of_low_confidence() -> None:
    planted = PLANTED["divergence"]
    short = Planted({**planted.metrics, n.TIME: 4_000})
    assert {each.confidence for each in of(short).ranked} == {"low"}
    assert {each.confidence for each in of(planted).ranked} == {"normal"}


def test_a_finding_names_the_lines_to_blame() -> None:
    (found,) = of(PLANTED["hot_line"]).ranked
    assert found.lines[0].place == "kernel.cu:10"
    assert found.lines[0].share == pytest.approx(30 / 49)


@pytest.mark.parametrize("rule", ["register_limited", "smem_limited", "low_occupancy"])
def test_occupancy_is_no_fault_where_compute_is_busy_already(rule: str) -> None:
    busy = Planted({**PLANTED[rule].metrics, n.SM: 90})
    assert rule not in fired(of(busy))


def test_fewer_warps_than_fit_are_no_fault_where_memory_is_busy_already() -> None:
    gap = {n.THEORETICAL: 100, n.ACHIEVED: 60}
    assert fired(of(Planted(gap))) == ["occupancy_gap"]
    assert "occupancy_gap" not in fired(of(Planted({**gap, n.MEMORY: 92, n.SM: 20})))
    assert "occupancy_gap" not in fired(of(Planted({**gap, n.ISSUE: 0.85})))


@pytest.mark.parametrize("rule", ["register_limited", "smem_limited", "low_occupancy"])
def test_few_warps_are_a_slight_fault_where_one_is_ready_mostly(rule: str) -> None:
    def severity(issued: float) -> str:
        found = of(Planted({**PLANTED[rule].metrics, n.ISSUE: issued}))
        return next(each.severity for each in found.ranked if each.rule == rule)

    assert severity(0.3) != "low"
    assert severity(0.65) == "low"


@pytest.mark.parametrize(
    ("level", "word", "advice"),
    [(n.DRAM, "DRAM", "fuse"), (n.L2, "L2", "ask less of L2"), (n.L1, "L1", "no bank conflicts")],
)
def test_a_busy_memory_says_which_level_and_what_helps_there(
    level: str, word: str, advice: str
) -> None:
    idle = {n.DRAM: 10, n.L2: 12, n.L1: 14}
    busy = of(Planted({**idle, n.MEMORY: 90, n.SM: 30, level: 93}))
    (found,) = (each for each in busy.ranked if each.rule == "severe_memory_bound")
    assert f"busiest is {word}" in found.text
    assert advice in found.action


def test_short_blocks_matter_while_no_unit_is_near_its_peak() -> None:
    short = {n.WAVES: 500.5, n.TIME: 300_000}
    assert of(Planted({**short, n.SM: 40, n.MEMORY: 50})).ranked[0].severity == "medium"
    (found,) = of(Planted({**short, n.SM: 40, n.MEMORY: 88, n.DRAM: 88})).ranked[1:]
    assert (found.rule, found.severity) == ("high_waves_per_sm", "low")


@pytest.mark.parametrize("opcode", ["FADD", "FMUL"])
def test_additions_or_multiplications_alone_have_nothing_to_fuse_with(opcode: str) -> None:
    apart = {**PLANTED["non_fused_fp"].opcodes, "FADD": 0, "FMUL": 0, opcode: 6e7}
    assert "non_fused_fp" not in fired(of(Planted(opcodes=apart)))


def test_a_hot_line_is_no_finding_while_instructions_are_issued() -> None:
    assert "hot_line" not in fired(of(Planted({n.ISSUE: 0.85}, hottest=30)))


def test_a_tensor_kernel_may_run_few_warps() -> None:
    few = {n.THEORETICAL: 25, n.ACHIEVED: 24, n.LIMIT_SHARED: 2}
    assert "smem_limited" in fired(of(Planted(few)))
    assert "smem_limited" not in fired(of(Planted({**few, n.TENSOR: 55})))


@pytest.mark.parametrize("waves", [1.0, 1.95, 3.98, 9.1])
def test_a_last_wave_that_is_full_or_one_of_many_is_no_tail(waves: float) -> None:
    assert "tail_effect" not in fired(of(Planted({n.WAVES: waves})))


def test_stalls_do_not_matter_while_instructions_are_issued() -> None:
    busy = Planted({**PLANTED["stall_barrier"].metrics, n.ISSUE: 0.85})
    assert "stall_barrier" not in fired(of(busy))


@pytest.mark.parametrize("level", [n.DRAM, n.L2, n.L1])
def test_waiting_for_memory_at_its_peak_comes_after_what_loads_it(level: str) -> None:
    streaming = {n.MEMORY: 91, level: 91, n.SM: 25}
    found = of(Planted({**PLANTED["stall_long_scoreboard"].metrics, **streaming}))
    assert fired(found)[:2] == ["severe_memory_bound", "stall_long_scoreboard"]
    assert found.ranked[1].severity == "low"


@pytest.mark.parametrize("opcode", ["HMMA", "HGMMA", "IMMA", "IGMMA", "DMMA", "QGMMA", "UTCHMMA"])
def test_opcodes_of_tensor_cores_are_known(opcode: str) -> None:
    assert TENSOR_OPCODE.fullmatch(opcode)
    planted = PLANTED["tensor_unused"]
    used = Planted(opcodes={**planted.opcodes, opcode: 5.0}, facts=planted.facts)
    assert "tensor_unused" not in fired(of(used))


@pytest.mark.parametrize("opcode", ["FFMA", "HFMA2", "IMAD", "MUFU"])
def test_other_opcodes_are_none_of_tensor_cores(opcode: str) -> None:
    assert not TENSOR_OPCODE.fullmatch(opcode)


def contract(dtype: str, *shapes: list[Any], math: str = "ieee") -> Contract:
    roles = ["input"] * (len(shapes) - 1) + ["output"]
    arguments = [
        {"name": f"a{i}", "role": role, "dtype": dtype, "shape": shape}
        for i, (role, shape) in enumerate(zip(roles, shapes, strict=True))
    ]
    return Contract.model_validate({"arguments": arguments, "math": math, "bytes": "8 * M"})


def test_a_contraction_of_two_inputs_is_matrix_work() -> None:
    assert matrix_work(contract("float16", ["M", "K"], ["K", "N"], ["M", "N"])) is True
    assert matrix_work(contract("float16", ["M * K"], ["K * N"], ["M * N"])) is True
    assert matrix_work(contract("float32", ["M", "K"], ["K", "N"], ["M", "N"], math="tf32")) is True


def test_exact_fp32_keeps_tensor_cores_out() -> None:
    assert matrix_work(contract("float32", ["M", "K"], ["K", "N"], ["M", "N"])) is False


@pytest.mark.parametrize(
    "shapes", [(["M", "K"], ["K"], ["M"]), (["M"], ["M"], ["M"]), (["M", "N"], ["M"])]
)
def test_other_shapes_do_not_say_whether_it_is(shapes: tuple[list[str], ...]) -> None:
    assert matrix_work(contract("float16", *shapes)) is None


def test_facts_have_the_declared_work_at_the_sizes() -> None:
    facts = facts_of(contract("float16", ["M", "K"], ["K"], ["M"]), {"M": 4, "K": 2})
    assert (facts.work.bytes, facts.work.flops) == (32, None)


def test_the_card_of_the_worst_launch_stays_small() -> None:
    every = {name: v for each in PLANTED.values() for name, v in each.metrics.items()}
    loud = tuple(
        TAIL.model_copy(update={"title": f"Title {i}", "message": "word " * 400}) for i in range(9)
    )
    worst = [planted_launch(Planted(every), kernel="k" * 300, advice=loud) for _ in range(30)]
    text = card(run(*worst), findings(run(*worst), Facts()))
    assert len(text) < 4500  # 1,500 tokens at 3 characters each, of which there are more
    assert text.count("\n") < 50


def test_the_card_leads_with_bottleneck_roofs_and_the_first_finding() -> None:
    planted = PLANTED["poor_coalescing"]
    whole = profile(planted, (TAIL,))
    lines = card(whole, findings(whole, planted.facts)).splitlines()
    assert lines[1].startswith("bottleneck  compute_bound: memory at 65 %")
    assert lines[2].startswith("roofs       compute 70 % (30 % left)")
    assert any(line.startswith("1. poor_coalescing (high)") for line in lines)
    assert "NVIDIA also says:" in lines


def test_the_card_names_the_kernel_of_a_finding_where_there_are_several() -> None:
    slow = PLANTED["divergence"]
    whole = run(planted_launch(slow, kernel="left"), planted_launch(Planted(), kernel="right"))
    text = card(whole, findings(whole, Facts()))
    assert "1. divergence (high; left, 50% of the time)" in text
    assert "launches    left x1 50%, right x1 50%" in text


def test_the_card_says_what_is_missing() -> None:
    bare = run(launch({n.WAVES: 8.0}))
    text = card(bare, findings(bare))
    assert "rules are unknown" in text
    assert "rules, which need SpeedOfLight, ComputeWorkloadAnalysis" in text
    nearly = profile(Planted())
    said = card(nearly, findings(nearly)).splitlines()[-1]
    assert "huge_dram_traffic, low_l1_hit, low_l2_hit (needs bytes of the contract)" in said
    assert "0.0 us" not in text


def test_stalls_are_shares_of_a_warps_time() -> None:
    only = profile(PLANTED["stall_barrier"]).launches[0]
    assert top_stalls(only)[0] == ("barrier", pytest.approx(12 / 22))
    assert "selected" not in dict(top_stalls(only, most=99))


def test_a_metric_of_text_is_no_number() -> None:
    only = profile(Planted()).launches[0]
    odd = only.model_copy(update={"metrics": {**only.metrics, n.SM: Metric(value="n/a")}})
    assert "near_peak_compute" in {u.rule for u in findings(run(odd), FACTS).unknown}
