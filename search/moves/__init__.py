"""The moves, and the catalogue of methods that free text is matched to.

A new move is a file beside this one, or in the folder of its language, and a line in `MOVES` there.
What it is weighed by are the rows of its method in `analysis/prior/table.py`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from ...analysis.prior.model import MoveFacts
from . import cpp, cuda, triton
from .cpp import schedules as host_schedules
from .cuda import idioms, schedules
from .every_language import (
    compiler_flags,
    cuda_flags,
    sweep_constants,
    sweep_parameters,
    tune_constants,
    tune_parameters,
)
from .methods import METHODS, Method
from .shared.base import Move, NotApplicable, Proposals, State, broken_constraints
from .triton import schedules as triton_schedules

__all__ = [
    "ALIASES",
    "CANONICAL",
    "FACTS",
    "IDIOMS",
    "METHODS",
    "MOVES",
    "Method",
    "Move",
    "NotApplicable",
    "Proposals",
    "State",
    "broken_constraints",
    "canonical_method",
]

SCHEDULES: tuple[Move, ...] = (
    *schedules.MOVES,
    *host_schedules.MOVES,
    *triton_schedules.MOVES,
)
"""what is written from a lift, of every language"""

MOVES: tuple[Move, ...] = (
    tune_parameters.MOVE,
    sweep_parameters.MOVE,
    tune_constants.MOVE,
    sweep_constants.MOVE,
    compiler_flags.MOVE,
    cuda_flags.MOVE,
    *triton.MOVES,
    *cuda.MOVES,
    *idioms.MOVES,
    *SCHEDULES,
    *cpp.MOVES,
)

IDIOMS = frozenset(move.id for move in (*idioms.MOVES, *SCHEDULES))
"""moves that put a whole algorithm in another one's place: one that they recognise, or whatever is
computed"""

CANONICAL: Mapping[str, Method] = {method.id: method for method in METHODS}
FACTS: Mapping[str, MoveFacts] = {method.id: method.facts() for method in METHODS}
"""what the prior model knows of every method of the catalogue"""

ALIASES: Mapping[str, str] = {
    "async_copy": "enable_async_pipeline",
    "cp_async": "enable_async_pipeline",
    "double_buffering": "enable_async_pipeline",
    "software_pipelining": "enable_async_pipeline",
    "tma_pipeline": "enable_async_pipeline",
    "float4_loads": "vectorize_global_loads",
    "vectorized_loads": "vectorize_global_loads",
    "vectorize_loads": "vectorize_global_loads",
    "coalesced_access": "coalesce_global_accesses",
    "memory_coalescing": "coalesce_global_accesses",
    "pad_shared_memory": "swizzle_shared_memory",
    "avoid_bank_conflicts": "swizzle_shared_memory",
    "thread_coarsening": "register_tiling",
    "kernel_fusion": "fuse_launches",
    "epilogue_fusion": "fuse_launches",
    "split_k": "split_reduction",
    "persistent_blocks": "persistent_kernel",
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
