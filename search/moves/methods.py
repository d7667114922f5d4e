"""The catalogue of methods: what they are, what they relieve, where to read. A method is what a
candidate does to a kernel; a move (`base.py`) is a rule that writes candidates of one method."""

from __future__ import annotations

from dataclasses import dataclass

from ...analysis.levels import Where
from ...analysis.prior.model import ALL_ROOFS, Category, MoveFacts
from ...runners.languages import KERNEL_TYPES, KernelType

REWRITE = 0.3
"""the base weight of a rewrite: one that often pays (`Move` has the scale)"""
EVERY: tuple[KernelType, ...] = KERNEL_TYPES
GPU: tuple[KernelType, ...] = ("triton", "cuda")
HOST: tuple[KernelType, ...] = ("cpp",)


@dataclass(frozen=True)
class Method:
    """A method of the catalogue."""

    id: str
    """canonical"""
    meaning: str
    category: Category
    skill: str
    """the page that says how (`skills/`); empty for one that no source is written for"""
    relieves: tuple[Where, ...] = ()
    """roofs that carry less load after it; none: it hides latency or fills the machine"""
    languages: tuple[KernelType, ...] = GPU
    """where it has a meaning"""
    base: float = REWRITE
    """prior of its likeliest candidate"""

    @property
    def by_hand(self) -> bool:
        """Whether somebody can write it who is no rule: it changes the source."""
        return bool(self.skill)

    def facts(self) -> MoveFacts:
        """What the prior model needs to know."""
        return MoveFacts(self.id, self.category, self.base, frozenset(self.relieves))


METHODS: tuple[Method, ...] = (
    Method(
        "tune_parameters",
        "other values of the parameters that the spec declares, the nearest first",
        "schedule",
        "",
        tuple(sorted(ALL_ROOFS)),
        EVERY,
        base=0.2,
    ),
    Method(
        "tune_constants",
        "other values of constants in the source that read like tuning knobs",
        "schedule",
        "",
        tuple(sorted(ALL_ROOFS)),
        EVERY,
        base=0.15,
    ),
    Method(
        "compiler_flags",
        "flags of the host compiler that the contract's math allows, and the other compiler",
        "compute",
        "",
        ("compute",),
        ("cpp",),
        base=0.15,
    ),
    Method(
        "cuda_flags",
        "flags of the CUDA compiler: caps on registers, loads that bypass L1, fast math",
        "compute",
        "",
        ("compute", "L1"),
        ("cuda",),
        base=0.1,
    ),
    Method(
        "enable_async_pipeline",
        "copy the next tile to shared memory while this one is computed",
        "overlap",
        "async-copy-pipelines",
    ),
    Method(
        "vectorize_global_loads",
        "move 16 bytes a thread and instruction between memory and chip",
        "gmem",
        "vectorised-access",
        ("L1",),
    ),
    Method(
        "switch_to_mma_or_wgmma",
        "let tensor cores do the multiply-accumulate",
        "compute",
        "tensor-unused",
        ("compute", "L1"),
    ),
    Method(
        "pad_tail_and_mask",
        "pad or mask the ends, so that the main loop needs no bounds checks",
        "compute",
        "divergence",
        ("compute",),
        languages=EVERY,
    ),
    Method(
        "change_block_sizes",
        "other tile and block sizes: reuse against occupancy",
        "schedule",
        "low-occupancy",
        ("L1", "L2", "DRAM"),
        languages=EVERY,
    ),
    Method(
        "cache_policy_cg",
        "cache hints: keep streamed data out of L1, reused data in L2",
        "gmem",
        "low-l2-hit",
        ("L2", "DRAM"),
        EVERY,
    ),
    Method(
        "avoid_atomics_reduce",
        "reduce in registers and shared memory before, or instead of, atomics",
        "atomics",
        "reductions-without-atomics",
        ("L1", "L2"),
        languages=EVERY,
    ),
    Method(
        "grouped_gemm_colmajor",
        "order tiles in groups, so that neighbours share operands in L2",
        "gmem",
        "l2-friendly-ordering",
        ("DRAM",),
    ),
    Method(
        "softmax_math_fusion",
        "one pass with exp2 and a running maximum in place of several",
        "sfu",
        "online-softmax",
        ("compute", "L1", "L2", "DRAM"),
        languages=EVERY,
    ),
    Method(
        "coalesce_global_accesses",
        "neighbouring threads access neighbouring addresses",
        "gmem",
        "poor-coalescing",
        ("L1", "L2", "DRAM"),
    ),
    Method(
        "fuse_launches",
        "do the next kernel's work where the data still is, without a way through DRAM",
        "gmem",
        "epilogue-fusion",
        ("L2", "DRAM"),
    ),
    Method(
        "swizzle_shared_memory",
        "pad or permute shared memory, so that a warp's addresses fall in different banks",
        "smem",
        "swizzling",
        ("L1",),
    ),
    Method(
        "register_tiling",
        "a tile of outputs a thread: each value loaded from shared memory is used more often",
        "smem",
        "stall-mio-throttle",
        ("L1",),
        languages=EVERY,
    ),
    Method(
        "reduce_register_pressure",
        "fewer values alive at once: no spills, more warps",
        "overlap",
        "launch-bounds-and-registers",
        ("L1",),
    ),
    Method(
        "increase_ilp",
        "more independent instructions a thread: unroll, several accumulators",
        "overlap",
        "stall-wait",
        languages=EVERY,
    ),
    Method(
        "fewer_barriers",
        "fewer or narrower barriers and fences: double buffers, warps in place of blocks",
        "overlap",
        "stall-barrier",
    ),
    Method(
        "warp_uniform_branches",
        "let the threads of a warp branch the same way",
        "compute",
        "divergence",
        ("compute",),
    ),
    Method(
        "split_reduction",
        "split a long reduction over more blocks (split-K) and add up their results",
        "schedule",
        "split-k",
    ),
    Method(
        "persistent_kernel",
        "as many blocks as fit, each of which does many tiles",
        "schedule",
        "persistent-kernels",
    ),
    Method(
        "avoid_double_arithmetic",
        "single precision where no array is wider: float literals, functions and variables",
        "compute",
        "stall-math-pipe",
        ("compute",),
        ("cuda", "cpp"),
    ),
    Method(
        "loop_order",
        "nested loops in an order in which the innermost walks along memory",
        "smem",
        "host-loops",
        ("L1", "L2", "DRAM"),
        HOST,
    ),
    Method(
        "tile_loops",
        "loops over tiles that stay in a cache while they are used",
        "smem",
        "host-loops",
        ("L2", "DRAM"),
        HOST,
    ),
    Method(
        "parallelise",
        "iterations that do not depend on each other, divided among threads",
        "schedule",
        "host-loops",
        ("compute", "L1", "L2"),
        HOST,
    ),
    Method(
        "vectorise_loops",
        "tell the compiler what keeps it from vectorising: arrays apart, iterations apart",
        "compute",
        "host-loops",
        ("compute", "L1"),
        HOST,
    ),
)
