"""Methods of the catalogue that no rule writes: what they are, what they relieve, where to read."""

from __future__ import annotations

from dataclasses import dataclass

from ...analysis.levels import Where
from ...analysis.prior.model import Category, MoveFacts

REWRITE = 0.3
"""the base weight of all: a rewrite that often pays (`Move` has the scale)"""


@dataclass(frozen=True)
class ByHand:
    """A method that somebody has to write."""

    id: str
    meaning: str
    category: Category
    skill: str
    """the page that says how (`skills/`)"""
    relieves: tuple[Where, ...] = ()
    """roofs that carry less load after it; none: it hides latency or fills the machine"""
    gpu_only: bool = True
    """it has no meaning on a CPU"""

    def facts(self) -> MoveFacts:
        """What the prior model needs to know."""
        return MoveFacts(self.id, self.category, REWRITE, frozenset(self.relieves))


BY_HAND: tuple[ByHand, ...] = (
    ByHand(
        "enable_async_pipeline",
        "copy the next tile to shared memory while this one is computed",
        "overlap",
        "async-copy-pipelines",
    ),
    ByHand(
        "vectorize_global_loads",
        "move 16 bytes a thread and instruction between memory and chip",
        "gmem",
        "vectorised-access",
        ("L1",),
    ),
    ByHand(
        "switch_to_mma_or_wgmma",
        "let tensor cores do the multiply-accumulate",
        "compute",
        "tensor-unused",
        ("compute", "L1"),
    ),
    ByHand(
        "pad_tail_and_mask",
        "pad or mask the ends, so that the main loop needs no bounds checks",
        "compute",
        "divergence",
        ("compute",),
        gpu_only=False,
    ),
    ByHand(
        "change_block_sizes",
        "other tile and block sizes: reuse against occupancy",
        "schedule",
        "low-occupancy",
        ("L1", "L2", "DRAM"),
        gpu_only=False,
    ),
    ByHand(
        "cache_policy_cg",
        "cache hints: keep streamed data out of L1, reused data in L2",
        "gmem",
        "low-l2-hit",
        ("L2", "DRAM"),
    ),
    ByHand(
        "avoid_atomics_reduce",
        "reduce in registers and shared memory before, or instead of, atomics",
        "atomics",
        "reductions-without-atomics",
        ("L1", "L2"),
        gpu_only=False,
    ),
    ByHand(
        "grouped_gemm_colmajor",
        "order tiles in groups, so that neighbours share operands in L2",
        "gmem",
        "l2-friendly-ordering",
        ("DRAM",),
    ),
    ByHand(
        "softmax_math_fusion",
        "one pass with exp2 and a running maximum in place of several",
        "sfu",
        "online-softmax",
        ("compute", "L1", "L2", "DRAM"),
        gpu_only=False,
    ),
    ByHand(
        "coalesce_global_accesses",
        "neighbouring threads access neighbouring addresses",
        "gmem",
        "poor-coalescing",
        ("L1", "L2", "DRAM"),
    ),
    ByHand(
        "fuse_launches",
        "do the next kernel's work where the data still is, without a way through DRAM",
        "gmem",
        "epilogue-fusion",
        ("L2", "DRAM"),
    ),
    ByHand(
        "swizzle_shared_memory",
        "pad or permute shared memory, so that a warp's addresses fall in different banks",
        "smem",
        "swizzling",
        ("L1",),
    ),
    ByHand(
        "register_tiling",
        "a tile of outputs a thread: each value loaded from shared memory is used more often",
        "smem",
        "stall-mio-throttle",
        ("L1",),
        gpu_only=False,
    ),
    ByHand(
        "reduce_register_pressure",
        "fewer values alive at once: no spills, more warps",
        "overlap",
        "launch-bounds-and-registers",
        ("L1",),
    ),
    ByHand(
        "increase_ilp",
        "more independent instructions a thread: unroll, several accumulators",
        "overlap",
        "stall-wait",
        gpu_only=False,
    ),
    ByHand(
        "fewer_barriers",
        "fewer or narrower barriers and fences: double buffers, warps in place of blocks",
        "overlap",
        "stall-barrier",
    ),
    ByHand(
        "warp_uniform_branches",
        "let the threads of a warp branch the same way",
        "compute",
        "divergence",
        ("compute",),
    ),
    ByHand(
        "split_reduction",
        "split a long reduction over more blocks (split-K) and add up their results",
        "schedule",
        "split-k",
    ),
    ByHand(
        "persistent_kernel",
        "as many blocks as fit, each of which does many tiles",
        "schedule",
        "persistent-kernels",
    ),
)
