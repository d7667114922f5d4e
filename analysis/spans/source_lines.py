"""What each line of a kernel's source is: code of the device, or no code at all, and why not."""

from __future__ import annotations

from dataclasses import replace

from ...runners.specs.spec import KernelType
from .lines_cpp import cpp_lines
from .lines_python import python_lines
from .source_line import OUTSIDE, SourceLine


def source_lines(source: str, kernel_type: KernelType) -> tuple[SourceLine, ...]:
    """One value a line, in order. A text that cannot be read is code throughout."""
    texts = text_lines(source)
    try:
        told = python_lines(source) if kernel_type == "triton" else cpp_lines(source)
    except (SyntaxError, ValueError, RecursionError):
        told = {number: SourceLine("code") for number in range(1, len(texts) + 1)}
    return tuple(_line(text, told.get(number, OUTSIDE)) for number, text in enumerate(texts, 1))


def text_lines(source: str) -> list[str]:
    """The lines of a source as compilers count them: a form feed, for one, ends none."""
    return source.removesuffix("\n").split("\n") if source else []


def _line(text: str, told: SourceLine) -> SourceLine:
    return told if text.strip() else replace(told, kind="blank")
