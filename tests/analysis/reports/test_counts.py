"""What is reckoned of a launch: executions from its shape and parameters, widths and FLOPs of
machine instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from region_dags import dag, dag_of

from kernelwright.analysis.ptx.effects import Phase
from kernelwright.runners.profiling.model import Instruction, LaunchShape

Script = Callable[[str], Any]


PARAMETERS = ".param .u32 k_param_0"
GIVEN = "ld.param.u32 %r9, [k_param_0]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
STORE = "st.global.u32 [%rd1], %r1;"


def stored(
    script: Script, body: str, values: dict[str, int], grid: int = 4, block: int = 128
) -> Any:
    """What is expected of the one region that stores."""
    found = dag_of(GIVEN + body, PARAMETERS)
    shape = LaunchShape(grid=(grid, 1, 1), block=(block, 1, 1))
    each = script("instruments_expected").expected(found, shape, values)
    (store,) = [n for n, r in enumerate(found.regions) if r.phase is Phase.global_store]
    return each[store]


@pytest.mark.parametrize(
    ("made", "times"),
    [
        ("setp.ge.s32 %p1, %r1, 64;", 0.5),  # two warps of four
        ("setp.ne.s32 %p1, %r1, 0;", 0.25),  # one thread: its warp executes it
        ("setp.ge.s32 %p1, %r2, 3;", 0.75),  # three blocks of four
        ("setp.ge.s32 %p1, %r9, 7;", 1.0),
        ("setp.ge.s32 %p1, %r9, 6;", 0.0),
        ("setp.ge.s32 %p2, %r1, 64; setp.ge.s32 %p3, %r1, 0; and.pred %p1, %p2, %p3;", 0.5),
    ],
)
def test_a_branch_lets_the_warps_through_that_have_a_thread_for_it(
    script: Script, made: str, times: float
) -> None:
    found = stored(script, f"{made}\n@%p1 bra E;\n{STORE}\nE: ret;", {"param0": 6})
    assert found == (times, (), ())


LOOP = """mov.b32 %r3, {start};
setp.ge.s32 %p3, %r3, %r9;
@%p3 bra E;
L: {body}
add.s32 %r3, %r3, {step};
setp.lt.s32 %p1, %r3, %r9;
@%p1 bra L;
E: ret;"""


@pytest.mark.parametrize(
    ("start", "step", "times"),
    [("0", "1", 10.0), ("0", "3", 4.0), ("%r2", "4", 2.5), ("%r1", "128", 0.25)],
)
def test_trips_are_reckoned_block_by_block_and_by_the_busiest_thread(
    script: Script, start: str, step: str, times: float
) -> None:
    # blocks 0 to 3 begin at their number: 3, 3, 2 and 2 times; of 4 warps one goes through
    found = stored(script, LOOP.format(start=start, step=step, body=STORE), {"param0": 10})
    assert found.times == pytest.approx(times)


def test_a_condition_on_the_iteration_leaves_iterations_out(script: Script) -> None:
    body = f"setp.lt.s32 %p2, %r3, 4;\n@%p2 bra S;\n{STORE}\nS:"
    found = stored(script, LOOP.format(start="0", step="2", body=body), {"param0": 10})
    assert found == (3.0, (), ())  # 4, 6 and 8 of 0 to 8


def test_what_names_block_and_thread_at_once_counts_as_met(script: Script) -> None:
    made = "mad.lo.s32 %r4, %r2, 128, %r1; setp.ge.s32 %p1, %r4, %r9;"
    found = stored(script, f"{made}\n@%p1 bra E;\n{STORE}\nE: ret;", {"param0": 6})
    assert found == (1.0, (), ("128 * ctaid.x + tid.x < param0",))


def test_trips_that_nobody_can_reckon_are_named(script: Script) -> None:
    shape = LaunchShape(grid=(4, 1, 1), block=(256, 1, 1))
    kernel = dag("warp_sum")
    found = script("instruments_expected").expected(kernel, shape, {"param2": 1 << 20})
    loads = [e for r, e in zip(kernel.regions, found, strict=True) if r.phase is Phase.global_load]
    assert {each.times for each in loads} == {None}
    assert {each.unknown for each in loads} == {
        ("ceil((param2 - ctaid.x * ntid.x - tid.x) / (nctaid.x * ntid.x))",)
    }


def test_a_loop_that_no_warp_comes_to_is_known_to_do_nothing(script: Script) -> None:
    body = f"setp.ge.s32 %p2, %r9, 5;\n@%p2 bra E;\nL: ld.global.u32 %r5, [%rd2];\n{STORE}\n"
    body += "setp.lt.s32 %p1, %r5, %r9;\n@%p1 bra L;\nE: ret;"
    assert stored(script, body, {"param0": 6}).times == 0.0
    assert stored(script, body, {"param0": 4}) == (None, ("n of L1",), ())


@pytest.mark.parametrize(
    ("opcode", "nbytes"),
    [
        ("LDS", 4),
        ("LDS.U8", 1),
        ("LDG.E.U16", 2),
        ("STG.E.64", 8),
        ("LDG.E.128.CONSTANT", 16),
        ("LDG.E.LTC128B", 4),
        ("LDSM.16.M88", 4),
        ("LDSM.16.M88.4", 16),
        ("LDSM.16.MT88.2", 8),
    ],
)
def test_an_access_has_the_width_that_its_opcode_says(
    script: Script, opcode: str, nbytes: int
) -> None:
    assert script("instruments_machine").width(opcode) == nbytes


@pytest.mark.parametrize(
    ("opcode", "flops"),
    [
        ("HGMMA.64x256x16.F32", 2 * 64 * 256 * 16 / 4),
        ("HMMA.16816.F32", 2 * 16 * 8 * 16),
        ("HMMA.1688.F32.TF32", 2 * 16 * 8 * 8),
        ("IMMA.16832.S8.S8", 2 * 16 * 8 * 32),
        ("DMMA.8x8x4", 2 * 8 * 8 * 4),
        ("FFMA", 0),
        ("WARPGROUP.ARRIVE", 0),
    ],
)
def test_a_tensor_instruction_has_the_flops_of_its_shape(
    script: Script, opcode: str, flops: float
) -> None:
    assert script("instruments_machine").flops(opcode) == flops


def test_what_the_assembler_adds_is_told_by_its_reason(script: Script) -> None:
    machine = script("instruments_machine")
    texts = {
        "@!PT  LDS RZ, [RZ]": 3.0,
        "@!P0  LDS.64 R2, [R4]": 4.0,
        "@P0  ELECT P1, URZ, PT": 5.0,
        "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR9], R9": 9.0,
        "MEMBAR.ALL.CTA ;": 1.0,
    }
    found = machine.executed_opcodes(
        Instruction(offset=16 * n, sass=text, counters={"inst_executed": number})
        for n, (text, number) in enumerate(texts.items())
    )
    assert machine.added(found, {"ld.shared.u64": 4.0}, "shared") == {
        "no thread takes part (@!PT)": 3.0
    }
    assert machine.moved(found, "shared") == 32.0
    # a fence that no PTX asks for is a difference, and explained by nothing
    assert machine.added(found, {"mbarrier.try_wait.parity.b64": 2.0}, "sync") == {
        "a thread is elected to start a bulk copy": 5.0,
        "an mbarrier is asked again": 7.0,
    }
    assert machine.added(found, {"mbarrier.try_wait.parity.b64": 20.0}, "sync").keys() == {
        "a thread is elected to start a bulk copy"
    }
