"""PTX text as frozen values, and what each instruction is and does."""

from __future__ import annotations

from .module import Frame, Function, Instruction, Module, Place, Registers, Variable
from .reader import read_ptx

__all__ = [
    "Frame",
    "Function",
    "Instruction",
    "Module",
    "Place",
    "Registers",
    "Variable",
    "read_ptx",
]
