"""The Region-DAG of real kernels: regions, stages, work, edges, pipelines, and what is told."""

from __future__ import annotations

from collections import Counter

import pytest
from ptx_texts import NAMES, kernel_text, text
from region_dags import dag, dag_of

from kernelwright.analysis import regions
from kernelwright.analysis.ptx.effects import Phase, effect
from kernelwright.analysis.regions import RegionDag, region_dag
from kernelwright.analysis.regions.work import Traffic, Work, total
from kernelwright.runners.errors import SpecError


def phases(found: RegionDag) -> list[tuple[str, int]]:
    return [(region.phase.value, region.work.instructions) for region in found.regions]


# --- regions and stages


def test_independent_loads_and_sums_that_a_compiler_interleaved_are_two_regions() -> None:
    step = "ld.shared.f32 %f{n}, [%r1+{n}];\nfma.rn.f32 %f9, %f{n}, %f8, %f9;\n"
    found = dag_of("".join(step.format(n=n) for n in range(4)))
    assert phases(found) == [("shared", 4), ("compute", 4)]


def test_a_load_that_needs_a_result_comes_after_it() -> None:
    found = dag_of(
        "ld.global.u32 %r1, [%rd1];\nmul.wide.u32 %rd2, %r1, 4;\nld.global.f32 %f1, [%rd2];"
    )
    assert phases(found) == [("global_load", 1), ("address", 1), ("global_load", 1)]


def test_a_load_stays_behind_a_store_to_the_same_space() -> None:
    found = dag_of(
        "ld.shared.f32 %f1, [%r1];\nfma.rn.f32 %f2, %f1, %f1, %f1;\n"
        "st.shared.f32 [%r2], %f2;\nld.shared.f32 %f3, [%r1];"
    )
    assert phases(found) == [("shared", 1), ("compute", 1), ("shared", 2)]


def test_a_load_does_not_join_one_before_an_atomic_in_the_same_space() -> None:
    found = dag_of(
        "ld.shared.u32 %r1, [%r9];\nred.shared.add.u32 [%r8], 1;\nld.shared.u32 %r2, [%r9];"
    )
    assert phases(found) == [("shared", 1), ("atomic", 1), ("shared", 1)]


def test_a_barrier_splits_a_stage() -> None:
    found = dag_of("st.shared.f32 [%r1], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [%r2];")
    assert [stage.after for stage in found.stages] == [(), ("bar.sync 0",)]
    assert phases(found) == [("shared", 1), ("sync", 1), ("shared", 1)]


@pytest.mark.parametrize(
    "wait",
    [
        "barrier.cta.sync.aligned 1;",
        "cp.async.wait_group 1;",
        "cp.async.wait_all;",
        "cp.async.bulk.wait_group.read 0;",
        "wgmma.wait_group.sync.aligned 0;",
        "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;",
        "barrier.cluster.wait.acquire.aligned;",
        "fence.proxy.async;",
        "membar.gl;",
    ],
)
def test_every_strong_synchronisation_splits_a_stage(wait: str) -> None:
    found = dag_of(f"ld.shared.f32 %f1, [%r1];\n{wait}\nld.shared.f32 %f2, [%r2];")
    assert len(found.stages) == 2


@pytest.mark.parametrize(
    "weak", ["bar.warp.sync -1;", "cp.async.commit_group;", "mbarrier.arrive.shared.b64 _, [%r1];"]
)
def test_what_does_not_wait_splits_no_stage(weak: str) -> None:
    found = dag_of(f"ld.shared.f32 %f1, [%r1];\n{weak}\nld.shared.f32 %f2, [%r2];")
    assert len(found.stages) == 1


def test_waits_that_follow_each_other_open_one_stage() -> None:
    found = dag("triton_matmul")
    assert ("cp.async.wait_group 2", "bar.sync 0") in [stage.after for stage in found.stages]


def test_a_loop_is_a_stage_of_its_own() -> None:
    found = dag("nested")
    assert {stage.loop for stage in found.stages} == {None, 0, 1, 2}


# --- laws


@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_lies_in_one_region_of_its_phase(name: str) -> None:
    found = dag(name)
    code = found.function.instructions
    inside = [each for region in found.regions for each in region.instructions]
    assert sorted(inside) == list(range(len(code)))
    for region in found.regions:
        own = {effect(i.opcode).phase for i in found.instructions(region)}
        last = found.instructions(region)[-1]
        branches = last.stem in ("bra", "brx", "ret", "exit", "trap")
        assert own <= {region.phase, Phase.address} if branches else own == {region.phase}


