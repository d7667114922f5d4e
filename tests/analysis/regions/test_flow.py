"""Blocks, dominators, loops, trip counts, divergence, live registers: what regions rest on."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_texts import kernel, module

from kernelwright.analysis.regions.code import Code, code_of
from kernelwright.analysis.regions.divergence import Varies, divergence_of_branches, varying
from kernelwright.analysis.regions.flow import Block, reverse_postorder
from kernelwright.analysis.regions.liveness import live_registers
from kernelwright.analysis.regions.loops import dominates, dominators, loops_of
from kernelwright.analysis.regions.trips import LoopReader
from kernelwright.runners.errors import SpecError

GRAPHS = st.integers(1, 12).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=2), min_size=n, max_size=n)
)


def graph(successors: list[list[int]]) -> tuple[Block, ...]:
    return tuple(Block(n, n + 1, tuple(dict.fromkeys(s))) for n, s in enumerate(successors))


def reached_without(blocks: tuple[Block, ...], left_out: int | None) -> set[int]:
    """The blocks that control reaches from the first if one is taken out."""
    found, todo = set[int](), [0] if left_out != 0 else []
    while todo:
        block = todo.pop()
        if block not in found:
            found.add(block)
            todo += [each for each in blocks[block].successors if each != left_out]
    return found


@settings(deadline=None)
@given(GRAPHS)
def test_a_block_dominates_what_cannot_be_reached_without_it(successors: list[list[int]]) -> None:
    blocks = graph(successors)
    dominator, everything = dominators(blocks), reached_without(blocks, None)
    for one in everything:
        without = reached_without(blocks, one)
        for other in everything:
            assert dominates(one, other, dominator) == (other not in without)


@settings(deadline=None)
@given(GRAPHS)
def test_a_loop_holds_its_latches_and_lies_within_its_parent(successors: list[list[int]]) -> None:
    blocks = graph(successors)
    dominator = dominators(blocks)
    loops = loops_of(blocks, dominator)
    for loop in loops:
        assert {loop.header, *loop.latches} <= loop.blocks
        assert all(loop.header in blocks[latch].successors for latch in loop.latches)
        if loop.parent is not None:
            assert loop.blocks < loops[loop.parent].blocks
            assert loop.depth == loops[loop.parent].depth + 1
        if not loop.irreducible:
            assert all(dominates(loop.header, each, dominator) for each in loop.blocks)


@settings(deadline=None)
@given(GRAPHS)
def test_whatever_runs_twice_lies_in_a_loop(successors: list[list[int]]) -> None:
    blocks = graph(successors)
    inside = {each for loop in loops_of(blocks, dominators(blocks)) for each in loop.blocks}
    for block in reverse_postorder(blocks):
        again = set[int]()
        todo = list(blocks[block].successors)
        while todo:
            each = todo.pop()
            if each not in again:
                again.add(each)
                todo += blocks[each].successors
        assert block not in again or block in inside


@settings(deadline=None)
@given(GRAPHS)
def test_what_may_follow_is_never_denied(successors: list[list[int]]) -> None:
    lines = list[str]()
    for number, found in enumerate(successors):
        lines.append(f"B{number}: add.u32 %r1, %r1, 1;")
        lines += [f"@%p1 bra B{found[0]};"] if len(found) == 2 else []
        lines.append(f"bra B{found[-1]};" if found else "ret;")
    code = code_of(kernel("\n".join(lines)))
    for one in reverse_postorder(code.blocks):
        todo, seen = list(code.blocks[one].successors), set[int]()
        while todo:
            other = todo.pop()
            if other not in seen:
                seen.add(other)
                todo += code.blocks[other].successors
                assert code.may_follow(one, other)


def test_a_loop_that_is_entered_in_its_middle_is_marked() -> None:
    blocks = graph([[1, 2], [2], [1, 3], []])
    assert [loop.irreducible for loop in loops_of(blocks, dominators(blocks))] == [True]


def test_a_branch_to_nowhere_is_refused() -> None:
    with pytest.raises(SpecError, match=r"line 8.*'NOWHERE'"):
        code_of(kernel("bra NOWHERE;"))


def trips_of(code: Code) -> list[int | str | None]:
    reader = LoopReader(code)
    return [reader.trips(loop) for loop in code.loops]


TRIPS = {
    "nested": ["param2", 8, "param3"],
    "scan": [9],  # 1, 2, 4 ... 256
    "sgemm": ["(param4 + 15) / 16", 4],
    "cub_sort": [8],  # 32 bits in fours
    "stencil": ["param2 - 2"],
    "doubles": ["(param2 - param2 % 4) / 4", "param2 % 4"],
    "triton_matmul": ["(param5 + 31) / 32"],
    "triton_layer_norm": ["(param4 + 511) / 512"] * 3,
    "warp_sum": ["ceil((param2 - ctaid.x * ntid.x - tid.x) / (nctaid.x * ntid.x))"],
    "collatz": [None],
    "rows": [None, None],
}


@pytest.mark.parametrize("name", TRIPS)
def test_loops_of_real_kernels_are_counted(name: str) -> None:
    assert trips_of(code_of(module(name).entries[0])) == TRIPS[name]


RELATIONS: dict[str, Callable[[int, int], bool]] = {
    each: getattr(operator, each) for each in ("lt", "le", "gt", "ge", "ne")
}
STARTS, STEPS, BOUNDS = st.integers(-40, 40), st.integers(-7, 7), st.integers(-40, 40)


def runs(start: int, step: int, relation: str, bound: int, first: bool) -> int | None:
    """How often `do ... while` (or `while`, for `first`) really runs; None for ever."""
    value, done = start, 0
    if first and not RELATIONS[relation](value, bound):
        return 0
    while done < 300:
        done, value = done + 1, value + step
        if not RELATIONS[relation](value, bound):
            return done
    return None


@settings(deadline=None)
@given(STARTS, STEPS, st.sampled_from(sorted(RELATIONS)), BOUNDS, st.booleans(), st.booleans())
def test_a_loop_that_tests_at_its_end_runs_as_often_as_is_said(
    start: int, step: int, relation: str, bound: int, swapped: bool, through_a_copy: bool
) -> None:
    other = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "ne": "ne"}[relation]
    test = f"setp.{other}.s32 %p1, {bound}, %r1;" if swapped else ""
    test = test or f"setp.{relation}.s32 %p1, %r1, {bound};"
    update = f"add.s32 %r2, %r1, {step}; mov.b32 %r1, %r2;" if through_a_copy else ""
    update = update or f"add.s32 %r1, %r1, {step};"
    code = code_of(kernel(f"mov.b32 %r1, {start};\nL: {update}\n{test}\n@%p1 bra L;\nret;"))
    assert_count(trips_of(code)[0], runs(start, step, relation, bound, first=False))


@settings(deadline=None)
@given(STARTS, STEPS, st.sampled_from(sorted(RELATIONS)), BOUNDS)
def test_a_loop_that_tests_at_its_top_runs_as_often_as_is_said(
    start: int, step: int, relation: str, bound: int
) -> None:
    loop = f"L: setp.{relation}.s32 %p1, %r1, {bound};\n@!%p1 bra E;\n"
    body = f"add.s32 %r1, %r1, {step};\nbra L;\nE: ret;"
    code = code_of(kernel(f"mov.b32 %r1, {start};\n{loop}{body}"))
    assert_count(trips_of(code)[0], runs(start, step, relation, bound, first=True))


def assert_count(said: int | str | None, real: int | None) -> None:
    """What is not said is never wrong; what is said is right where the loop ends."""
    if real is not None and said is not None:
        assert said == real


@settings(deadline=None)
@given(st.integers(0, 9), st.integers(1, 9), st.integers(1, 200), st.sampled_from(["lt", "le"]))
def test_an_expression_gives_the_trips_of_every_argument(
    start: int, step: int, argument: int, relation: str
) -> None:
    body = (
        f"ld.param.u32 %r9, [k_param_0];\nmov.b32 %r1, {start};\n"
        f"L: add.s32 %r1, %r1, {step};\nsetp.{relation}.s32 %p1, %r1, %r9;\n@%p1 bra L;\nret;"
    )
    said = trips_of(code_of(kernel(body, ".param .u32 k_param_0")))[0]
    assert isinstance(said, str)
    value = eval(said.replace("/", "//"), {"param0": argument})
    assert max(value, 1) == runs(start, step, relation, argument, first=False)


def test_a_signed_division_by_a_power_of_two_is_recognised() -> None:
    body = """
