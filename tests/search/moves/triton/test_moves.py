"""What each Triton move proposes, before and after, and what it refuses."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from triton_moves import (
    BY_ID,
    SPECS,
    SUM,
    applied,
    chain,
    changes,
    proposals,
    reason,
    state,
)

from kernelwright.analysis.prior.model import Signal
from kernelwright.analysis.prior.signals import of_language
from kernelwright.analysis.prior.weighing import weigh
from kernelwright.runners.specs.normalise import source_key
from kernelwright.search.moves import FACTS
from kernelwright.search.moves.shared.base import NotApplicable, Proposals, State
from kernelwright.search.planning.planner import Context, run_planner
from kernelwright.search.planning.rules import rules_planner

CASES = [(name, move) for name in SPECS for move in BY_ID]


@cache
def start_of(name: str) -> State:
    return state(name)


@cache
def asked(name: str, move: str) -> tuple[State, Proposals]:
    """A kernel as it is, and what a move says to it, for all laws."""
    return start_of(name), BY_ID[move].propose(start_of(name))


def comments(source: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [t.string for t in tokens if t.type == tokenize.COMMENT]


@pytest.mark.parametrize(("name", "move"), CASES)
def test_a_candidate_parses_changes_something_and_keeps_comments(name: str, move: str) -> None:
    start, found = asked(name, move)
    if isinstance(found, NotApplicable):
        assert found.reason
        return
    changed = [(c.source, c.parameters) for c in found]
    assert len({str(c) for c in changed}) == len(changed)
    for each in found:
        assert each.method == BY_ID[move].method
        assert each.predicted_gain is None and 0 < each.prior <= 1
        if each.source is None:
            assert each.parameters
            continue
        assert source_key(each.source, "triton") != source_key(start.source, "triton")
        ast.parse(each.source)
        assert set(comments(start.source)) == set(comments(each.source))
        assert start.spec.kernel.metadata.kernel_name in each.source


@pytest.mark.parametrize(("name", "move"), CASES)
def test_a_move_does_not_repeat_what_it_did(name: str, move: str) -> None:
    start, found = asked(name, move)
    for each in () if isinstance(found, NotApplicable) else found[:2]:
        after = applied(start, each)
        again = BY_ID[move].propose(after)
        for other in () if isinstance(again, NotApplicable) else again:
            assert other.detail != each.detail
            assert applied(after, other).source != after.source or other.parameters


@pytest.mark.parametrize("move", BY_ID)
def test_what_is_no_triton_kernel_is_refused_in_words(move: str) -> None:
    assert reason(move, state("sum", "def total_of(x:\n")) == "the source does not parse"
    assert "import triton" in reason(move, state("sum", "def total_of(x): pass\n"))
    head = "import triton\nimport triton.language as tl\n"
    assert "@triton.jit" in reason(move, state("sum", head + "def total_of(x): pass\n"))


# --- rows


def test_passes_along_a_row_become_one_block_that_is_loaded_once() -> None:
    assert changes("rmsnorm_triton", "one_block_a_row") == [
        '+@triton.heuristics({"BLOCK_ROW": lambda args: triton.next_power_of_2(args["cols"])})',
        "-def rmsnorm_kernel(x, weight, y, cols, BLOCK: tl.constexpr):",
        "+def rmsnorm_kernel(x, weight, y, cols, BLOCK: tl.constexpr, BLOCK_ROW: tl.constexpr):",
        "-    squares = tl.zeros((BLOCK,), dtype=tl.float32)",
        "-    for start in range(0, cols, BLOCK):",
        "-        at = start + tl.arange(0, BLOCK)",
        "-        value = tl.load(x_row + at, mask=at < cols, other=0.0).to(tl.float32)",
        "-        squares += value * value",
        "+    squares = tl.zeros((BLOCK_ROW,), dtype=tl.float32)",
        "+    start = 0",
        "+    at = start + tl.arange(0, BLOCK_ROW)",
        "+    x_values = tl.load(x_row + at, mask=at < cols, other=0.0)",
        "+    value = x_values.to(tl.float32)",
        "+    squares += value * value",
        "-    for start in range(0, cols, BLOCK):",
        "-        at = start + tl.arange(0, BLOCK)",
        "-        inside = at < cols",
        "-        value = tl.load(x_row + at, mask=inside).to(tl.float32)",
        "-        w = tl.load(weight + at, mask=inside).to(tl.float32)",
        "-        tl.store(y_row + at, value * scale * w, mask=inside)",
        "+    start = 0",
        "+    at = start + tl.arange(0, BLOCK_ROW)",
        "+    inside = at < cols",
        "+    value = x_values.to(tl.float32)",
        "+    w = tl.load(weight + at, mask=inside).to(tl.float32)",
        "+    tl.store(y_row + at, value * scale * w, mask=inside)",
    ]


def test_a_load_that_fills_otherwise_selects_its_own_value() -> None:
    source = SPECS["softmax_triton"]["kernel"]["source_code"]
    filled = source.replace('other=-float("inf"))\n        sums', "other=0.0)\n        sums")
    found = proposals("one_block_a_row", state("softmax_triton", filled))[0].source or ""
    assert "value = tl.where(at < cols, x_values, 0.0)\n    sums" in found


def test_an_array_that_the_kernel_writes_is_loaded_again() -> None:
    data = SPECS["softmax_triton"]["io"]
    inout = [{**a, "role": "inout"} if a["name"] == "x" else a for a in data["arguments"]]
    start = state("softmax_triton", io=data | {"arguments": inout})
    source = proposals("one_block_a_row", start)[0].source or ""
    assert source.count("tl.load(") == 3


def test_rows_without_a_mask_keep_their_loops() -> None:
    source = SPECS["softmax_triton"]["kernel"]["source_code"]
    bare = source.replace(', mask=at < cols, other=-float("inf")', "")
    assert "no mask that keeps it below `cols`" in reason(
        "one_block_a_row", state("softmax_triton", bare)
    )


@pytest.mark.parametrize(
    ("name", "move"),
    [
        ("argmax_triton", "blocks_at_launch"),
        ("scan_triton", "blocks_at_launch"),
        ("stencil_triton", "rows_of_vectors"),
    ],
)
def test_a_larger_block_comes_first_though_there_is_no_softmax_and_triton_divides_blocks(
    name: str, move: str
) -> None:
    absent = Signal(id="no_special_functions", strength=1.0, source="structure")
    known = weigh(tuple(FACTS.values()), (absent, *of_language("triton")))
    start = state(name)
    asked = Context("s", "v", start, weights={w.move: w.factor for w in known}, wanted=1)
    found = run_planner(rules_planner, asked)
    assert isinstance(found, tuple)
    assert found[0] in proposals(move, start)


def test_rows_too_long_for_a_block_keep_their_loops() -> None:
    long = {"rows": {"max": 8}, "cols": {"max": 1 << 20}}
    works = [{"name": "main", "symbols": {"rows": 4, "cols": 4096}}]
    start = state("softmax_triton", symbols=long, workloads=works)
    assert "rows of 1 to 1048576 elements" in reason("one_block_a_row", start)


def test_warps_of_one_block_suit_the_rows() -> None:
    found = proposals("one_block_a_row", state("softmax_triton"))
    assert [c.parameters for c in found] == [{"num_warps": 16}, {"num_warps": 8}, None]


def test_warps_follow_the_row_of_each_launch_where_nobody_has_set_them() -> None:
    lines = changes("scan_triton", "one_block_a_row", 2)
    rounded = 'triton.next_power_of_2(args["cols"])'
    assert lines[:2] == [
        f'+@triton.heuristics({{"num_warps": lambda args: max(1, min(16, {rounded} // 512))}})',
        f'+@triton.heuristics({{"BLOCK_ROW": lambda args: {rounded}}})',
    ]
    start = state("scan_triton")
    tuned = proposals("one_block_a_row", replace(start, parameters={"num_warps": 8}))
    assert all(c.parameters for c in tuned)


def test_a_loop_along_rows_takes_the_longest_block_that_pads_the_rows_of_a_launch_little() -> None:
    lines = changes("argmax_triton", "blocks_at_launch")
    lengths = '(max(32, args["BLOCK"] >> i) for i in range(6))'
    cost = 'triton.cdiv(args["cols"], b) * (b + 128)'
    assert lines == [
        "+@triton.heuristics(",
        "+    {",
        f'+        "BLOCK_FIT": lambda args: min({lengths}, key=lambda b: {cost}),',
        '+        "num_warps": lambda args: max(1, min(16, args["BLOCK_FIT"] // 512)),',
        "+    }",
        "+)",
        "-def argmax_kernel(x, index, cols, BLOCK: tl.constexpr):",
        "+def argmax_kernel(x, index, cols, BLOCK: tl.constexpr, BLOCK_FIT: tl.constexpr):",
        '-    best = tl.full((BLOCK,), -float("inf"), dtype=tl.float32)',
        "-    place = tl.zeros((BLOCK,), dtype=tl.int32)",
        "-    for start in range(0, cols, BLOCK):",
        "-        at = start + tl.arange(0, BLOCK)",
        '+    best = tl.full((BLOCK_FIT,), -float("inf"), dtype=tl.float32)',
        "+    place = tl.zeros((BLOCK_FIT,), dtype=tl.int32)",
        "+    for start in range(0, cols, BLOCK_FIT):",
        "+        at = start + tl.arange(0, BLOCK_FIT)",
    ]
    found = proposals("blocks_at_launch", state("argmax_triton"))
    assert [c.parameters for c in found] == [{"BLOCK": 4096}, {"BLOCK": 2048}]


def test_whole_rows_come_before_blocks_of_each_launch_only_where_they_save_passes() -> None:
    def best(name: str, move: str, **changes: Any) -> float:
        return max(c.prior for c in proposals(move, state(name, **changes)))

    def saves(name: str, **changes: Any) -> bool:
        whole, block = (best(name, m, **changes) for m in ("one_block_a_row", "blocks_at_launch"))
        return whole > block

    assert saves("softmax_triton") and not saves("scan_triton")
    works = [{"name": "main", "symbols": {"rows": 4, "cols": 40_000}}]
    spilling = {"rows": {"max": 8}, "cols": {"max": 65_536}}
    assert not saves("softmax_triton", symbols=spilling, workloads=works)


def test_blocks_follow_no_launch_that_something_else_decides() -> None:
    start = state("scan_triton")
    once = chain("scan_triton", "blocks_at_launch")
    fixed = {"rows": {"max": 8}, "cols": {"min": 4096, "max": 4096}}
    works = [{"name": "main", "symbols": {"rows": 4, "cols": 4096}}]
    alike = state("scan_triton", symbols=fixed, workloads=works)
    for refused, why in (
        (once, "a decorator of the kernel decides on `BLOCK_FIT` already"),
        (replace(start, parameters={"num_warps": 8}), "sets its warps"),
        (alike, "no symbol of the contract with several values"),
        (state("gemm_triton"), "multiplies matrices"),
        (state("stencil_triton"), "no loops"),
    ):
        assert why in reason("blocks_at_launch", refused)


# --- masks


def test_masks_are_left_out_of_launches_of_whole_blocks() -> None:
    assert changes("triton_vector_add", "whole_blocks") == [
        '+@triton.heuristics({"WHOLE": lambda args: args["n"] % args["BLOCK"] == 0})',
        "-def vector_add(x, y, out, n, BLOCK: tl.constexpr):",
        "+def vector_add(x, y, out, n, BLOCK: tl.constexpr, WHOLE: tl.constexpr):",
        "-    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), "
        "mask=inside)",
        "+    tl.store(out + at, tl.load(x + at, mask=None if WHOLE else inside) + "
        "tl.load(y + at, mask=None if WHOLE else inside), mask=None if WHOLE else inside)",
    ]


def test_a_mask_of_a_row_in_one_block_goes_where_the_row_fills_it() -> None:
    lines = changes("triton_softmax", "whole_blocks")
    assert 'args["cols"] >= args["BLOCK_COLS"]' in lines[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(triton.cdiv(n, 1024),)", "(triton.cdiv(n, 1024) + 1,)"),
        ("tl.program_id(0) * BLOCK", "tl.program_id(0) * BLOCK + 1"),
        ("mask=at < n", "mask=(at < n) & (at > 2)"),
        ("BLOCK=1024", ""),
    ],
)
def test_masks_that_may_be_needed_stay(old: str, new: str) -> None:
    assert old in SUM
    changed = SUM.replace(old, new).replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr = 1024")
    assert "no mask only keeps blocks" in reason("whole_blocks", state("sum", changed))


def test_rows_whose_masks_are_left_out_keep_their_loops() -> None:
    whole = chain("softmax_triton", "whole_blocks")
    assert "no mask that keeps it below" in reason("one_block_a_row", whole)


# --- loops, atomics, caches, exponentials


def test_stages_and_unrolling_are_options_of_all_loops_along_data() -> None:
    assert changes("scan_triton", "loop_stages") == [
        "-    for start in range(0, cols, BLOCK):",
        "+    for start in tl.range(0, cols, BLOCK, num_stages=3):",
    ]
    lines = changes("layernorm_triton", "unrolled_loops", 1)
    assert lines.count("+    for start in tl.range(0, cols, BLOCK, loop_unroll_factor=4):") == 3


def test_loops_over_descriptors_may_have_warps_that_only_load() -> None:
    found = proposals("loop_stages", chain("gemm_triton", "tensor_descriptors"))
    assert [c.parameters for c in found] == [{"num_warps": 4}]
    assert "tl.range(0, K, BLOCK_K, warp_specialize=TMA)" in (found[0].source or "")
    assert "those of the launch" in reason("loop_stages", state("gemm_triton"))


def test_values_are_counted_before_bins_are_added_to() -> None:
    assert changes("histogram_triton", "block_atomics") == [
        "-    tl.atomic_add(bins + value, 1, mask=inside)",
        "+    counts = tl.histogram(value, 256, mask=inside)",
        "+    tl.atomic_add(bins + tl.arange(0, 256), counts)",
    ]


def test_long_blocks_share_what_a_histogram_costs_beside_its_values() -> None:
    found = [c for c in proposals("block_atomics", state("histogram_triton")) if c.parameters]
    assert [c.parameters for c in found] == [{"BLOCK": 4096}]
    assert "    sums += counts" in (found[0].source or "")
    long = replace(state("histogram_triton"), parameters={"BLOCK": 4096})
    assert not any(c.parameters for c in proposals("block_atomics", long))


def test_sums_of_blocks_are_added_to_memory_once_a_program() -> None:
    source = proposals("block_atomics", state("sum"))[0].source or ""
    assert source[source.index("    sums = ") : source.index("def total_of")].rstrip() == (
        "    sums = tl.zeros((BLOCK,), dtype=tl.float32)\n"
        "    for program in tl.range(tl.program_id(0), programs_x, tl.num_programs(0)):\n"
        "        at = program * BLOCK + tl.arange(0, BLOCK)\n"
        "        values = tl.load(x + at, mask=at < n, other=0.0)\n"
        "        sums += values\n"
        "    tl.atomic_add(total, tl.sum(sums, axis=0))"
    )


def test_atomics_to_other_places_stay() -> None:
    assert "no tl.atomic_add" in reason("block_atomics", state("scan_triton"))
    placed = SUM.replace("tl.atomic_add(total,", "tl.atomic_add(total + tl.program_id(0) % 4,")
    assert "neither counts values" in reason("block_atomics", state("sum", placed))


def test_what_is_read_again_stays_in_the_cache_and_streams_leave_it() -> None:
    lines = "\n".join(changes("layernorm_triton", "cache_policies", 2))
    assert lines.count('eviction_policy="evict_last"') == 4, "two passes of x, weight and bias"
    assert lines.count('eviction_policy="evict_first"') == 1
    assert "+        tl.store" not in lines
    hinted = chain("layernorm_triton", "cache_policies:2")
    details = [c.detail for c in proposals("cache_policies", hinted)]
    assert details == ["stores pass the caches by"]


def test_exponentials_of_differences_are_powers_of_two() -> None:
    lines = changes("triton_softmax", "base_two_exponentials")
    assert lines[-1] == (
        "+    powers = tl.exp2((values - tl.max(values, axis=0)) * 1.4426950408889634)"
    )
    assert "no tl.exp" in reason("base_two_exponentials", state("scan_triton"))
