"""The few pieces of HTML that the page is made of. Everything that is told is escaped here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

_NO_TEXT = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
NUMBER = "#"
"""before the name of a column of numbers"""


def clean(text: str) -> str:
    """Text that may stand anywhere in the page, in attributes as well."""
    return escape(_NO_TEXT.sub("?", text))


def cell(text: str) -> str:
    """What is told in a cell."""
    return clean(text)


def code(text: str) -> str:
    """A handle, or a word of code."""
    return f"<code>{clean(text)}</code>"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that can be scrolled by keyboard where it is wide; cells are HTML, the first of a row
    its header."""
    numbers = [name.startswith(NUMBER) for name in head]
    names = [name.removeprefix(NUMBER) for name in head]
    top = "".join(
        f'<th scope="col"{_n(number)}>{clean(name)}</th>' if name else "<td></td>"
        for name, number in zip(names, numbers, strict=True)
    )
    body = "\n".join(_row(row, numbers) for row in rows)
    label = clean(caption)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        f"<table><caption>{label}</caption>\n<thead><tr>{top}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _row(row: Sequence[str], numbers: Sequence[bool]) -> str:
    first, *others = row
    cells = "".join(
        f"<td{_n(number)}>{told}</td>" for told, number in zip(others, numbers[1:], strict=True)
    )
    return f'<tr><th scope="row"{_n(numbers[0])}>{first}</th>{cells}</tr>'


def _n(number: bool) -> str:
    return ' class="n"' if number else ""