ld.param.u32 %r1, [k_param_0];
add.s32 %r2, %r1, 31;
shr.s32 %r3, %r2, 31;
shr.u32 %r4, %r3, 27;
add.s32 %r5, %r2, %r4;
shr.s32 %r6, %r5, 5;
mov.b32 %r7, 0;
L: add.s32 %r7, %r7, 1;
setp.lt.s32 %p1, %r7, %r6;
@%p1 bra L;
ret;"""
    assert trips_of(code_of(kernel(body, ".param .u32 k_param_0"))) == ["(param0 + 31) / 32"]


@pytest.mark.parametrize(
    "made",
    [
        "mul.hi.s32 %r2, %r1, 4;",
        "cvt.u16.u32 %r2, %r1;",
        "cvt.rzi.s32.f32 %r2, %f1;",
        "selp.b32 %r2, %r1, 3, %p2;",
        "ld.global.u32 %r2, [%rd1];",
        "add.s32 %r2, %r1, %r3; @%p2 add.s32 %r2, %r1, 1;",
    ],
)
def test_a_bound_that_is_no_plain_expression_is_not_guessed(made: str) -> None:
    body = (
        f"ld.param.u32 %r1, [k_param_0];\ncvt.rn.f32.s32 %f1, %r1;\n{made}\nmov.b32 %r7, 0;\n"
        "L: add.s32 %r7, %r7, 1;\nsetp.lt.s32 %p1, %r7, %r2;\n@%p1 bra L;\nret;"
    )
    assert trips_of(code_of(kernel(body, ".param .u32 k_param_0"))) == [None]


def test_numbers_that_no_register_holds_are_not_followed() -> None:
    squares = "mul.lo.s64 %rd{b}, %rd{a}, %rd{a};\n"
    body = "mov.b64 %rd1, 12345678901;\n"
    body += "".join(squares.format(a=n, b=n + 1) for n in range(1, 40))
    body += "mov.b64 %rd60, 0;\nL: shl.b64 %rd60, %rd60, 63;\n"
    body += "setp.lt.s64 %p1, %rd60, %rd40;\n@%p1 bra L;\nret;"
    assert trips_of(code_of(kernel(body))) == [None]


def test_a_loop_with_two_ways_out_is_not_counted() -> None:
    body = """
