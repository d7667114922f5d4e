"""What ncu counted on an H200: a planted fault comes first, and no rule has to guess."""

from __future__ import annotations

from pathlib import Path

import pytest
from planted_kernels import PAIRS
from real_reports import TWINS, needs_reader, real_launch, real_profile, report_of

from kernelwright.analysis.rules import names as n
from kernelwright.analysis.rules.card import card
from kernelwright.analysis.rules.findings import Findings, findings
from kernelwright.tools.ncu_summary import NcuSummaryArguments, ncu_summary
from kernelwright.tools.workbench import Workbench

pytestmark = needs_reader
KERNELS = [(rule, twin) for rule in PAIRS for twin in TWINS]


def found_in(rule: str, twin: str) -> Findings:
    return findings(real_profile(rule, twin), PAIRS[rule].facts)


TOO_LOUD = pytest.mark.xfail(reason="it also fires where all warps fit and blocks are short-lived")


@pytest.mark.parametrize(
    "rule", [pytest.param(r, marks=TOO_LOUD if r == "low_occupancy" else ()) for r in PAIRS]
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
    assert told.skills and told.skills[0] in told.next
