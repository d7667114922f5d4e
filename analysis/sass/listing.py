"""The text of `nvdisasm -c`: names and operands of instructions, by kernel and offset.

What stands there of lines is not read: the cubin has it, with more of the inlined calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_SECTION = re.compile(r"\.text\.(\S+):$")
_INSTRUCTION = re.compile(
    r"\s*/\*([0-9a-f]{4,8})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;]*?)\s*;"
)


class Listed(NamedTuple):
    """What a listing says of one instruction."""

    opcode: str
    """with its modifiers: `LDG.E.64`"""
    operands: str
    guard: str
    """`@P0`, `@!UP1`; empty: always done"""


def read_listing(text: str) -> dict[str, Mapping[int, Listed]]:
    """Instructions by kernel and offset. A text that is no listing has none."""
    kernels = dict[str, dict[int, Listed]]()
    current: dict[int, Listed] | None = None
    for line in text.splitlines():
        found = _INSTRUCTION.match(line)
        if found is not None and current is not None:
            current[int(found[1], 16)] = Listed(found[3], found[4], found[2] or "")
        elif begins := _SECTION.match(line):
            current = kernels.setdefault(begins[1], {})
    return dict(kernels)
