"""Samples that ncu took on an H200, joined to a build made here of the same source: at the line and
in the region where they were taken, or not at all."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import gpu_lift
import pytest
from device_kernels import built
from planted_kernels import COPY, PAIRS
from real_reports import TWINS, needs_reader, real_launch, report_of

from kernelwright.analysis.ptx import read_ptx
from kernelwright.analysis.regions import region_dag_of
from kernelwright.analysis.regions.blame import samples_by_region
from kernelwright.analysis.sass import read_sass
from kernelwright.analysis.spans import KernelCode, join
from kernelwright.analysis.spans.profile import counts_by_line, line_profile, other_build
from kernelwright.runners.profiling.wanted import SAMPLES
from kernelwright.runners.toolchains.cuda_request import present
from kernelwright.search.session.workbench import Workbench
from kernelwright.tools.ncu_summary import NcuSummaryArguments, ncu_summary
from kernelwright.tools.ptx_for_source_span import SpanArguments, ptx_for_source_span
from kernelwright.tools.region_dag import RegionDagArguments, region_dag

pytestmark = [needs_reader, pytest.mark.skipif("nvrtc" not in present(), reason="no NVRTC here")]
KERNELS = [(rule, twin) for rule in PAIRS for twin in TWINS]
needs_builds = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")


def code_of(source: str) -> KernelCode:
    cubin, ptx = built(source, "sm_90a")
    return join("twice", read_ptx(ptx), read_sass(cubin))


@pytest.mark.parametrize(("rule", "twin"), KERNELS)
def test_every_sample_lies_at_the_line_that_the_report_says_or_none_is_placed(
    rule: str, twin: str
) -> None:
    launch = real_launch(rule, twin)
    code = code_of(getattr(PAIRS[rule], twin).source)
    if other_build(launch, code):
        lines = {each.offset: each.line for each in launch.instructions}
        ours = {each.offset: each.place[0].line for each in code.sass if each.place}
        assert any(ours.get(at) != line for at, line in lines.items())
        return
    said = Counter[int | None]()
    for each in launch.instructions:
        said[each.line] += int(each.counters.get(SAMPLES, 0))
    placed = counts_by_line(line_profile(launch), code, "test.cu")
    assert {line: counts.samples for line, counts in placed.items()} == said


def test_most_samples_of_a_spilling_kernel_lie_in_the_loop_that_spills() -> None:
    launch = real_launch("register_spill", "faulty")
    source = PAIRS["register_spill"].faulty.source
    cubin, ptx = built(source, "sm_90a")
    module = read_ptx(ptx)
    code, dag = join("twice", module, read_sass(cubin)), region_dag_of(module, "twice")
    if why := other_build(launch, code):
        pytest.skip(f"the NVRTC here makes other code than that of the report: {why}")
    found, elsewhere = samples_by_region(dag, code, line_profile(launch))
    every = sum(each.counters.get(SAMPLES, 0) for each in launch.instructions)
    assert sum(found.values()) + elsewhere == every
    within = sum(number for at, number in found.items() if dag.regions[at].loop is not None)
    assert within > every / 2


@pytest.mark.parametrize(
    ("rule", "twin"), [("poor_coalescing", "faulty"), ("divergence", "faulty")]
)
def test_counters_of_another_build_are_refused(rule: str, twin: str) -> None:
    """Both kernels are called `twice`, and most offsets of one exist in the other."""
    why = other_build(real_launch(rule, twin), code_of(PAIRS["tail_effect"].faulty.source))
    assert "instructions are not those of this build" in why


def test_code_without_a_line_of_its_own_makes_no_other_build_of_a_report() -> None:
    """Compilers write line 0 for it, and our line table has it stay with the line before."""
    for rule in PAIRS:
        launch, code = real_launch(rule, "faulty"), code_of(PAIRS[rule].faulty.source)
        if not other_build(launch, code):
            first, *others = launch.instructions
            unplaced = (first.model_copy(update={"line": 0}), *others)
            assert not other_build(launch.model_copy(update={"instructions": unplaced}), code)


def ask(folder: Path, report: Path, blocks: int) -> tuple[str, str]:
    """(whose samples stand beside lines, which region is to blame) of a copy of so many blocks,
    with a report."""
    changes = gpu_lift.spec()["kernel"] | {"source_code": COPY}
    changes |= {"metadata": {"kernel_name": "twice"}}
    usual = {"name": "usual", "symbols": {"n": 256 * blocks}}
    with Workbench(folder / "out", [folder]) as bench:
        record = bench.evaluator.open(
            gpu_lift.load(folder, kernel=changes, parameters={}, workloads=[usual])
        )
        of = record.baseline
        ncu_summary(bench, NcuSummaryArguments(variant_id=of, report=report.name))
        lines = ptx_for_source_span(bench, SpanArguments(variant_id=of, start=1, end=4))
        regions = region_dag(bench, RegionDagArguments(variant_id=of))
    return lines.profile, regions.hot_region or ""


@needs_builds
def test_the_tools_place_the_samples_of_a_users_report(tmp_path: Path) -> None:
    report = report_of("low_occupancy", "repaired", tmp_path)
    lines, region = ask(tmp_path, report, 65536)
    if "left out" in lines:
        pytest.skip(f"the compiler here makes other code than that of the report: {lines}")
    counted = real_launch("low_occupancy", "repaired").instructions
    assert lines == f"{sum(e.counters.get(SAMPLES, 0) for e in counted):.0f} samples of twice"
    assert region.endswith(" % of samples)")


@needs_builds
def test_the_tools_say_when_a_users_report_is_of_another_build(tmp_path: Path) -> None:
    """Its name fits and its machine code does not: no sample is placed, and region_dag blames by
    work."""
    lines, region = ask(tmp_path, report_of("divergence", "faulty", tmp_path), 4096)
    assert lines.startswith("the profile of twice that is kept is left out: ")
    assert "of its 37 instructions are not those of this build" in lines
    assert "by work, no time" in region and "not those of this build" in region
