"""The table: what each signal says of each move, by how much, and why.

The weights are rules of thumb, in a few steps, unless a row names another basis; measured gains of
past searches will replace them. Signals are rules (`analysis/rules`), classes of bottleneck, facts
of the structure (`structure.py`) and the language. Without a row a signal says nothing of a move.
"""

from __future__ import annotations

from collections.abc import Mapping

from .model import Row

THUMB = "rule of thumb"
TENSOR_PEAK = (
    "datasheet of the H100: 989 TFLOP/s of dense fp16 in tensor cores over 67 of fp32, 15 times; "
    "rounded down, as memory is reached first"
)
REMEDY, ASKS, SUGGESTS, HINTS = 8.0, 4.0, 2.0, 1.4
"""the cure of exactly this; what is mostly done about it; one of several things; a side effect that
helps"""
AGAINST, UNLIKELY, POINTLESS = 0.5, 0.25, 0.05
"""what makes it worse or does not help; what is done already; there is nothing for it to improve"""


def _rows(signal: str, *said: tuple[str, float, str] | tuple[str, float, str, str]) -> list[Row]:
    return [Row(signal, each[0], each[1], each[2], each[3] if len(each) > 3 else THUMB)
            for each in said]  # fmt: skip


_ACCESSES = (
    *_rows(
        "atomic_contention",
        ("avoid_atomics_reduce", REMEDY, "what a block has combined meets once at each address"),
    ),
    *_rows(
        "poor_coalescing",
        ("coalesce_global_accesses", REMEDY, "it saves the sectors that are moved for nothing"),
        ("vectorize_global_loads", SUGGESTS, "16 bytes a thread use whole sectors at any stride"),
    ),
    *_rows(
        "smem_bank_conflicts",
        ("swizzle_shared_memory", REMEDY, "it saves the wavefronts that are conflicts"),
        ("change_block_sizes", HINTS, "another row length falls on other banks"),
    ),
    *_rows(
        "register_spill",
        ("reduce_register_pressure", REMEDY, "what fits in registers is not spilled"),
        ("change_block_sizes", SUGGESTS, "smaller tiles hold fewer values a thread"),
        ("tune_parameters", HINTS, "tiles, unrolling and warps set how much a thread holds"),
        ("register_tiling", AGAINST, "larger tiles a thread hold more values"),
        ("increase_ilp", AGAINST, "unrolling holds more values at once"),
        ("cuda_flags", AGAINST, "its caps on registers spill more"),
    ),
    *_rows(
        "huge_dram_traffic",
        ("fuse_launches", ASKS, "what stays on the chip is not moved again"),
        ("grouped_gemm_colmajor", ASKS, "operands shared in L2 are read from DRAM once"),
        ("change_block_sizes", SUGGESTS, "a larger tile reads its operands less often"),
        ("softmax_math_fusion", SUGGESTS, "one pass reads the data once"),
        ("cache_policy_cg", HINTS, "streamed data no longer drives out what is read again"),
    ),
    *_rows(
        "low_l1_hit",
        ("change_block_sizes", SUGGESTS, "a larger tile is read once and used more often"),
        ("register_tiling", SUGGESTS, "what is kept in registers is not read again"),
        ("cache_policy_cg", HINTS, "streamed data kept out of L1 leaves it to the rest"),
    ),
    *_rows(
        "low_l2_hit",
        ("grouped_gemm_colmajor", REMEDY, "blocks that run together then read the same data"),
        ("cache_policy_cg", SUGGESTS, "it keeps in L2 what is read again"),
        ("persistent_kernel", HINTS, "it decides itself in which order tiles are done"),
    ),
)  # fmt: skip
_PARALLELISM = (
    *_rows(
        "low_occupancy",
        ("change_block_sizes", ASKS, "it sets registers and shared memory of a block"),
        ("tune_parameters", SUGGESTS, "block sizes and warps are parameters as a rule"),
        ("reduce_register_pressure", HINTS, "more warps fit where registers keep them out"),
        ("increase_ilp", HINTS, "fewer warps suffice where each has independent work"),
    ),
    *_rows(
        "occupancy_gap",
        ("persistent_kernel", SUGGESTS, "blocks that live as long as the launch leave no gaps"),
        ("change_block_sizes", SUGGESTS, "blocks of another size end at other times"),
        ("tune_parameters", HINTS, "items a thread are a parameter as a rule"),
    ),
    *_rows(
        "register_limited",
        ("reduce_register_pressure", ASKS, "registers are what keeps more blocks out"),
        ("change_block_sizes", SUGGESTS, "smaller tiles hold fewer values a thread"),
        ("cuda_flags", SUGGESTS, "it tries caps on registers"),
        ("tune_parameters", HINTS, "tiles and warps set how much a thread holds"),
        ("register_tiling", AGAINST, "larger tiles a thread hold more values"),
    ),
    *_rows(
        "smem_limited",
        ("change_block_sizes", ASKS, "smaller tiles take less shared memory"),
        ("tune_parameters", SUGGESTS, "tiles and pipeline stages are parameters as a rule"),
        ("enable_async_pipeline", AGAINST, "each stage takes the tile's bytes once more"),
    ),
    *_rows(
        "warp_limited",
        ("change_block_sizes", ASKS, "a block size that divides the warps there are"),
        ("tune_parameters", SUGGESTS, "the block size is a parameter as a rule"),
    ),
    *_rows(
        "block_limited",
        ("change_block_sizes", ASKS, "more threads a block"),
        ("tune_parameters", SUGGESTS, "the block size is a parameter as a rule"),
    ),
    *_rows(
        "low_waves_per_sm",
        ("split_reduction", ASKS, "it makes more blocks of the same output"),
        ("change_block_sizes", ASKS, "smaller tiles make more blocks"),
        ("tune_parameters", SUGGESTS, "tiles are parameters as a rule"),
        ("persistent_kernel", AGAINST, "there are too few blocks already"),
    ),
    *_rows(
        "tail_effect",
        ("persistent_kernel", ASKS, "as many blocks as fit have no last wave"),
        ("change_block_sizes", ASKS, "another tile size gives other waves"),
        ("tune_parameters", SUGGESTS, "tiles are parameters as a rule"),
        ("split_reduction", HINTS, "smaller pieces fill the last wave"),
    ),
    *_rows(
        "high_waves_per_sm",
        ("persistent_kernel", ASKS, "a block that is started once does many tiles"),
        ("change_block_sizes", SUGGESTS, "larger tiles make fewer blocks"),
        ("tune_parameters", SUGGESTS, "items a thread are a parameter as a rule"),
    ),
    *_rows(
        "imbalance",
        ("persistent_kernel", ASKS, "it can hand out tiles to whoever is free"),
        ("change_block_sizes", HINTS, "smaller blocks even out"),
    ),
)
_STALLS = (
    *_rows(
        "stall_long_scoreboard",
        ("enable_async_pipeline", ASKS, "the next tile is under way while this one is used"),
        ("vectorize_global_loads", SUGGESTS, "more bytes under way with each load"),
        ("increase_ilp", SUGGESTS, "several loads are under way before the first is used"),
        ("change_block_sizes", HINTS, "more reuse of a tile, or more warps"),
    ),
    *_rows(
        "stall_short_scoreboard",
        ("swizzle_shared_memory", SUGGESTS, "conflicts make accesses of shared memory slow"),
        ("register_tiling", SUGGESTS, "fewer accesses of shared memory for each operation"),
        ("softmax_math_fusion", HINTS, "exp2 in place of exp, and fewer of them"),
    ),
    *_rows(
        "stall_mio_throttle",
        ("register_tiling", ASKS, "fewer accesses of shared memory for each operation"),
        ("switch_to_mma_or_wgmma", HINTS, "ldmatrix and wgmma load operands with few instructions"),
        ("swizzle_shared_memory", HINTS, "conflicts keep the queue full"),
    ),
    *_rows(
        "stall_lg_throttle",
        ("vectorize_global_loads", ASKS, "a quarter of the instructions for the same bytes"),
        ("coalesce_global_accesses", HINTS, "an access of fewer sectors leaves the queue sooner"),
    ),
    *_rows(
        "stall_math_pipe",
        ("switch_to_mma_or_wgmma", SUGGESTS, "another unit does the products"),
        ("softmax_math_fusion", SUGGESTS, "fewer special functions for the same result"),
        ("avoid_double_arithmetic", SUGGESTS, "the unit for double is the slower one"),
        ("pad_tail_and_mask", HINTS, "no instructions for bounds in the main loop"),
    ),
    *_rows(
        "stall_barrier",
        ("fewer_barriers", ASKS, "double buffers need one where single ones need two"),
        ("enable_async_pipeline", SUGGESTS, "a deeper pipeline makes waits shorter"),
        ("change_block_sizes", HINTS, "in smaller blocks fewer warps wait for the slowest"),
    ),
    *_rows(
        "stall_wait",
        ("increase_ilp", ASKS, "independent instructions fill the fixed latency"),
    ),
    *_rows(
        "stall_membar",
        ("fewer_barriers", ASKS, "fewer fences, or of the block alone"),
        ("avoid_atomics_reduce", SUGGESTS, "results of a block need no fence before them"),
    ),
    *_rows(
        "divergence",
        ("warp_uniform_branches", ASKS, "threads of a warp that go one way all work"),
        ("pad_tail_and_mask", SUGGESTS, "the main loop then has no bounds to branch on"),
    ),
    *_rows(
        "non_fused_fp",
        ("cuda_flags", HINTS, "fast math fuses and shortens, where the contract allows it"),
    ),
    *_rows(
        "tensor_unused",
        ("switch_to_mma_or_wgmma", REMEDY, "tensor cores are what the products are made for",
         TENSOR_PEAK),
        ("register_tiling", AGAINST, "it speeds up what tensor cores replace"),
    ),
)  # fmt: skip
_BOTTLENECK = (
    *_rows(
        "memory_bound",
        ("fuse_launches", SUGGESTS, "fewer bytes are the only way past a busy memory"),
        ("grouped_gemm_colmajor", SUGGESTS, "it moves reads from DRAM to L2"),
        ("softmax_math_fusion", HINTS, "fewer passes over the data"),
        ("coalesce_global_accesses", HINTS, "bytes that nobody asked for are the first to save"),
        ("cache_policy_cg", HINTS, "what is read again stays nearer"),
        ("loop_order", SUGGESTS, "lines of which every byte is used are read less often"),
        ("tile_loops", SUGGESTS, "a tile that stays in a cache is read from memory once"),
        ("switch_to_mma_or_wgmma", AGAINST, "arithmetic is not what it waits for"),
        ("warp_uniform_branches", AGAINST, "arithmetic is not what it waits for"),
        ("increase_ilp", AGAINST, "memory is busy already"),
    ),
    *_rows(
        "compute_bound",
        ("switch_to_mma_or_wgmma", ASKS, "a faster unit", TENSOR_PEAK),
        ("softmax_math_fusion", SUGGESTS, "fewer special functions for the same result"),
        ("avoid_double_arithmetic", SUGGESTS, "float arithmetic is faster at least by two"),
        ("pad_tail_and_mask", SUGGESTS, "no instructions for bounds in the main loop"),
        ("warp_uniform_branches", HINTS, "threads that are off take issue slots"),
        ("parallelise", SUGGESTS, "other cores have units of their own"),
        ("vectorise_loops", SUGGESTS, "an instruction does several elements"),
        ("fuse_launches", AGAINST, "memory is not what it waits for"),
        ("grouped_gemm_colmajor", AGAINST, "memory is not what it waits for"),
        ("vectorize_global_loads", AGAINST, "memory is not what it waits for"),
        ("cache_policy_cg", AGAINST, "memory is not what it waits for"),
    ),
    *_rows(
        "latency_bound",
        ("enable_async_pipeline", SUGGESTS, "it hides latency behind work"),
        ("increase_ilp", SUGGESTS, "more independent work a warp"),
        ("change_block_sizes", SUGGESTS, "more warps, or more work a block"),
        ("tune_parameters", HINTS, "sizes of blocks and tiles are parameters as a rule"),
        ("split_reduction", HINTS, "more blocks to choose from"),
        ("vectorize_global_loads", HINTS, "more bytes under way with each load"),
        ("loop_order", SUGGESTS, "the next element is in the line that is there already"),
        ("parallelise", SUGGESTS, "other cores wait at the same time"),
        ("vectorise_loops", HINTS, "several elements are under way with each instruction"),
    ),
)
_STRUCTURE = (
    *_rows(
        "narrow_global_accesses",
        ("vectorize_global_loads", SUGGESTS, "a thread can move 16 bytes with one instruction",
         f"{THUMB}: no more, as whole warps of 4 bytes a thread can fill DRAM, too"),
    ),
    *_rows(
        "unpipelined_loads",
        ("enable_async_pipeline", ASKS, "loads of an iteration wait for the one before it"),
    ),
    *_rows(
        "frequent_atomics",
        ("avoid_atomics_reduce", ASKS, "threads of a block can combine their values first"),
    ),
    *_rows(
        "several_passes",
        ("softmax_math_fusion", ASKS, "a running maximum needs one pass less"),
    ),
    *_rows(
        "frequent_special_functions",
        ("softmax_math_fusion", SUGGESTS, "exp2 in place of exp, and fewer of them",
         "CUDA programming guide, results a cycle of sm_90: 16 special functions, 128 fp32"),
    ),
    *_rows(
        "guarded_accesses",
        ("pad_tail_and_mask", HINTS, "a main loop of whole tiles needs no bounds"),
    ),
    *_rows(
        "data_dependent_branches",
        ("warp_uniform_branches", SUGGESTS, "threads of a warp may part there"),
    ),
    *_rows(
        "several_barriers",
        ("fewer_barriers", SUGGESTS, "double buffers need one where single ones need two"),
    ),
)  # fmt: skip
_ABSENT = (
    *_rows("no_atomics", ("avoid_atomics_reduce", POINTLESS, "there are none to avoid")),
    *_rows("no_special_functions", ("softmax_math_fusion", POINTLESS, "there is no softmax")),
    *_rows("no_matrix_work", ("switch_to_mma_or_wgmma", POINTLESS, "they take other types")),
    *_rows(
        "tensor_used",
        ("switch_to_mma_or_wgmma", UNLIKELY, "it is done; wgmma in place of mma may be left"),
    ),
    *_rows(
        "no_shared_memory",
        ("swizzle_shared_memory", POINTLESS, "there is none to lay out"),
        ("fewer_barriers", UNLIKELY, "barriers order shared memory as a rule"),
    ),
    *_rows("wide_accesses", ("vectorize_global_loads", POINTLESS, "it is done")),
    *_rows(
        "pipelined",
        ("enable_async_pipeline", UNLIKELY, "it is done; more stages may be left"),
    ),
)
_LANGUAGE = (
    *_rows(
        "triton",
        ("swizzle_shared_memory", UNLIKELY, "the compiler lays out shared memory"),
        ("fewer_barriers", UNLIKELY, "the compiler places barriers"),
        ("register_tiling", UNLIKELY, "the compiler divides a block among threads"),
        ("coalesce_global_accesses", AGAINST, "the compiler orders the threads of a block"),
        ("vectorize_global_loads", AGAINST, "the compiler does it where it knows divisibility"),
        ("reduce_register_pressure", AGAINST, "block sizes and warps do it"),
    ),
)

ROWS: tuple[Row, ...] = (
    *(*_ACCESSES, *_PARALLELISM, *_STALLS),
    *(*_BOTTLENECK, *_STRUCTURE, *_ABSENT, *_LANGUAGE),
)

SILENT: Mapping[str, str] = {
    "severe_memory_bound": "the class of the bottleneck says it",
    "near_peak_compute": "the class of the bottleneck says it",
    "latency_bound": "the class of the bottleneck says it",
    "low_ipc": "the largest stall says more",
    "hot_line": "it says where to look, not what to do",
}
"""Rules without rows, and why."""
