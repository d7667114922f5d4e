"""What is told of a Region-DAG: overview, stage, region, and the difference between two."""

from __future__ import annotations

import json

import pytest
import region_golden
from ptx_texts import NAMES, text
from real_reports import known_code
from region_dags import dag, dag_of

from kernelwright.analysis import regions
from kernelwright.analysis.regions.divergence import Varies
from kernelwright.runners.errors import SpecError

# --- what is told


@pytest.mark.parametrize("name", NAMES)
def test_what_is_told_stays_small(name: str) -> None:
    found = dag(name)
    told = [regions.overview(found), regions.difference(found, dag("triton_matmul"))]
    told += [regions.stage(found, each.name) for each in found.stages]
    told += [regions.region(found, each.name) for each in found.regions]
    # about 3.3 characters of such JSON are a token: 1,500 tokens
    assert max(len(each.model_dump_json(exclude_none=True)) for each in told) < 4900


@pytest.mark.parametrize("name", region_golden.NAMES)
def test_five_kernels_are_told_as_they_were_reviewed(name: str) -> None:
    stored = (region_golden.FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert region_golden.golden(name) == json.loads(stored)


def test_the_overview_begins_with_what_the_loop_does() -> None:
    told = regions.overview(dag("triton_matmul"))
    first, second = told.hottest_regions[:2]
    assert {first.what, second.what} == {"async_copy", "tensor"}
    assert second.times == "(param5 + 31) / 32"
    assert second.source == "triton_kernels.py:72"
    assert told.loops[0].per_iteration["tensor.f16.m64n64k16 FLOPs"] == 2048


def test_a_remainder_loop_is_not_taken_for_the_hottest() -> None:
    assert regions.overview(dag("doubles")).hottest_regions[0].loop == "L1"


def test_branches_are_told_by_why_they_diverge() -> None:
    found = dag("collatz")
    assert all(branch.varies is Varies.data for branch in found.branches)
    assert "depend on loaded data" in regions.overview(found).branches


def test_what_is_called_is_said_not_to_be_counted() -> None:
    assert "_Z5norm3fff" in regions.overview(dag("calls")).notes[0]


def test_a_region_shows_its_code_and_where_it_comes_from() -> None:
    told = regions.region(dag("triton_matmul"), "R9")
    assert told.region.what == "tensor"
    assert "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" in told.ptx
    assert told.source_lines == {"triton_kernels.py": "72"}
    assert any(edge.kind == "async" for edge in told.needed_by)
    for line in told.ptx.split("\n"):
        number, _, statement = line.partition(": ")
        assert (
            statement.split()[0].lstrip("@!") in text("triton_matmul").split("\n")[int(number) - 1]
        )


def test_a_region_of_a_role_says_for_which_warps_it_runs() -> None:
    found = regions.region_dag(known_code("hgemm_wgmma")[0])
    names = {each.phase.value: each.name for each in found.regions}
    told = {what: regions.region(found, names[what]) for what in ("tensor", "async_copy")}
    assert "tid.x / 128 != 2" in (told["tensor"].runs_where or ())
    assert "tid.x == 256" in (told["async_copy"].runs_where or ())
    first = regions.region(found, "R1")
    assert first.runs_where is None


def test_a_stage_lists_its_regions() -> None:
    told = regions.stage(dag("triton_matmul"), "S3")
    assert told.opened_by == ("cp.async.wait_group 2", "bar.sync 0")
    assert [row.what for row in told.regions] == ["address", "sync", "tensor"]


@pytest.mark.parametrize("name", ["R0", "R99", "9", "", "S1", "R1x", "R²"])
def test_a_region_that_is_not_there_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(SpecError) as refused:
        regions.region(dag("copy4"), name)
    assert refused.value.valid.startswith("R1 to R")


# --- differences


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_does_not_differ_from_itself(name: str) -> None:
    told = regions.difference(dag(name), dag(name))
    assert (told.changed, told.appeared, told.vanished, told.totals) == ((), (), (), {})
    assert told.same == len(dag(name).regions)


def test_copies_that_became_asynchronous_appear_and_the_loads_vanish() -> None:
    told = regions.difference(dag("triton_matmul_flat"), dag("triton_matmul"))
    assert "async_copy" in {change.phase for change in told.appeared if change.depth == 1}
    assert "global_load" in {change.phase for change in told.vanished}
    assert "depth 1: tensor FLOPs" not in told.totals  # the same product


def test_a_wider_tile_shows_as_more_work_in_the_same_region() -> None:
    told = regions.difference(dag("triton_matmul"), dag("triton_matmul_tma"))
    product = next(change for change in told.changed if change.phase == "tensor")
    assert product.work_before is not None and product.work_after is not None
    assert product.work_before["tensor.f16.m64n64k16 FLOPs"] == 2048
    assert product.work_after["tensor.f16.m64n64k16 FLOPs"] == 4096
    assert told.totals["depth 1: tensor FLOPs"] == "2048 -> 4096"


def test_one_more_of_the_same_region_appears() -> None:
    step = "bar.sync 0;\nld.shared.f32 %f1, [%r1];\n"
    told = regions.difference(dag_of(2 * step), dag_of(3 * step))
    assert sorted(change.phase for change in told.appeared) == ["shared", "sync"]
    assert (told.changed, told.vanished, told.same) == ((), (), 4)


def test_moved_code_is_no_difference() -> None:
    lines = ["ld.global.f32 %f1, [%rd1];", "ld.shared.f32 %f2, [%r1];", "add.s32 %r2, %r3, 1;"]
    told = regions.difference(dag_of("\n".join(lines)), dag_of("\n".join(reversed(lines))))
    assert (told.changed, told.appeared, told.vanished) == ((), (), ())
