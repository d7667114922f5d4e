"""What ncu counted on an H200: a planted fault comes first, and no rule has to guess."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

import pytest
from planted_kernels import PAIRS
from real_reports import (
    KNOWN,
    TWINS,
    known_facts,
    known_profile,
    needs_reader,
    real_launch,
    real_profile,
    report_of,
)
from tiers import cases

from kernelwright.analysis.profile import names as n
from kernelwright.analysis.rules.card import card, top_stalls
from kernelwright.analysis.rules.findings import Findings, findings
from kernelwright.search.session.workbench import Workbench
from kernelwright.skills.catalogue import read
from kernelwright.tools.ncu_summary import NcuSummaryArguments, ncu_summary

pytestmark = needs_reader
GOLDEN = Path(__file__).parents[2] / "golden" / "card_of_spills.txt"
KERNELS = [(rule, twin) for rule in PAIRS for twin in TWINS]


def found_in(rule: str, twin: str) -> Findings:
    return findings(real_profile(rule, twin), PAIRS[rule].facts)


@cases(
    "rule",
    PAIRS,
    why="further rules: tests/analysis/rules asks each of them on counters of its own",
)
def test_a_planted_fault_comes_first_and_vanishes_when_repaired(rule: str) -> None:
    assert found_in(rule, "faulty").ranked[0].rule == rule
    assert rule in found_in(rule, "repaired").silent


@pytest.mark.parametrize(("rule", "twin"), KERNELS)
def test_every_metric_that_a_rule_needs_is_in_a_report_of_ours(rule: str, twin: str) -> None:
    """What is left unknown is what no report says: whether a kernel multiplies matrices."""
    unknown = {each.rule for each in found_in(rule, twin).unknown}
    assert unknown == (set() if PAIRS[rule].facts.matrix_work else {"tensor_unused"})
    launch = real_launch(rule, twin)
    assert {name for names in n.SECTIONS.values() for name in names} <= set(launch.metrics)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        (n.TIME, "ns"),
        (n.CLOCK, "hz"),
        (n.DRAM_READ, "byte"),
        (n.L2_WRITTEN, "byte"),
        (n.SHARED, "byte/block"),
        (n.LATENCY, "cycle"),
        (n.DRAM, "%"),
        (n.L2_HIT, "%"),
    ],
)
def test_units_are_the_base_units_that_rules_reckon_with(name: str, unit: str) -> None:
    assert {real_launch(*each).metrics[name].unit for each in KERNELS} == {unit}


FIRST = {
    "smem_bank_conflicts": "near_peak_compute medium",
    "poor_coalescing": "stall_long_scoreboard high",
    "register_spill": "low_occupancy low",
    "low_occupancy": "stall_long_scoreboard high",
    "tail_effect": "near_peak_compute high",
    "divergence": "near_peak_compute medium",
    "tensor_unused": "poor_coalescing medium",
    "stall_barrier": "near_peak_compute medium",
}
"""of the repaired twins, each reviewed: a copy of one element a thread waits for its only load, at
half of the bandwidth; products whose operands come from L1 alone load it with parts of sectors"""


@pytest.mark.parametrize("rule", PAIRS)
def test_the_first_finding_of_a_repaired_kernel_is_what_is_left_to_do(rule: str) -> None:
    first = found_in(rule, "repaired").ranked[0]
    assert f"{first.rule} {first.severity}" == FIRST[rule]


def test_short_lived_blocks_are_told_as_such_and_not_as_too_few_warps_that_fit() -> None:
    found = {each.rule: each for each in found_in("low_occupancy", "repaired").ranked}
    assert "low_occupancy" not in found
    assert found["high_waves_per_sm"].text == "62 waves of 0.8 us each: blocks do very little"
    assert found["occupancy_gap"].agreed and found["occupancy_gap"].role == "symptom"


def test_spills_have_a_line_to_blame() -> None:
    (spill, *_) = found_in("register_spill", "faulty").ranked
    assert spill.lines[0].place == "test.cu:10"
    assert spill.lines[0].sass.startswith(("LDL", "STL"))


@pytest.mark.parametrize(("rule", "twin"), KERNELS)
def test_what_ncu_names_and_has_no_value_for_is_not_there(rule: str, twin: str) -> None:
    """It names two counters of spills that it does not collect, and has shares of nothing."""
    metrics = real_launch(rule, twin).metrics
    spills = "sass__inst_executed_register_spilling"
    assert spills in metrics
    assert not {f"{spills}_mem_local", f"{spills}_mem_shared"} & set(metrics)
    numbers = [each.value for each in metrics.values() if isinstance(each.value, float)]
    assert all(isfinite(number) for number in numbers)


def test_the_card_of_a_real_profile_is_the_one_that_was_reviewed() -> None:
    told = card(real_profile("register_spill", "faulty"), found_in("register_spill", "faulty"))
    assert told + "\n" == GOLDEN.read_text("utf-8")


KNOWN_FIRST = {
    "triton_matmul": "memory_bound: severe_memory_bound high",
    "cuda_histogram": "latency_bound: atomic_contention high",
    "hgemm_wgmma": "compute_bound: near_peak_compute high",
    "triton_softmax": "memory_bound: stall_long_scoreboard medium",
    "cuda_sgemm": "memory_bound: severe_memory_bound high",
    "gemm_cuda_fp16": "memory_bound: tensor_unused high",
}
"""each reviewed: small tiles ask L2 for all they multiply; 256 bins in global memory are 1 KiB; the
best product leaves 6 % of its tensor cores; rows of a softmax wait for their only load at three
quarters of the bandwidth; one product a load keeps L1 busy; fp16 is multiplied without mma"""


def found_of(kernel: str) -> Findings:
    return findings(known_profile(kernel), known_facts(kernel))


@cases(
    "kernel",
    KNOWN,
    why="further reports of known kernels",
)
def test_of_a_known_kernel_comes_first_what_is_to_be_done_about_it(kernel: str) -> None:
    found = found_of(kernel)
    first = found.ranked[0]
    assert f"{found.bottleneck.kind}: {first.rule} {first.severity}" == KNOWN_FIRST[kernel]
    assert not found.unknown


@pytest.mark.parametrize("kernel", ["triton_matmul", "hgemm_wgmma", "gemm_cuda_fp16"])
def test_bytes_of_a_dram_that_idles_are_a_note(kernel: str) -> None:
    """Two to fifteen times the declared ones, at 1 to 24 % of what DRAM can do."""
    (traffic,) = (each for each in found_of(kernel).ranked if each.rule == "huge_dram_traffic")
    assert traffic.severity == "low"
    assert "of its peak alone" in traffic.text


def test_barriers_of_a_wgmma_pipeline_near_its_peak_are_a_note_at_the_places_that_count() -> None:
    (barrier,) = (e for e in found_of("hgemm_wgmma").ranked if e.rule == "stall_barrier")
    assert barrier.severity == "low" and "tensor cores at 94 %" in barrier.text
    assert [f"{line.place} {line.share:.0%}" for line in barrier.lines] == [
        "hgemm.cu:184 97%",
        "hgemm.cu:190 3%",
    ]


def test_contended_atomics_are_blamed_where_they_are_and_found_nowhere_else() -> None:
    contention = found_of("cuda_histogram").ranked[0]
    assert [line.place for line in contention.lines] == ["histogram.cu:14"]
    assert contention.lines[0].sass.startswith("REDG")
    others = [found_of(kernel) for kernel in KNOWN if kernel != "cuda_histogram"]
    assert all("atomic_contention" in f.silent for f in [*others, *(found_in(*k) for k in KERNELS)])


@pytest.mark.parametrize("kernel", KNOWN)
def test_the_card_of_a_known_kernel_is_one_page(kernel: str) -> None:
    assert len(card(known_profile(kernel), found_of(kernel))) < 4500


def implied(where: str) -> list[float]:
    """The roofs of a level in TB/s, of each profile that reaches a fiftieth of it: below that the
    counter is too coarse."""
    return [
        level.bytes / (real_launch(*each).nanoseconds or 1) / level.share / 1000
        for each in KERNELS
        for level in found_in(*each).levels
        if level.where == where and level.bytes and level.share > 0.02
    ]


def test_the_roof_of_dram_that_counters_imply_is_the_one_of_the_datasheet() -> None:
    assert len(implied("DRAM")) == 8
    assert implied("DRAM") == pytest.approx([4.8] * 8, rel=0.005)  # an H200 has 4.8 TB/s


def test_the_roof_of_l2_that_counters_imply_is_a_least_one() -> None:
    """Its counter is of its busiest part: for some kernels that is not what moves the bytes."""
    roofs = implied("L2")
    assert min(roofs) < 3 and max(roofs) == pytest.approx(12.2, rel=0.005)


def test_each_stall_of_a_real_report_is_explained_on_a_page() -> None:
    page = read("low-ipc")
    for each in KERNELS:
        reasons = {reason for reason, _ in top_stalls(real_launch(*each), most=99)}
        assert not {reason for reason in reasons if f"`{reason}`" not in page}


@pytest.mark.parametrize(("rule", "twin"), KERNELS)
def test_a_real_card_is_one_page(rule: str, twin: str) -> None:
    told = card(real_profile(rule, twin), found_in(rule, twin))
    assert len(told) < 4500  # 1,500 tokens at 3 characters each


@pytest.mark.parametrize("twin", TWINS)
def test_a_report_made_elsewhere_is_summarised_without_a_gpu(twin: str, tmp_path: Path) -> None:
    report = report_of("poor_coalescing", twin, tmp_path)
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        told = ncu_summary(bench, NcuSummaryArguments(report=report.name))
    assert told.summary[0].startswith("twice, NVIDIA H200, grid 65536x1x1 block 256x1x1")
    assert len(told.model_dump_json()) < 4500
    assert told.skills and told.skills[0] in told.next[0]
