"""Trips of loops whose counters start, step and stop in more than one place."""

from __future__ import annotations

import pytest
from ptx_texts import kernel
from real_reports import known_code

from kernelwright.analysis.ptx import read_ptx
from kernelwright.analysis.regions.code import code_of
from kernelwright.analysis.regions.trips import LoopReader

PARAMETERS = ".param .u32 k_param_0, .param .u32 k_param_1"
GIVEN = "ld.param.u32 %r9, [k_param_0];\nld.param.u32 %r8, [k_param_1];\n"


def trips(body: str) -> list[int | str | None]:
    code = code_of(kernel(GIVEN + body, PARAMETERS))
    reader = LoopReader(code)
    return [reader.trips(loop) for loop in code.loops]


def test_a_step_that_is_read_inside_the_loop_does_not_change() -> None:
    body = """
mov.u32 %r1, %ctaid.x;
L: ld.param.u32 %r3, [k_param_0];
mov.u32 %r2, %nctaid.x;
add.s32 %r1, %r1, %r2;
setp.lt.s32 %p1, %r1, %r3;
@%p1 bra L;
ret;"""
    assert trips(body) == ["ceil((param0 - ctaid.x) / (nctaid.x))"]


def test_a_counter_may_stand_on_the_right_of_a_sum() -> None:
    body = """
and.b32 %r2, %r9, 3;
sub.s32 %r3, %r2, %r9;
mov.b32 %r1, 0;
L: add.s32 %r1, %r1, 4;
add.s32 %r4, %r3, %r1;
setp.ne.s32 %p1, %r4, 0;
@%p1 bra L;
ret;"""
    assert trips(body) == ["(param0 - param0 % 4) / 4"]


def test_of_two_starts_on_one_path_the_later_one_counts() -> None:
    body = """
mov.b32 %r1, 2;
setp.lt.s32 %p2, %r9, 1;
@%p2 bra E;
mov.b32 %r1, 0;
L: add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, %r9;
@%p1 bra L;
E: st.global.u32 [%rd1], %r1;
ret;"""
    assert trips(body) == ["param0"]


def test_what_another_branch_does_to_a_counter_is_not_its_start() -> None:
    loop = "{n}: add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, {to};\n@%p1 bra {n};\n"
    body = "mov.b32 %r1, 0;\nsetp.eq.s32 %p2, %r9, 0;\n@%p2 bra M;\n"
    body += f"{loop.format(n='L', to='%r9')}ret;\n{loop.format(n='M', to='%r8')}ret;"
    assert sorted(map(str, trips(body))) == ["param0", "param1"]


def test_a_counter_with_two_possible_starts_is_not_counted() -> None:
    body = """
mov.b32 %r1, 2;
setp.lt.s32 %p2, %r9, 1;
@%p2 bra L;
mov.b32 %r1, 0;
L: add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, %r9;
@%p1 bra L;
ret;"""
    assert trips(body) == [None]


def test_a_counter_that_only_some_iterations_change_is_not_counted() -> None:
    body = """
mov.b32 %r1, 0;
L: ld.global.u32 %r2, [%rd1];
setp.eq.s32 %p2, %r2, 0;
@%p2 bra S;
add.s32 %r1, %r1, 1;
S: setp.lt.s32 %p1, %r1, 10;
@%p1 bra L;
ret;"""
    assert trips(body) == [None]


NESTED = """
mov.b32 %r1, 0;
mov.b32 %r4, 0;
O: mov.b32 %r3, 0;
L: add.s32 %r1, %r1, 1;
add.s32 %r3, %r3, 1;
setp.lt.s32 %p1, {inner}, 10;
@%p1 bra L;
add.s32 %r4, %r4, 1;
setp.lt.s32 %p2, {outer}, 4;
@%p2 bra O;
ret;"""


@pytest.mark.parametrize(
    ("inner", "outer", "said"),
    [
        ("%r3", "%r4", [4, 10]),
        ("%r1", "%r4", [4, None]),  # goes on where the last entry of the loop left it
        ("%r3", "%r1", [None, 10]),  # the inner loop changes it several times
    ],
)
def test_a_counter_belongs_to_the_loop_that_starts_it_and_changes_it(
    inner: str, outer: str, said: list[int | None]
) -> None:
    assert trips(NESTED.format(inner=inner, outer=outer)) == said


@pytest.mark.parametrize(("k", "real"), [(8, 2), (7, 1), (9, 3)])
def test_a_difference_is_written_so_that_a_negative_remainder_is_read_as_one(
    k: int, real: int
) -> None:
    # 10 - k % 4, in steps of 4: a reader must not take (-k) % 4
    body = """
and.b32 %r2, %r9, 3;
sub.s32 %r3, {c}, %r2;
mov.b32 %r1, 0;
L: add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, %r3;
@%p1 bra L;
ret;"""
    (said,) = trips(body.format(c=k))
    assert said == f"-(param0 % 4) + {k}"
    value = eval(str(said), {"param0": real})
    assert value == k - real % 4


PERSISTENT = "ceil((((param4 + 255) / 256) * ((param3 + 127) / 128) - ctaid.x) / (nctaid.x))"


def test_all_loops_of_a_persistent_kernel_with_warp_roles_are_counted_but_those_that_wait() -> None:
    code = code_of(read_ptx(known_code("hgemm_wgmma")[0]).entries[0])
    reader = LoopReader(code)
    said = {loop.name: reader.trips(loop) for loop in code.loops}
    assert code.spins == {7, 10}
    assert {name for name, count in said.items() if count is None} == {"L8", "L11"}
    tiles, steps = ("L1", "L4", "L6", "L9"), ("L7", "L10")
    assert {said[each] for each in tiles} == {PERSISTENT}
    assert {said[each] for each in steps} == {"(param5 + 63) / 64"}
