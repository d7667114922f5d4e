"""Which way a method was taken, by a candidate's detail: its values, and the form of a rewrite."""

from __future__ import annotations

import re
from typing import Final

LAUNCH: Final = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg"})
"""options of a launch that mean the same in every kernel: their values are learned as they are"""
LONGEST: Final = 160
"""characters; a longer detail is prose about one kernel"""
_VALUE = re.compile(r"(\w+)=(\S+) -> \1=(\S+)|(\w+): (\S+) -> (\S+)")
_NAMED = re.compile(r"^\w+: ")
"""the kernel's own name before what is done to it"""
_FOUND = re.compile(r"^\d+ (parameter|constant|loop|barrier|literal|power)s?\b")
"""a count of what the kernel has; any other number of a detail is a value that was chosen"""


def way_of(detail: str) -> str:
    """What a candidate's detail says of any kernel; empty: nothing that another could be like.

    Of a value that was changed: an option of a launch with its new value (`num_warps=8`); of a
    parameter or constant, which is the kernel's own, the stem of its name and whether it grew
    (`BLOCK up`). Of a rewrite: the detail without the kernel's name and without a count of what the
    kernel has (`3 loops along a row become one block, 8 warps` and `1 loop along ...` are one way);
    values stay (`3 stages in loops along data`).
    """
    if len(detail) > LONGEST or "\n" in detail:
        return ""
    if changed := _VALUE.fullmatch(detail):
        return _changed(*(each for each in changed.groups() if each is not None))
    return _FOUND.sub(r"\1", _NAMED.sub("", detail))


def _changed(name: str, before: str, after: str) -> str:
    if name in LAUNCH:
        return f"{name}={after}"
    stem = re.match(r"[A-Za-z]+", name)
    try:
        grew = float(after) > float(before)
    except ValueError:
        return ""
    return f"{stem.group() if stem else name} {'up' if grew else 'down'}"
