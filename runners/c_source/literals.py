"""Integers as C++ writes them."""

from __future__ import annotations

import re

INTEGER = re.compile(
    r"(?P<digits>0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)(?P<suffix>[uUlLzZ]*)"
)


def integer_value(text: str) -> int | None:
    """The value of an integer literal without a sign, octal ones as well; None: it is none."""
    match = INTEGER.fullmatch(text)
    if match is None:
        return None
    digits = match["digits"].replace("'", "")
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    try:
        return int(digits, 8 if octal else 0)
    except ValueError:  # `08`, or `0x` and nothing but `'`
        return None
