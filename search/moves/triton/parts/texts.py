"""Forms as Python."""

from __future__ import annotations

import re

from ...shared.affine import Form

PRIMARY = re.compile(r"[\w.]+(\([^()]*\)|\[[^\[\]]*\])?")
"""a name, a call or an item that binds tighter than a product"""


def text_of(form: Form) -> str:
    """A form as Python."""
    parts = [_product(names, factor) for names, factor in _positive_first(form)]
    return " + ".join(parts).replace("+ -", "- ") or "0"


def _positive_first(form: Form) -> list[tuple[tuple[str, ...], int]]:
    return sorted(form.terms, key=lambda term: (term[1] < 0, not term[0]))


def primary(text: str) -> str:
    """In parentheses where it is neither a name nor a call."""
    return text if PRIMARY.fullmatch(text) else f"({text})"


def _product(names: tuple[str, ...], factor: int) -> str:
    ordered = sorted(names, key=lambda n: (n.isupper(), n))
    wrapped = [primary(n) for n in ordered]
    if not wrapped:
        return str(factor)
    if abs(factor) != 1:
        return " * ".join([str(factor), *wrapped])
    return ("-" if factor < 0 else "") + " * ".join(wrapped)
