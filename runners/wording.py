"""Numbers and texts as every floor tells them, in the same words."""

from __future__ import annotations

from collections.abc import Iterable

MESSAGE_CHARS = 1500
"""of a message within a reply"""
NOT_A_NUMBER = "NaN or Inf differs"
"""as the oracle says it"""
UNWRITTEN = ". Outputs and scratch hold NaN before some runs: a nan may be what nobody wrote"


def significant(value: float, digits: int = 3) -> float:
    """Rounded to significant digits: what is told is not more exact than what was measured."""
    return float(f"{value:.{digits}g}")


def speedup_text(speedup: float | None, interval: tuple[float, float] | None) -> str:
    """`1.52x (1.48 to 1.55)`; empty for what was not measured."""
    if speedup is None:
        return ""
    return f"{speedup:.3g}x" + (f" ({interval[0]:.3g} to {interval[1]:.3g})" if interval else "")


def cut(text: str, limit: int = MESSAGE_CHARS) -> str:
    """The beginning of a text that is too long for a reply."""
    return (
        text if len(text) <= limit else f"{text[:limit]}\n... {len(text) - limit} more characters"
    )


def shortened(text: str, limit: int) -> str:
    """The text's beginning on one line, up to a whole word: for words that are told elsewhere in
    full, where `cut` would say how much is missing."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    return line[: limit - 3].rsplit(" ", 1)[0] + "..."


def unwritten(message: str) -> str:
    """What to think of where an output is not a number; empty where none is."""
    return UNWRITTEN if NOT_A_NUMBER in message else ""


def number_ranges(numbers: Iterable[int], most: int = 6) -> str:
    """`34-36, 40`; of more than `most` ranges the first ones."""
    found = list[list[int]]()
    for each in sorted(numbers):
        if found and each <= found[-1][1] + 1:
            found[-1][1] = each
        else:
            found.append([each, each])
    told = [str(a) if a == b else f"{a}-{b}" for a, b in found[:most]]
    return ", ".join(told) + (", ..." if len(found) > most else "")
