"""Integers as C++ writes them."""

from __future__ import annotations

import re

INTEGER = re.compile(
    r"(?P<digits>0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)(?P<suffix>[uUlLzZ]*)"
)


def integer_value(text: str) -> int | None:
    """The value of an integer literal, octal ones as well; None: it is none.

    The grammar takes the sign of `-1` for a part of the literal.
    """
    sign = -1 if text.startswith("-") else 1
    match = INTEGER.fullmatch(text.removeprefix("-"))
    if match is None:
        return None
    digits = match["digits"].replace("'", "")
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    try:
        return sign * int(digits, 8 if octal else 0)
    except ValueError:  # `08`, or `0x` and nothing but `'`
        return None
