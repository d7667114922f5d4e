"""What each Triton move proposes, before and after, and what it refuses."""

from __future__ import annotations

import ast
import difflib
import io
import tokenize

import pytest
from triton_moves import (
    BY_ID,
    PRODUCTS,
    SPECS,
    SUM,
    TUTORIAL,
    applied,
    chain,
    proposals,
    reason,
    state,
)

from kernelwright.runners.normalise import source_key
from kernelwright.search.moves.base import NotApplicable

CASES = [(name, move) for name in SPECS for move in BY_ID]


def changes(name: str, move: str, number: int = 0, source: str | None = None) -> list[str]:
    """Lines that a candidate takes out and puts in, as a diff without its places."""
    before = state(name, source)
    after = proposals(move, before)[number].source
    assert after is not None
    lines = difflib.unified_diff(before.source.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def comments(source: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [t.string for t in tokens if t.type == tokenize.COMMENT]


@pytest.mark.parametrize(("name", "move"), CASES)
def test_a_candidate_parses_changes_something_and_keeps_comments(name: str, move: str) -> None:
    start = state(name)
    found = BY_ID[move].propose(start)
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
    found = BY_ID[move].propose(state(name))
    for each in () if isinstance(found, NotApplicable) else found[:2]:
        after = applied(state(name), each)
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


# --- matrix products


def test_sums_of_broadcast_products_become_tl_dot() -> None:
    assert changes("products", "dot_products") == [
        "-        acc += tl.sum(a[:, :, None] * b[None, :, :], axis=1)",
        "+        acc += tl.dot(a, b)",
    ]
    assert "has no `tl.sum(a[:, :, None]" in reason("dot_products", state("tutorial"))
    swapped = PRODUCTS.replace("axis=1", "axis=0")
    assert "has no `tl.sum(a[:, :, None]" in reason("dot_products", state("products", swapped))


def test_fp32_products_stay_fp32_where_the_contract_says_ieee() -> None:
    io = SPECS["products"]["io"]
    wide = io | {"arguments": [{**a, "dtype": "float32"} for a in io["arguments"]]}
    exact = proposals("dot_products", state("products", io=wide))[0].source or ""
    assert 'tl.dot(a, b, input_precision="ieee")' in exact
    loose = proposals("dot_products", state("products", io=wide | {"math": "tf32"}))[0].source
    assert "acc += tl.dot(a, b)\n" in (loose or "")


def test_tiles_on_two_axes_of_the_grid_are_numbered_in_groups() -> None:
    assert changes("gemm_triton", "grouped_program_order") == [
        "-    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,",
        "+    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, "
        "GROUP_M: tl.constexpr = 8,",
        "-    at_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)",
        "-    at_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)",
        "+    tile_y, tile_x = tl.swizzle2d(tl.program_id(1), tl.program_id(0), "
        "tl.num_programs(1), tl.num_programs(0), GROUP_M)",
        "+    at_m = tile_x * BLOCK_M + tl.arange(0, BLOCK_M)",
        "+    at_n = tile_y * BLOCK_N + tl.arange(0, BLOCK_N)",
    ]


def test_tiles_that_share_one_axis_are_numbered_in_groups() -> None:
    assert changes("tutorial", "grouped_program_order")[-1] == (
        "+    pid_m, pid_n = tl.swizzle2d("
        "pid_m, pid_n, tl.num_programs(0) // num_pid_n, num_pid_n, GROUP_M)"
    )


def test_grouped_tiles_stay_as_they_are() -> None:
    assert "grouped already" in reason("grouped_program_order", state("triton_matmul"))
    grouped = chain("gemm_triton", "grouped_program_order")
    assert "grouped already" in reason("grouped_program_order", grouped)


def test_sizes_of_tiles_come_with_warps_and_stages() -> None:
    first = proposals("matmul_tiles", state("gemm_triton"))[0]
    assert first.detail == "tiles of 128x256x64, 8 warps, 3 stages"
    assert first.parameters == {
        "BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3
    }  # fmt: skip


def test_sizes_that_the_launch_writes_are_changed_there() -> None:
    assert changes("tutorial", "matmul_tiles") == [
        "-        BLOCK_M=32, BLOCK_N=32, BLOCK_K=32,",
        "+        BLOCK_M=128, BLOCK_N=256, BLOCK_K=64,",
    ]


def test_tiles_are_no_longer_than_the_matrices() -> None:
    found = proposals("matmul_tiles", state("batched_gemm_triton"))
    assert found[0].detail.startswith("tiles of 64x64x64") and found[0].prior == 0.5
    assert all("128" not in c.detail for c in found)


def test_tl_dot_adds_to_its_accumulator() -> None:
    assert changes("gemm_triton", "dot_operands") == [
        "-        sums += tl.dot(a_values, b_values)",
        "+        sums = tl.dot(a_values, b_values, sums)",
    ]


def test_fp16_operands_are_not_widened_before_tl_dot() -> None:
    assert changes("tutorial", "dot_operands", 1) == [
        "-        a = a.to(tl.float32)",
        "-        b = b.to(tl.float32)",
    ]


def test_what_something_else_reads_stays_wide() -> None:
    used = TUTORIAL.replace("acc += tl.dot(a, b)", "acc += tl.dot(a, b)\n        seen = a + 1")
    details = [c.detail for c in proposals("dot_operands", state("tutorial", used))]
    assert details == ["tl.dot adds to its accumulator"]


@pytest.mark.parametrize(("math", "wanted"), [("ieee", ["tf32x3"]), ("tf32", ["tf32", "tf32x3"])])
def test_fp32_products_use_tf32_as_the_contract_allows(math: str, wanted: list[str]) -> None:
    data = SPECS["tutorial"]["io"]
    arguments = [{**a, "dtype": "float32"} for a in data["arguments"]]
    exact = TUTORIAL.replace("tl.dot(a, b)", 'tl.dot(a, b, acc, input_precision="ieee")')
    exact = exact.replace("acc += ", "acc = ").replace("        a = a.to(tl.float32)\n", "")
    exact = exact.replace("        b = b.to(tl.float32)\n", "")
    start = state("tutorial", exact, io=data | {"arguments": arguments, "math": math})
    sources = [c.source or "" for c in proposals("dot_operands", start)]
    assert [w for s in sources for w in ("tf32", "tf32x3") if f'"{w}"' in s] == wanted


def test_operands_are_loaded_through_descriptors_where_sizes_allow() -> None:
    lines = changes("tutorial", "tensor_descriptors")
    assert lines[0].startswith('+@triton.heuristics({"TMA": lambda args: args["stride_ak"] == 1')
    assert 'args["stride_am"] % 8 == 0' in lines[0]
    assert (
        "+        a_tiles = tl.make_tensor_descriptor(a_ptr, shape=[M, K], "
        "strides=[stride_am, 1], block_shape=[BLOCK_M, BLOCK_K])"
    ) in lines
    assert (
        "+        a = a_tiles.load([pid_m * BLOCK_M, k * BLOCK_K]) if TMA else "
        "tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)"
    ) in lines


def test_sizes_that_always_allow_descriptors_need_no_condition() -> None:
    whole = {n: {"min": 8, "max": 4096, "multiple_of": 8} for n in "MNK"} | {
        "batch": {"min": 1, "max": 65536}
    }
    works = [{"name": "main", "symbols": {"batch": 64, "M": 64, "N": 64, "K": 64}}]
    start = state("batched_gemm_triton", symbols=whole, workloads=works)
    source = proposals("tensor_descriptors", start)[0].source or ""
    assert "heuristics" not in source and "if TMA" not in source
    assert "a_values = a_tiles.load([" in source


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("other=0.0)\n        b", "other=1.0)\n        b", "another value than 0"),
        ("K - k * BLOCK_K, other=0.0)\n        b",
         "K - k * BLOCK_K and M > 5, other=0.0)\n        b", "a mask of more than its sizes"),
        (") % M", ")", "no mask that says how many rows"),
        ("a_ptrs += BLOCK_K * stride_ak", "a_ptrs += 2 * BLOCK_K", "no tile that tl.load reads"),
        ("acc += tl.dot(a, b)", "acc = tl.dot(a, b)", "not added to an accumulator"),
    ],
)  # fmt: skip
def test_tiles_of_another_form_get_no_descriptor(old: str, new: str, words: str) -> None:
    assert old in TUTORIAL
    assert words in reason("tensor_descriptors", state("tutorial", TUTORIAL.replace(old, new)))


