"""Which page of `skills/` says more of a kind of finding."""

from __future__ import annotations

from collections.abc import Mapping

SKILLS: Mapping[str, str] = {
    "fusion": "torch-compile",
    "graph break": "torch-compile",
    "attention": "torch-attention",
    "recomputed": "torch-kv-cache",
    "grown by copies": "torch-kv-cache",
    "batch": "torch-batching",
    "tiny operators": "torch-batching",
    "loop": "torch-loops",
    "synchronisation": "torch-synchronisation",
    "uploads": "torch-data-loading",
    "layout": "torch-layout",
    "copies": "torch-layout",
    "precision": "torch-precision",
    "float64": "torch-precision",
    "casts": "torch-precision",
    "host-bound": "torch-graphs",
    "one-hot": "torch-embeddings",
    "bag": "torch-embeddings",
    "gathered product": "torch-message-passing",
    "sums by index": "torch-message-passing",
    "routing": "torch-moe-routing",
    "memory": "torch-peak-memory",
}
"""by the kind of an opportunity"""


def kernel_page(on_gpu: bool, bound: str) -> str:
    """The page on an operator that is far from its roof. `bound`: `compute` or `memory`."""
    if not on_gpu:
        return "host-loops"
    return "severe-memory-bound" if bound == "memory" else "tensor-unused"