@pytest.mark.parametrize("name", NAMES)
def test_edges_go_forwards_except_round_a_loop(name: str) -> None:
    found = dag(name)
    for edge in found.edges:
        if edge.kind in ("data", "sync"):
            assert edge.carried or edge.source < edge.target
        if edge.carried:
            around = found.around(found.regions[edge.target].loop)
            assert around or found.loops  # what only waits is no loop of work


@pytest.mark.parametrize("name", NAMES)
def test_the_work_of_stages_is_that_of_their_regions(name: str) -> None:
    found = dag(name)
    whole = total((region.work, 1) for region in found.regions)
    assert whole == total((stage.work, 1) for stage in found.stages)
    assert whole.instructions == len(found.function.instructions)
    flops = Counter[str]()
    for each in found.function.instructions:
        flops[effect(each.opcode).kind] += effect(each.opcode).flops
    assert whole.flops == {kind: n for kind, n in flops.items() if n}


# --- work

MATMULS = {
    "triton_matmul": (64, 64, 32),
    "triton_matmul_flat": (64, 64, 32),
    "triton_matmul_mma": (32, 32, 32),
    "triton_matmul_tf32": (64, 32, 32),
    "triton_matmul_8_warps": (128, 64, 64),
    "triton_matmul_tma": (64, 64, 64),
}


@pytest.mark.parametrize("name", MATMULS)
def test_tensor_flops_of_a_matmul_are_exact(name: str) -> None:
    m, n, k = MATMULS[name]
    found = dag(name)
    assert found.function.threads is not None
    assert found.loops[0].work.tensor_flops * found.function.threads == 2 * m * n * k


def test_tensor_flops_of_attention_are_those_of_its_two_products() -> None:
    assert dag("triton_attention").loops[0].work.tensor_flops * 128 == 4 * 64 * 32 * 64


def test_products_that_warps_do_twice_are_counted_twice() -> None:
    # Four warps of 16 rows each share a tile of 32 rows.
    assert dag("triton_attention_mma").loops[0].work.tensor_flops * 128 == 2 * 4 * 32 * 32 * 32


