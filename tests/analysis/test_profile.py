"""Profiles asked: metrics by name, launches by share, lines by samples, roofs by level."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import HEALTHY, Planted, instructions, planted_launch
from profiles import launch, run

from kernelwright.analysis.levels import levels
from kernelwright.analysis.profile import names as n
from kernelwright.analysis.profile.lines import by_line, hottest, opcode, stalls_at
from kernelwright.analysis.profile.metrics import metric, search
from kernelwright.analysis.profile.shares import shares, total, weighted
from kernelwright.analysis.roofline import roofline
from kernelwright.analysis.rules.bottleneck import bottleneck
from kernelwright.analysis.rules.findings import findings
from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.limits.limits import Peaks, Work
from kernelwright.runners.profiling.model import Instruction
from kernelwright.runners.profiling.wanted import SAMPLES

ONE = launch(HEALTHY)
PEAKS = Peaks(
    copy_bytes_per_s=3e12, flops_per_s=60e12, source="measured", cold=True, device="a", method="b"
)
times = st.lists(st.floats(min_value=1, max_value=1e9), min_size=1, max_size=8)


def test_a_metric_is_found_by_its_exact_name() -> None:
    assert metric(ONE, n.WAVES).value == 8.0


def test_a_wrong_name_is_answered_with_those_spelt_alike() -> None:
    with pytest.raises(KernelwrightError, match=n.L2_HIT):
        metric(ONE, "lts__t_sector_hitrate.pct")


def test_names_are_searched_by_all_words() -> None:
    assert list(search(ONE, "dram bytes")) == [n.DRAM_READ, n.DRAM_WRITTEN]
    assert list(search(ONE, "DRAM bytes", limit=1)) == [n.DRAM_READ]
    assert search(ONE, "no such") == {}


@given(times)
def test_shares_add_up_to_one_and_weigh_by_time(nanoseconds: list[float]) -> None:
    whole = run(*(launch({n.TIME: t, n.SM: 40.0, n.DRAM_READ: 2}) for t in nanoseconds))
    parts = shares(whole)
    assert parts is not None
    assert sum(parts) == pytest.approx(1)
    assert weighted(whole, n.SM) == pytest.approx(40)
    assert total(whole, n.DRAM_READ) == 2 * len(nanoseconds)


def test_a_mean_leans_to_the_longer_launch() -> None:
    whole = run(launch({n.TIME: 300, n.SM: 80}), launch({n.TIME: 100, n.SM: 20}))
    assert weighted(whole, n.SM) == pytest.approx(65)


def test_what_one_launch_lacks_is_unknown_for_the_run() -> None:
    whole = run(launch({n.TIME: 300, n.SM: 80}), launch({n.TIME: 100}))
    assert weighted(whole, n.SM) is None
    assert total(whole, n.DRAM_READ) is None
    assert shares(run(launch({}), launch({n.TIME: 1}))) is None


def test_counters_of_one_line_are_summed() -> None:
    twice = tuple(
        Instruction(offset=16 * i, file="a/k.cu", line=5 + i // 2, counters={SAMPLES: 10.0 + i})
        for i in range(4)
    )
    first, second = by_line(twice, SAMPLES)
    assert [(each.place, each.count) for each in (first, second)] == [
        ("k.cu:6", 25),
        ("k.cu:5", 21),
    ]
    assert first.share + second.share == pytest.approx(1)


def test_without_line_tables_the_instruction_is_the_place() -> None:
    lone = (Instruction(offset=0x1A0, sass="LDG R1", counters={SAMPLES: 3}),)
    (found,) = by_line(lone, SAMPLES)
    assert (found.place, found.sass) == ("+0x1a0", "LDG R1")


def test_only_what_exceeds_the_ideal_is_counted() -> None:
    pair = (
        Instruction(offset=0, counters={"actual": 8, "ideal": 8}),
        Instruction(offset=16, counters={"actual": 32, "ideal": 4}),
    )
    (found,) = by_line(pair, "actual", "ideal")
    assert (found.place, found.count) == ("+0x10", 28)


def test_the_hottest_line_has_its_share_and_its_first_stall() -> None:
    found = hottest(instructions(hottest=20))
    assert found == (pytest.approx(20 / 39), pytest.approx(0.8))
    assert list(stalls_at(instructions(1), "kernel.cu:12")) == ["long_scoreboard", "selected"]
    assert hottest(()) is None


@pytest.mark.parametrize(
    ("memory", "compute", "kind"),
    [(90, 30, "memory_bound"), (30, 90, "compute_bound"), (40, 50, "latency_bound")],
)
def test_the_bottleneck_follows_the_busier_side(memory: float, compute: float, kind: str) -> None:
    found = bottleneck(run(launch({n.MEMORY: memory, n.SM: compute})))
    assert (found.kind, found.confidence) == (kind, "normal")
    assert f"{memory} %" in found.text and f"{compute} %" in found.text


def test_without_counters_the_bottleneck_rests_on_the_time_alone() -> None:
    busy = roofline(Work(bytes=2.7e9, flops=1e9), PEAKS, 1e-3)
    found = bottleneck(None, busy)
    assert (found.kind, found.confidence) == ("memory_bound", "low")
    assert "low confidence" in found.describe()
    idle = roofline(Work(bytes=1e8, flops=1e9), PEAKS, 1e-3)
    assert bottleneck(None, idle).kind == "latency_bound"
    assert bottleneck(None).kind == "unknown"


def test_every_level_has_its_share_headroom_bytes_and_intensity() -> None:
    found = {each.where: each for each in levels(run(ONE), Work(flops=2e9), None)}
    assert set(found) == {"compute", "tensor", "L1", "L2", "DRAM"}
    dram = found["DRAM"]
    assert (dram.share, dram.headroom_percent) == (pytest.approx(0.6), pytest.approx(40))
    assert (dram.bytes, dram.flops_per_byte) == (1e9, 2.0)
    assert found["L1"].bytes is None


def test_roofs_come_nearest_first_and_without_counters_from_the_time() -> None:
    nearest = levels(run(ONE), Work(), None)[0]
    assert nearest.where == "compute"
    timed = levels(None, Work(), roofline(Work(bytes=2.7e9, flops=6e9), PEAKS, 1e-3))
    assert [(each.where, each.confidence) for each in timed] == [
        ("DRAM", "low"),
        ("compute", "low"),
    ]


def test_without_a_profile_every_rule_is_unknown() -> None:
    found = findings(None, roofline=roofline(Work(bytes=2.7e9, flops=6e9), PEAKS, 1e-3))
    assert found.ranked == () and found.silent == ()
    assert {each.missing for each in found.unknown} == {("a profile",)}
    assert found.bottleneck.confidence == "low"


def test_launches_of_one_kernel_share_one_finding() -> None:
    slow = Planted({n.WORKING_THREADS: 4})
    found = findings(run(*(planted_launch(slow) for _ in range(3))))
    (only,) = found.ranked
    assert only.share == pytest.approx(1)


@pytest.mark.parametrize(
    ("sass", "name"),
    [
        ("REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R7", "REDG"),
        ("@!P0 LDG.E.U8 R5, desc[UR4][R4.64]", "LDG"),
        ("@P0   EXIT", "EXIT"),
        ("", ""),
    ],
)
def test_an_opcode_is_the_first_word_without_predicate_and_modifiers(sass: str, name: str) -> None:
    assert opcode(sass) == name
