"""Names that written code brings: none that what stands around it knows already."""

from __future__ import annotations

import re
from collections.abc import Iterable

WORD = re.compile(r"[A-Za-z_]\w*")
_RESERVED = frozenset(
    "int float double char bool short long unsigned signed const void for if else return template "
    "typename struct static inline max min abs exp log sin cos tan pow y0 y1 j0 j1 jn yn gamma "
    "blockIdx threadIdx blockDim gridDim warpSize auto this new delete default switch case union "
    "enum class public private volatile register extern goto while do break continue".split()
)


_OF_LIFTS = frozenset("kt")
"""letters of which lifts make names of loops and values, `k2` and `t1`: nothing else has those"""


class Names:
    """Gives names out, each once."""

    def __init__(self, source: str, parameters: Iterable[str]) -> None:
        self._taken = {*WORD.findall(source), *parameters, *_RESERVED}

    def fresh(self, wanted: str) -> str:
        """The name, with a number behind where it is taken; it is taken from now on."""
        plain = re.sub(r"\W", "_", wanted).strip("_") or "value"
        plain = plain if not plain[0].isdigit() else f"v{plain}"
        found, number = plain, 1
        while found in self._taken:
            number += 1
            apart = plain[-1].isdigit() or plain in _OF_LIFTS
            found = f"{plain}_{number}" if apart else f"{plain}{number}"
        self._taken.add(found)
        return found

    def first_free(self, wanted: str) -> str:
        """The first of some letters that is free, taken from now on."""
        letter = next((each for each in wanted if each not in self._taken), wanted[0])
        return self.fresh(letter)

    def mark(self) -> frozenset[str]:
        """What is taken, for `back_to`."""
        return frozenset(self._taken)

    def back_to(self, mark: frozenset[str]) -> None:
        """Names that were given since are free again: their block has ended."""
        self._taken = set(mark)
