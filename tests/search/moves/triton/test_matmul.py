"""Moves on Triton matrix products: tl.dot, tiles in groups, descriptors, persistent programs."""

from __future__ import annotations

import pytest
from triton_moves import (
    PRODUCTS,
    SPECS,
    SUM,
    TUTORIAL,
    applied,
    chain,
    changes,
    proposals,
    reason,
    state,
)

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


def test_a_grid_that_sizes_something_else_stays_and_the_launch_gets_its_own() -> None:
    named = (
        "    grid = (triton.cdiv(n, 1024),)\n    parts = torch.empty(grid[0])\n    sum_kernel[grid]"
    )
    start = state("sum", SUM.replace("    sum_kernel[(triton.cdiv(n, 1024),)]", named))
    first, *_ = proposals("persistent_programs", start)
    written = applied(start, first).source
    assert "grid = (triton.cdiv(n, 1024),)\n    parts = torch.empty(grid[0])" in written
    assert "sum_kernel[(min(triton.cdiv(n, 1024), processors" in written


def test_tiles_that_are_no_whole_rows_stay_in_order() -> None:
    padded = TUTORIAL.replace('META["BLOCK_N"]),)', 'META["BLOCK_N"]) + 5,)')
    assert padded != TUTORIAL
    assert "below `rows * n`" in reason("grouped_program_order", state("tutorial", padded))
