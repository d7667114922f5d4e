"""Findings of kernels that were not run: those that plan, compiler and PTX are enough for."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from ptx_texts import text
from static_plans import FACTS, H100, plan

from kernelwright.analysis.regions import RegionDag, region_dag
from kernelwright.analysis.rules.card import card
from kernelwright.analysis.rules.findings import Findings
from kernelwright.analysis.rules.model import Facts
from kernelwright.analysis.rules.static import static_profile
from kernelwright.analysis.rules.unrun import STATIC_RULES, without_counters
from kernelwright.runners.model import KernelFacts

FULL = 132 * 8
"""blocks of 256 threads that fill an H100 once"""
MATRICES = Facts(matrix_work=True)


def found(
    kernel: KernelFacts = FACTS,
    dags: Mapping[str, RegionDag] | None = None,
    facts: Facts | None = None,
    grid: int = FULL,
) -> Findings:
    profile = static_profile(plan(grid), [kernel], H100)
    assert profile is not None
    return without_counters(profile, [kernel], dags or {}, facts)


def fired(told: Findings) -> list[str]:
    return [each.rule for each in told.ranked]


def of_text(name: str) -> dict[str, RegionDag]:
    return {"k": region_dag(text(name))}


def test_a_kernel_without_faults_has_no_findings() -> None:
    assert fired(found(dags=of_text("sgemm"))) == []


@pytest.mark.parametrize(("spilled", "severity"), [(8, "low"), (400, "medium")])
def test_spills_that_the_compiler_tells_are_a_finding(spilled: int, severity: str) -> None:
    (told,) = found(FACTS.model_copy(update={"spill_bytes": spilled})).ranked
    assert (told.rule, told.severity, told.static) == ("register_spill", severity, True)
    assert f"{spilled} bytes" in told.text


def test_what_limits_occupancy_is_named() -> None:
    assert fired(found(FACTS.model_copy(update={"registers": 128}), grid=132 * 2)) == [
        "register_limited"
    ]
    shared = FACTS.model_copy(update={"static_shared": 48 * 1024})
    assert fired(found(shared, grid=132 * 4)) == ["smem_limited"]


def test_kernels_on_tensor_cores_may_have_few_warps() -> None:
    wide = FACTS.model_copy(update={"registers": 128})
    assert fired(found(wide, of_text("wgmma_gemm"), MATRICES, grid=132 * 2)) == []


def test_matrices_multiplied_without_tensor_cores_are_a_finding() -> None:
    assert fired(found(dags=of_text("sgemm"), facts=MATRICES)) == ["tensor_unused"]
    assert fired(found(dags=of_text("wgmma_gemm"), facts=MATRICES)) == []
    (told,) = found(dags=of_text("sgemm"), facts=MATRICES).ranked
    assert (told.share, told.kernel) == (1.0, "")


def test_ptx_that_was_not_read_or_calls_others_says_nothing_of_tensor_cores() -> None:
    for dags in ({}, of_text("calls")):
        told = found(dags=dags, facts=MATRICES)
        assert "tensor_unused" not in fired(told)
        assert "tensor_unused" in {each.rule for each in told.unknown}


def test_arithmetic_that_may_not_fuse_is_a_finding() -> None:
    """`mul.rn` and `add.rn` stay apart; without `.rn` an assembler may fuse them."""
    fma = r"fma\.rn\.f32 \t(%f\d+), (%f\d+), (%f\d+), (%f\d+);"
    for rounding, wanted in ((".rn", ["non_fused_fp"]), ("", [])):
        two = rf"mul{rounding}.f32 \1, \2, \3; add{rounding}.f32 \1, \1, \4;"
        apart, count = re.subn(fma, two, text("sgemm"))
        assert count == 64
        assert fired(found(dags={"k": region_dag(apart)})) == wanted


def test_what_is_found_without_counters_says_so() -> None:
    told = found(FACTS.model_copy(update={"spill_bytes": 8}), grid=20)
    assert {each.rule for each in told.ranked} == {"low_waves_per_sm", "register_spill"}
    assert all(each.static for each in told.ranked)
    profile = static_profile(plan(20), [FACTS], H100)
    assert profile is not None and "static" in card(profile, told)
    assert "register_spill" not in {each.rule for each in told.unknown}


def test_static_rules_are_rows_of_the_table_with_their_own_reasons() -> None:
    assert len({rule.id for rule in STATIC_RULES}) == len(STATIC_RULES) == 7
    assert all(rule.because for rule in STATIC_RULES)