def test_flops_of_hand_written_products_are_exact() -> None:
    assert dag("sgemm").loops[0].work.flops == {"fma.f32": 2 * 64 * 64 * 16 // 256}
    assert dag("wgmma_gemm").loops[0].work.tensor_flops * 128 == 2 * 64 * 16 * 64
    assert dag("wmma_gemm").loops[0].work.tensor_flops * 32 == 2 * 16 * 16 * 16
    assert dag("mma_ptx").loops[0].work.tensor_flops * 32 == 2 * 16 * 8 * 16


def accesses(name: str) -> dict[tuple[str, str, int], int]:
    whole = total((region.work, 1) for region in dag(name).regions)
    return {(each.space, each.direction, each.width): n for each, n in whole.accesses.items()}


def test_accesses_are_counted_by_width() -> None:
    assert accesses("copy4") == {("global", "load", 16): 1, ("global", "store", 16): 1}
    assert accesses("strided") == {("global", "load", 4): 1, ("global", "store", 4): 1}
    assert accesses("halves") == {("global", "load", 4): 2, ("global", "store", 4): 1}
    assert accesses("transpose") == {
        ("global", "load", 4): 4,
        ("global", "store", 4): 4,
        ("shared", "load", 4): 4,
        ("shared", "store", 4): 4,
    }


def test_the_tile_that_an_iteration_of_a_matmul_loads_is_exact() -> None:
    found = dag("triton_matmul").loops[0].work
    assert found.bytes("global", "load") * 128 == (64 * 32 + 32 * 64) * 2
    assert found.bytes("shared", "store") == found.bytes("global", "load")


def test_spilled_or_indexed_memory_is_local() -> None:
    assert total((r.work, 1) for r in dag("pick_local").regions).bytes("local") > 0


def test_atomics_are_counted_in_their_space() -> None:
    found = dag("histogram")
    assert found.loops[0].work.accesses[Traffic("shared", "atomic", 4)] == 1
    assert total((r.work, 1) for r in found.regions).atomics == 2


def test_a_bulk_copy_has_the_size_that_its_register_holds() -> None:
    found = dag("bulk_sum")
    assert found.loops[0].work.accesses[Traffic("global", "bulk load", 4096)] == 1


def test_the_size_of_a_tensor_copy_is_said_to_be_unknown() -> None:
    found = dag("tma_copy")
    assert total((r.work, 1) for r in found.regions).unsized == 2
    assert any("tensor map" in note for note in regions.overview(found).notes)


def test_inner_loops_of_known_trips_are_multiplied() -> None:
    inner, outer = dag("sgemm").loops[1], dag("sgemm").loops[0]
    assert (outer.trips, inner.trips) == ("(param4 + 15) / 16", 4)
    assert outer.work.plain_flops == 4 * inner.work.plain_flops


def test_inner_loops_of_unknown_trips_are_left_out() -> None:
    found = dag("nested")
    assert found.times(2) == (8, ("param2", "param3"))
    assert [loop.work.plain_flops for loop in found.loops] == [0, 0, 1]


def test_work_adds_up() -> None:
    access = Traffic("global", "load", 16)
    one = Work(3, {access: 1}, {"fma.f32": 2}, 1, 0)
    assert total([(one, 2), (one, 1)]) == Work(9, {access: 3}, {"fma.f32": 6}, 3, 0)


# --- edges and pipelines


def edges(found: RegionDag, kind: str) -> list[tuple[str, str, bool]]:
    named = found.regions
    return [
        (named[e.source].phase.value, named[e.target].phase.value, e.carried)
        for e in found.edges
        if e.kind == kind
    ]


def test_a_copy_leads_to_the_wait_for_it_now_and_in_the_next_iteration() -> None:
    found = edges(dag("cp_async_pipeline"), "async")
    assert ("async_copy", "sync", False) in found
    assert ("async_copy", "sync", True) in found


def test_a_product_on_tensor_cores_leads_to_its_wait() -> None:
    assert edges(dag("wgmma_gemm"), "async") == [("tensor", "sync", False)]


def test_a_bulk_copy_leads_to_the_wait_for_its_mbarrier() -> None:
    assert ("async_copy", "sync", False) in edges(dag("bulk_sum"), "async")


def test_data_goes_from_a_load_to_what_computes_with_it() -> None:
    assert ("global_load", "compute", False) in edges(dag("stencil"), "data")


def test_a_sum_is_carried_round_its_loop() -> None:
    found = dag_of(
        "mov.f32 %f1, 0f00000000;\nL: ld.shared.f32 %f2, [%r1];\nadd.f32 %f3, %f1, %f2;\n"
        "bar.sync 0;\nmul.f32 %f1, %f3, %f2;\n@%p1 bra L;\nret;"
    )
    assert ("compute", "compute", True) in edges(found, "data")


def test_a_register_that_is_written_in_very_many_places_keeps_edges_few() -> None:
    step = "@%p1 bra L{n};\nadd.s32 %r1, %r1, 1;\nL{n}: add.s32 %r2, %r1, 3;\n"
    found = dag_of("".join(step.format(n=n) for n in range(400)))
    assert len(found.edges) < 40 * len(found.regions)


def test_pipelines_say_how_far_copies_run_ahead() -> None:
    found = {p.kind: p for p in dag("triton_matmul").pipelines}
    # three stages: two copies of both tiles on their way while the third is multiplied
    assert (found["cp_async"].left, found["cp_async"].commits, found["cp_async"].ahead) == (2, 2, 2)
    assert found["wgmma"].ahead == 2
    deeper = {p.kind: p for p in dag("triton_matmul_8_warps").pipelines}
    assert deeper["cp_async"].ahead == 3
    assert [p.ahead for p in dag("cp_async_pipeline").pipelines] == [3]
    assert not dag("triton_matmul_flat").pipelines or all(
        p.kind == "wgmma" for p in dag("triton_matmul_flat").pipelines
    )


def test_mbarriers_of_a_pipeline_are_counted() -> None:
    found = {p.kind: p for p in dag("triton_matmul_tma").pipelines}
    assert (found["mbarrier"].barriers, found["mbarrier"].ahead) == (3, None)


# --- which kernel


def test_the_only_entry_needs_no_name() -> None:
    assert region_dag(text("calls")).entry == "calls"


def test_an_entry_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(SpecError) as refused:
        region_dag(text("calls"), "call")
    assert refused.value.valid == "entry: one of calls"


def test_of_several_entries_one_must_be_named() -> None:
    second = kernel_text("ret;").partition(".visible")[2].replace("k(", "other(")
    both = f"{kernel_text('ret;')}.visible{second}"
    assert region_dag(both, "other").entry == "other"
    with pytest.raises(SpecError, match="2 entries"):
        region_dag(both)


def test_a_kernel_that_does_nothing_has_no_work() -> None:
    found = dag_of("")
    assert (found.regions, found.stages, found.live.words) == ((), (), 0)
    assert regions.overview(found).once == {"instructions": 0}
