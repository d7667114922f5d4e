"""What makes an integer constant of a source a tuning knob, whatever the language.

A constant is a knob when a word of its name is one of KNOB_WORDS (BLOCK_SIZE, kTileM,
unroll2) and its value is at least 1; what else it takes, the reader of each language says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# fmt: off
KNOB_WORDS = frozenset({
    "batch", "block", "blocks", "blk", "bk", "bm", "bn", "buffers", "chunk", "chunks", "depth",
    "distance", "grain", "group", "ilp", "kc", "kr", "lanes", "mc", "mr", "nc", "nr", "pad",
    "padding", "panel", "prefetch", "rows", "simd", "split", "splits", "stage", "stages", "step",
    "strip", "threads", "tile", "tiles", "tk", "tm", "tn", "unroll", "vec", "vector", "warps",
    "width",
})
# fmt: on
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True)
class Constant:
    """An integer constant of the source: bytes [start, end) hold its literal."""

    name: str
    value: int
    suffix: str
    start: int
    end: int


def reads_like_knob(name: str) -> bool:
    """Whether a word of the name is one that tuning knobs have."""
    return any(word.lower() in KNOB_WORDS for word in WORD.findall(name))