def test_unaligned_arrays_get_no_descriptor() -> None:
    data = SPECS["tutorial"]["io"]
    loose = data | {"arguments": [{**a, "align": 2} for a in data["arguments"]]}
    assert "aligned to 2 bytes" in reason("tensor_descriptors", state("tutorial", io=loose))


# --- programs


def test_programs_loop_over_what_others_did_and_make_descriptors_once() -> None:
    now = chain("gemm_triton", "tensor_descriptors", "persistent_programs:1")
    kernel = now.source.partition("):  # fmt: skip\n")[2]
    loop = kernel.index("    for program in tl.range(tl.program_id(0), programs_x * programs_y,")
    assert kernel.index("a_tiles = tl.make_tensor_descriptor") < loop
    assert "        program_x = program % programs_x\n" in kernel
    assert "        at_m = program_x * BLOCK_M" in kernel
    assert "min(triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N), processors" in now.source
    assert "programs_x=triton.cdiv(M, BLOCK_M), programs_y=triton.cdiv(N, BLOCK_N)" in now.source


def test_a_grid_over_the_kernels_constants_is_worked_out_in_the_kernel() -> None:
    now = chain("tutorial", "persistent_programs")
    assert "(tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)), tl.num_programs(0))" in now.source
    assert "programs_x=" not in now.source


