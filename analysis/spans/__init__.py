"""From lines of source to PTX and machine code, and back."""

from __future__ import annotations

from .code import KernelCode, instruction_at, join, lines_of, lines_of_offset, lines_of_ptx
from .source_line import LineKind, SourceLine
from .source_lines import source_lines, text_lines
from .span import OPTIMISED_AWAY, LineCode, SpanCode, code_of_span

__all__ = [
    "OPTIMISED_AWAY",
    "KernelCode",
    "LineCode",
    "LineKind",
    "SourceLine",
    "SpanCode",
    "code_of_span",
    "instruction_at",
    "join",
    "lines_of",
    "lines_of_offset",
    "lines_of_ptx",
    "source_lines",
    "text_lines",
]
