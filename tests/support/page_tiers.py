"""Which pages of the library of cheats a usual run of the tests tries, see `tiers.py`.

A page that is stopped before it runs costs next to nothing; one that is run costs a second, and
one that is compared, or passes, some. Of those a usual run has one attack for each gate, one honest
kernel for each thing that gates look at, and every attack that docs/attacks.md tells of.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from functools import cache
from pathlib import Path

from kernelwright.server.selftest.cheats import Cheat

ATTACKS = Path(__file__).parents[2] / "docs" / "attacks.md"
BEFORE_IT_RUNS = {"static_screen", "rejected", "build_failed", "machine_code_screen"}
WITHOUT_A_GPU = BEFORE_IT_RUNS | {"is_right", "captures", "sources", "probes", "GPU code"}
"""gates and looks that decide of a Triton page where nothing but the interpreter runs it"""
WHY = "another page of its gate, or honest near the same look, through a whole evaluation"


def what_is_asked(cheat: Cheat) -> Iterator[Hashable]:
    """What meets a page first; of an honest one, the looks that could take it for a cheat."""
    yield from cheat.page.near if cheat.honest else cheat.page.expect[:1]


def what_is_asked_without_a_gpu(cheat: Cheat) -> Iterable[Hashable]:
    """Of that, what is asked where the page is only built and interpreted."""
    return WITHOUT_A_GPU.intersection(what_is_asked(cheat)) or {"built only"}


@cache
def tried_attacks() -> frozenset[str]:
    """The names of pages, without their type, that the table of attacks tells of."""
    rows = [line for line in ATTACKS.read_text(encoding="utf-8").splitlines() if "|" in line]
    return frozenset(name for row in rows for name in re.findall(r"`([a-z0-9_]+)`", row))


def found_something(cheat: Cheat) -> bool:
    """Whether the table of attacks tells of this page."""
    return cheat.name.partition("/")[2] in tried_attacks()


def stays_on_the_host(cheat: Cheat) -> bool:
    """Whether a page without a GPU is in every run: it found something, or ends before it runs."""
    return found_something(cheat) or cheat.page.expect[0] in BEFORE_IT_RUNS
