"""For which threads a region runs: conditions of the branches on the way to it."""

from __future__ import annotations

import pytest
from ptx_texts import NAMES
from real_reports import known_code
from region_dags import dag, dag_of

from kernelwright.analysis.ptx.effects import Phase
from kernelwright.analysis.regions import RegionDag, region_dag
from kernelwright.analysis.regions.conditions import Where, where_regions_run

PARAMETERS = ".param .u32 k_param_0, .param .u32 k_param_1"
GIVEN = (
    "ld.param.u32 %r9, [k_param_0]; ld.param.u32 %r8, [k_param_1]; mov.u32 %r1, %tid.x; "
    "ld.global.u32 %r7, [%rd9];\n"
)
STORE = "st.global.u32 [%rd1], %r1;"


def stores(found: RegionDag) -> list[Where]:
    wheres = zip(found.regions, where_regions_run(found), strict=True)
    return [where for region, where in wheres if region.phase is Phase.global_store]


def told(body: str) -> list[Where]:
    """Of the regions that store; the first line of a body is line 9."""
    return stores(dag_of(GIVEN + body, PARAMETERS))


def branch(made: str, guard: str = "@%p1") -> list[Where]:
    return told(f"{made}\n{guard} bra E;\n{STORE}\nE: ret;")


def test_what_every_thread_does_has_no_conditions() -> None:
    assert told(f"{STORE}\nret;") == [Where()]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("setp.ge.s32 %p1, %r1, %r9;", "tid.x < param0"),
        ("shr.u32 %r2, %r1, 7; setp.ne.s32 %p1, %r2, 2;", "tid.x / 128 == 2"),
        ("setp.lt.s32 %p2, %r1, 4; not.pred %p1, %p2;", "tid.x < 4"),
        (
            "setp.lt.s32 %p2, %r1, 4; setp.eq.s32 %p3, %r9, 1; or.pred %p1, %p2, %p3;",
            "(tid.x >= 4) and (param0 != 1)",
        ),
        (
            "setp.lt.s32 %p2, %r1, 4; setp.eq.s32 %p3, %r9, 1; and.pred %p1, %p2, %p3;",
            "(tid.x >= 4) or (param0 != 1)",
        ),
        (
            "or.b32 %r2, %r9, %r8; and.b32 %r3, %r2, 7; setp.ne.s32 %p1, %r3, 0;",
            "param0 % 8 == 0 and param1 % 8 == 0",
        ),
        # a register without a sign holds 2^32 - 1 where the number is -1
        ("add.s32 %r2, %r9, -1; setp.lt.u32 %p1, %r2, 3;", "(param0 - 1) % 4294967296 >= 3"),
        ("add.s32 %r2, %r9, -1; setp.lo.b32 %p1, %r2, 3;", "(param0 - 1) % 4294967296 >= 3"),
    ],
)
def test_a_branch_around_a_region_is_its_condition(made: str, said: str) -> None:
    assert branch(made) == [Where((said,))]


def test_a_negated_guard_turns_its_condition() -> None:
    assert branch("setp.lt.s32 %p1, %r1, 4;", "@!%p1") == [Where(("tid.x < 4",))]


@pytest.mark.parametrize(
    "made",
    [
        "setp.ge.s32 %p1, %r7, %r9;",
        "setp.gt.f32 %p1, %f1, %f2;",
        "setp.lt.and.s32 %p1, %r1, 4, %p2;",
        "setp.lt.s32 %p2, %r1, 4; setp.eq.s32 %p3, %r7, 1; or.pred %p1, %p2, %p3;",
    ],
)
def test_a_branch_on_what_no_launch_tells_is_kept_by_its_line(made: str) -> None:
    assert branch(made) == [Where(undecided=(10,))]


def test_both_sides_have_their_condition_and_what_follows_has_none() -> None:
    body = f"""setp.lt.s32 %p1, %r1, 32;
@%p1 bra A;
{STORE}
bra.uni J;
A: {STORE}
J: {STORE}
ret;"""
    assert told(body) == [Where(("tid.x >= 32",)), Where(("tid.x < 32",)), Where()]


def test_after_an_early_return_the_rest_has_its_condition() -> None:
    assert told(f"setp.ge.s32 %p1, %r1, %r9;\n@%p1 ret;\n{STORE}\nret;") == [
        Where(("tid.x < param0",))
    ]


def test_what_some_of_several_paths_lead_to_is_an_upper_bound() -> None:
    body = f"""setp.lt.s32 %p1, %r1, 32;
@%p1 bra A;
setp.lt.s32 %p2, %r9, 5;
@%p2 bra A;
ret;
A: {STORE}
ret;"""
    assert told(body) == [Where(undecided=(10,))]


def test_where_paths_meet_after_one_may_have_returned_nothing_is_sure() -> None:
    body = f"""setp.lt.s32 %p1, %r1, 32;
@%p1 bra A;
setp.lt.s32 %p2, %r7, 5;
@%p2 ret;
A: {STORE}
ret;"""
    assert told(body) == [Where(undecided=(10,))]


def test_the_test_that_ends_a_loop_is_no_condition() -> None:
    body = f"""mov.b32 %r2, 0;
L: setp.ge.s32 %p1, %r2, %r9;
@%p1 bra E;
{STORE}
add.s32 %r2, %r2, 1;
bra L;
E: {STORE}
ret;"""
    assert told(body) == [Where(), Where()]


def test_after_a_loop_with_two_ways_out_nothing_is_sure() -> None:
    body = f"""mov.b32 %r2, 0;
L: setp.eq.s32 %p1, %r7, 1;
@%p1 bra E;
add.s32 %r2, %r2, 1;
setp.lt.s32 %p2, %r2, %r9;
@%p2 bra L;
{STORE}
E: ret;"""
    (after,) = told(body)
    assert after.undecided


def test_a_condition_may_name_the_iteration() -> None:
    body = f"""mov.b32 %r2, 4;
L: setp.eq.s32 %p1, %r2, 4;
@%p1 bra S;
{STORE}
S: add.s32 %r2, %r2, 2;
setp.lt.s32 %p2, %r2, %r9;
@%p2 bra L;
ret;"""
    assert told(body) == [Where(("2 * (i of L1) + 4 != 4",))]


def test_roles_of_warps_are_told_apart() -> None:
    found = region_dag(known_code("hgemm_wgmma")[0])
    roles = {
        region.phase: where.holds
        for region, where in zip(found.regions, where_regions_run(found), strict=True)
        if region.phase in (Phase.async_copy, Phase.tensor)
    }
    fast = "param5 % 8 == 0 and param4 % 8 == 0"
    tiles = "ctaid.x < ((param4 + 255) / 256) * ((param3 + 127) / 128)"
    producer = ("tid.x / 128 == 2", "tid.x == 256")
    assert roles == {
        Phase.async_copy: (fast, *producer, tiles, "param5 >= 1"),
        Phase.tensor: (fast, "tid.x / 128 != 2", tiles, "param5 >= 1"),
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_first_region_of_every_kernel_runs_always(name: str) -> None:
    assert where_regions_run(dag(name))[:1] == (Where(),)
