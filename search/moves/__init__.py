"""The moves, and the catalogue of methods that free text is matched to.

A new move is a file beside this one and a line in `MOVES`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from . import compiler_flags, cuda_flags, tune_constants, tune_parameters
from .base import Move, NotApplicable, Proposals, State, broken_constraints

__all__ = [
    "ALIASES",
    "CANONICAL",
    "GPU_METHODS",
    "MOVES",
    "Move",
    "NotApplicable",
    "Proposals",
    "State",
    "broken_constraints",
    "canonical_method",
]

MOVES: tuple[Move, ...] = (
    tune_parameters.MOVE,
    tune_constants.MOVE,
    compiler_flags.MOVE,
    cuda_flags.MOVE,
)

CANONICAL: Mapping[str, str] = {
    "enable_async_pipeline": "copy the next tile to shared memory while this one is computed",
    "vectorize_global_loads": "move 16 bytes a thread and instruction between memory and chip",
    "switch_to_mma_or_wgmma": "let tensor cores do the multiply-accumulate",
    "pad_tail_and_mask": "pad or mask the ends, so that the main loop needs no bounds checks",
    "change_block_sizes": "other tile and block sizes: reuse against occupancy",
    "cache_policy_cg": "cache hints: keep streamed data out of L1, reused data in L2",
    "avoid_atomics_reduce": "reduce in registers and shared memory before, or instead of, atomics",
    "grouped_gemm_colmajor": "order tiles in groups, so that neighbours share operands in L2",
    "softmax_math_fusion": "one pass with exp2 and a running maximum in place of several",
    **{move.id: move.why for move in MOVES},
}

# methods of the catalogue that have no meaning on a CPU
GPU_METHODS = frozenset({
    "enable_async_pipeline", "vectorize_global_loads", "switch_to_mma_or_wgmma",
    "cache_policy_cg", "grouped_gemm_colmajor",
})  # fmt: skip

ALIASES: Mapping[str, str] = {
    "async_copy": "enable_async_pipeline",
    "cp_async": "enable_async_pipeline",
    "double_buffering": "enable_async_pipeline",
    "software_pipelining": "enable_async_pipeline",
    "tma_pipeline": "enable_async_pipeline",
    "float4_loads": "vectorize_global_loads",
    "vectorized_loads": "vectorize_global_loads",
    "vectorize_loads": "vectorize_global_loads",
    "tensor_cores": "switch_to_mma_or_wgmma",
    "use_tensor_cores": "switch_to_mma_or_wgmma",
    "wgmma": "switch_to_mma_or_wgmma",
    "mask_tail": "pad_tail_and_mask",
    "pad_and_mask": "pad_tail_and_mask",
    "block_size_tuning": "change_block_sizes",
    "change_tile_sizes": "change_block_sizes",
    "tune_block_sizes": "change_block_sizes",
    "cache_hints": "cache_policy_cg",
    "ld_global_cg": "cache_policy_cg",
    "warp_shuffle_reduction": "avoid_atomics_reduce",
    "remove_atomics": "avoid_atomics_reduce",
    "l2_swizzle": "grouped_gemm_colmajor",
    "tile_swizzling": "grouped_gemm_colmajor",
    "online_softmax": "softmax_math_fusion",
    "fused_softmax": "softmax_math_fusion",
    "autotune_parameters": "tune_parameters",
    "parameter_tuning": "tune_parameters",
    "flag_tuning": "compiler_flags",
}
ALIKE = 0.85
SLUG_LENGTH = 60


def canonical_method(text: str) -> str:
    """The id in the catalogue that a free-text method means, else the text as a slug.

    Case, blanks and punctuation do not matter; close spellings count from a difflib ratio
    of 0.85. Slugs are lowercase with underscores, at most 60 characters, and canonical
    themselves: the function leaves them as they are.
    """
    slug = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:SLUG_LENGTH].rstrip("_")
    if slug in CANONICAL:
        return slug
    close = difflib.get_close_matches(slug, (*CANONICAL, *ALIASES), n=1, cutoff=ALIKE)
    if close:
        return ALIASES.get(close[0], close[0])
    return slug or "unnamed"