mov.b32 %r1, 0;
L: ld.global.u32 %r2, [%rd1];
setp.eq.s32 %p2, %r2, 0;
@%p2 bra E;
add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, 10;
@%p1 bra L;
E: ret;"""
    assert trips_of(code_of(kernel(body))) == [None]


def test_a_loop_that_only_waits_for_an_mbarrier_is_no_loop_of_work() -> None:
    code = code_of(module("triton_matmul_tma").entries[0])
    assert [n in code.spins for n in range(len(code.loops))] == [False, True]
    assert set(code.loop_of) == {None, 0}


def divergence(body: str) -> list[Varies]:
    code = code_of(kernel(f"{body}\n@%p1 bra E;\nE: ret;", ".param .u32 k_param_0"))
    return list(divergence_of_branches(code, varying(code)).values())


DIVERGENCE = {
    "mov.u32 %r1, %ctaid.x; setp.lt.s32 %p1, %r1, 3;": Varies.no,
    "ld.param.u32 %r1, [k_param_0]; setp.lt.s32 %p1, %r1, 3;": Varies.no,
    "mov.u32 %r1, %tid.x; setp.lt.s32 %p1, %r1, 3;": Varies.thread,
    "mov.u32 %r1, %laneid; add.s32 %r2, %r1, 1; setp.lt.s32 %p1, %r2, 3;": Varies.thread,
    "ld.global.u32 %r1, [%rd1]; setp.lt.s32 %p1, %r1, 3;": Varies.no,
    "mov.u32 %r1, %tid.x; cvt.u64.u32 %rd1, %r1; ld.global.u32 %r2, [%rd1];"
    " setp.lt.s32 %p1, %r2, 3;": Varies.data,
    "mov.u32 %r1, %tid.x; setp.lt.s32 %p2, %r1, 3; vote.sync.any.pred %p1, %p2, -1;": Varies.no,
    "mov.u32 %r1, %tid.x; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; setp.lt.s32 %p1, %r2, 3;": (
        Varies.no
    ),
    "elect.sync _|%p1, -1;": Varies.thread,
    "atom.global.add.u32 %r1, [%rd1], 1; setp.eq.s32 %p1, %r1, 0;": Varies.data,
}


@pytest.mark.parametrize("body", DIVERGENCE)
def test_a_branch_diverges_by_what_its_predicate_comes_from(body: str) -> None:
    assert divergence(body) == [DIVERGENCE[body]]


def test_a_value_that_changes_round_a_loop_is_followed() -> None:
    body = """
mov.u32 %r1, 0;
L: add.s32 %r1, %r1, %r2;
setp.lt.s32 %p1, %r1, 9;
mov.u32 %r2, %tid.x;
@%p1 bra L;
ret;"""
    code = code_of(kernel(body))
    assert list(divergence_of_branches(code, varying(code)).values()) == [Varies.thread]


def test_live_registers_are_counted_where_most_are_held() -> None:
    body = """
mov.b32 %r1, 1;
mov.b64 %rd1, 2;
setp.lt.s32 %p1, %r1, 3;
add.s32 %r2, %r1, 1;
@%p1 add.s32 %r2, %r1, 2;
st.global.b32 [%rd1], %r2;
ret;"""
    live = live_registers(code_of(kernel(body)))
    assert (live.words, live.by_type) == (4, {"b32": 2, "b64": 1, "pred": 1})
    assert live.line == 12  # of the kernel's text: both sums are needed behind the first


def test_a_register_that_a_loop_needs_again_stays_live_through_it() -> None:
    body = """
mov.b32 %r1, 1; mov.b32 %r2, 2; mov.b32 %r3, 0;
L: add.s32 %r3, %r3, %r1;
setp.lt.s32 %p1, %r3, %r2;
@%p1 bra L;
ret;"""
    assert live_registers(code_of(kernel(body))).words == 3


def test_more_unrolling_needs_more_registers() -> None:
    words = [live_registers(code_of(module(n).entries[0])).words for n in ("copy4", "sgemm")]
    assert words[0] < words[1]


def test_trips_are_given_in_names_that_the_kernel_has() -> None:
    for name, found in TRIPS.items():
        count = len(module(name).entries[0].parameters)
        for each in filter(None, map(str, found)):
            assert all(int(n) < count for n in re.findall(r"param(\d+)", each))
