"""Machine code of NVIDIA GPUs (SASS): instructions of a listing, line tables of a cubin."""

from __future__ import annotations

from .classes import SassClass, class_of
from .difference import SassDifference, sass_difference
from .module import Sass, SassInstruction, read_sass

__all__ = [
    "Sass",
    "SassClass",
    "SassDifference",
    "SassInstruction",
    "class_of",
    "read_sass",
    "sass_difference",
]
