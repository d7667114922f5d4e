"""What a recording holds, as frozen values. Times are of the GPU, in nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Size3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel that was launched."""

    id: int
    name: str
    """as the linker knows it"""
    launches: int
    image: str
    """the file of its machine code in `images/`; empty: not known"""
    candidates: int
    """images that define its name: autotuning makes several, and the last one loaded is taken"""
    params: tuple[tuple[int, int], ...]
    """offset and bytes of each parameter"""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A function with grid, block, shared bytes, attributes and the values of 4-byte parameters."""

    id: int
    function: Function
    grid: Size3
    block: Size3
    shared: int
    attributes: tuple[tuple[int, ...], ...]
    scalars: str
    """hexadecimal, one parameter after the other"""
    merged: bool
    """launches with other scalars are among these: there were too many to tell apart"""
    count: int
    captured: int
    """of them, into a CUDA graph: noted, not run"""
    first: int
    first_plain: int
    """ordinals of the first launch, and of the first that was run; 0: none was"""
    timed: int
    sum_ns: int
    times: tuple[tuple[int, int], ...]
    """ordinal and nanoseconds of some launches"""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """GPU time of kernels that no recorded launch stands for: those of graphs."""

    name: str
    grid: Size3
    block: Size3
    shared: int
    graph: bool
    count: int
    sum_ns: int


@dataclass(frozen=True, slots=True)
class Recording:
    """One process of a recorded program."""

    folder: Path
    summary: Mapping[str, Any]
    functions: tuple[Function, ...]
    configurations: tuple[Configuration, ...]
    elsewhere: tuple[Elsewhere, ...]
    notes: tuple[Mapping[str, Any], ...]

    @property
    def has_times(self) -> bool:
        """Whether the GPU's times are known: CUPTI tells them, the shim does not."""
        return any(c.timed for c in self.configurations) or bool(self.elsewhere)

    @property
    def launches(self) -> int:
        """Of kernels, graphs counted as none."""
        return int(self.summary["launches"])

    @property
    def problems(self) -> Mapping[str, str]:
        """What this recording lacks, by kind."""
        return self.summary.get("problems", {})
