"""Machine code of NVIDIA GPUs (SASS): instructions of a listing, line tables of a cubin."""

from __future__ import annotations

from .classes import SassClass, class_of
from .module import Sass, SassInstruction, read_sass

__all__ = ["Sass", "SassClass", "SassInstruction", "class_of", "read_sass"]
