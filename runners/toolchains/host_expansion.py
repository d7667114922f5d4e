"""What a preprocessor makes of host C++: flags that a source sets by macros, lines that go on, and
names that stand for strings are seen there alone.

It runs beside the compiler, with the same words and beneath the same bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..processes.confined import Ended, read_left
from ..screens.cpp_flags import made_flags, may_make_flags
from ..screens.findings import screened
from .base import BuildRequest
from .host_messages import OUTPUT_BYTES

EXPANDED, EXPANSION_LOG = "expanded.ii", "expansion.log"


def wants_expansion(request: BuildRequest) -> bool:
    """Whether a source could make flags that its text does not show. What a kernel's own source
    sets is its owner's affair."""
    source = request.variant.source
    return source != request.kernel.source and may_make_flags(source)


def expansion(command: Sequence[str]) -> list[str]:
    """A compiler's command, ending in `-o FILE`, as one that preprocesses and does no more."""
    return [*command[:-1], EXPANDED, "-E", "-P"]


def refused_flags(request: BuildRequest, folder: Path, ended: Ended) -> str:
    """Why a source is refused for flags that it makes; empty: it makes none. A source that the
    compiler takes and its preprocessor does not is refused as well: nobody has read it."""
    try:
        if ended.returncode != 0:
            raise ValueError(ended.over or f"exit status {ended.returncode}")
        text = read_left(folder / EXPANDED, OUTPUT_BYTES).decode("utf-8", "replace")
    except ValueError as error:
        return f"what its macros make of the source cannot be read: {error}"
    contract = request.kernel.spec.io
    found = list(made_flags(text, contract))
    result = screened("static_screen", found, "its macros make it", contract.allow)
    return result.message if result.outcome == "failed" else ""
