"""What each line of a kernel's source is: code of the device, or no code at all, and why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ...runners.languages import KernelType, Syntax, language_of
from .lines_cpp import cpp_lines
from .lines_python import python_lines
from .source_line import OUTSIDE, SourceLine

READERS: Mapping[Syntax, Callable[[str], Mapping[int, SourceLine]]] = {
    "c": cpp_lines,
    "python": python_lines,
}


def source_lines(source: str, kernel_type: KernelType) -> tuple[SourceLine, ...]:
    """One value a line, in order. A text that cannot be read is code throughout."""
    texts = text_lines(source)
    read = READERS.get(language_of(kernel_type).syntax, _code_throughout)
    try:
        told = read(source)
    except (SyntaxError, ValueError, RecursionError):
        told = _code_throughout(source)
    return tuple(_line(text, told.get(number, OUTSIDE)) for number, text in enumerate(texts, 1))


def _code_throughout(source: str) -> dict[int, SourceLine]:
    return {number: SourceLine("code") for number, _ in enumerate(text_lines(source), 1)}


def text_lines(source: str) -> list[str]:
    """The lines of a source as compilers count them: a form feed, for one, ends none."""
    return source.removesuffix("\n").split("\n") if source else []


def _line(text: str, told: SourceLine) -> SourceLine:
    return told if text.strip() else replace(told, kind="blank")