def test_grids_that_cannot_be_changed_are_refused() -> None:
    assert "the spec launches" in reason("persistent_programs", state("triton_vector_add"))
    twice = SUM.replace(
        "    return total", "    sum_kernel[(1,)](x, total, n, 64)\n    return total"
    )
    assert "more than one place" in reason("persistent_programs", state("sum", twice))
    early = SUM.replace("    at =", "    if n == 0:\n        return\n    at =")
    assert "returns early" in reason("persistent_programs", state("sum", early))
    looping = chain("sum", "persistent_programs")
    assert "loop over the work already" in reason("persistent_programs", looping)


def test_a_grid_that_sizes_something_else_stays() -> None:
    grid = (
        "    grid = (triton.cdiv(n, 1024),)\n    parts = torch.empty(grid[0])\n    sum_kernel[grid]"
    )
    named = SUM.replace("    sum_kernel[(triton.cdiv(n, 1024),)]", grid)
    assert "is more than the grid" in reason("persistent_programs", state("sum", named))


def test_tiles_that_are_no_whole_rows_stay_in_order() -> None:
    padded = TUTORIAL.replace('META["BLOCK_N"]),)', 'META["BLOCK_N"]) + 5,)')
    assert padded != TUTORIAL
    assert "below `rows * n`" in reason("grouped_program_order", state("tutorial", padded))


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


def test_rows_too_long_for_a_block_keep_their_loops() -> None:
    long = {"rows": {"max": 8}, "cols": {"max": 1 << 20}}
    works = [{"name": "main", "symbols": {"rows": 4, "cols": 4096}}]
    start = state("softmax_triton", symbols=long, workloads=works)
    assert "rows of 1 to 1048576 elements" in reason("one_block_a_row", start)


def test_warps_of_one_block_suit_the_rows() -> None:
    found = proposals("one_block_a_row", state("softmax_triton"))
    assert [c.parameters for c in found] == [{"num_warps": 16}, {"num_warps": 8}]


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
