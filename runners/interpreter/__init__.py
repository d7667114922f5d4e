"""Triton kernels without a GPU: their logic, under Triton's own interpreter, at small shapes."""

from __future__ import annotations

from .logic import LOGIC_ONLY, logic_check
from .runner import InterpreterRunner, interpreter_missing

__all__ = ["LOGIC_ONLY", "InterpreterRunner", "interpreter_missing", "logic_check"]
