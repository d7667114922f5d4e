"""Names of a source that are plain numbers: macros, constants, parameters of the spec."""

from __future__ import annotations

import re

from ...shared.base import State
from .reading import CudaKernel

_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\(?(\d+)\)?[ \t]*(?://.*)?$", re.M)
_CONSTANT = re.compile(rb"\bconst(?:expr)?\s+(?:unsigned\s+)?int\s+(\w+)\s*=\s*(\d+)\s*;")


def known_numbers(state: State, kernel: CudaKernel) -> dict[str, int]:
    """Their values in a state, none of them below 0."""
    pairs = [*_DEFINED.findall(kernel.text), *_CONSTANT.findall(kernel.text)]
    found = {name.decode(): int(value) for name, value in pairs}
    defined = {**state.spec.kernel.defines, **state.assignment, **kernel.plan.defines}
    return found | {str(n): v for n, v in defined.items() if isinstance(v, int)}
