"""A kept launch, read from its file: everything that it needs to be run again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import AccessError
from ..recorded import Size3

HOST_MEMORY = 1
"""CU_MEMORYTYPE_HOST"""
TABLE_BYTES = 64 << 10
"""buffers up to this size may hold addresses, as `kTableBytes` of native/snapshots.h"""


@dataclass(frozen=True, slots=True)
class KeptBuffer:
    """Memory that the launch could reach. `before` and `after` are files of its bytes."""

    base: int
    size: int
    on_host: bool
    embedded: bool
    """its address stood in memory, not among the parameters"""
    before: Path
    after: Path

    @property
    def changed(self) -> bool:
        """Whether the launch wrote other values into it than were there."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class KeptVariable:
    """A `__device__` or `__constant__` variable of its module."""

    name: str
    size: int
    before: Path
    after: Path


@dataclass(frozen=True, slots=True)
class Pointer:
    """A word of the parameter block that is an address."""

    at: int
    buffer: int
    """-1: of memory that was not kept"""
    offset: int


@dataclass(frozen=True, slots=True)
class KeptFill:
    """A memset between the launch before it and this one: it belongs to this one."""

    buffer: int
    offset: int
    nbytes: int
    value: int
    width: int


@dataclass(frozen=True, slots=True)
class KeptLaunch:
    """One launch. `block_bytes`: its parameters as the kernel sees them, by offset."""

    file: Path
    label: str
    name: str
    image: Path | None
    operator: int
    ordinal: int
    grid: Size3
    block: Size3
    shared: int
    attributes: tuple[tuple[int, ...], ...]
    function_attributes: tuple[int, ...]
    """as `kAttributes` of native/state.h lists them"""
    params: tuple[tuple[int, bytes], ...]
    pointers: tuple[Pointer, ...]
    buffers: tuple[KeptBuffer, ...]
    variables: tuple[KeptVariable, ...]
    fills: tuple[KeptFill, ...]

    @property
    def nbytes(self) -> int:
        """Of all memory that it could reach."""
        return sum(b.size for b in self.buffers)


def kept_launches(process: Path) -> tuple[KeptLaunch, ...]:
    """All launches that were kept of one process. Raises AccessError."""
    return tuple(read_kept(file) for file in sorted((process / "snapshots").glob("*.json")))


def read_kept(file: Path) -> KeptLaunch:
    """Raises AccessError for what cannot be read."""
    try:
        return _read(file, json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AccessError(
            f"{file} is no kept launch: {type(error).__name__}: {error}",
            next_step="record the program again with keep (--keep)",
        ) from error


def _read(file: Path, row: Mapping[str, Any]) -> KeptLaunch:
    process = file.parent.parent
    blobs = process / "blobs"
    x, y = row["grid"], row["block"]
    return KeptLaunch(
        file=file,
        label=row["label"],
        name=row["name"],
        image=process / "images" / row["image"] if row["image"] else None,
        operator=row["operator"],
        ordinal=row["ordinal"],
        grid=(x[0], x[1], x[2]),
        block=(y[0], y[1], y[2]),
        shared=row["shared"],
        attributes=tuple(tuple(each) for each in row["attributes"]),
        function_attributes=tuple(row["function_attributes"]),
        params=tuple((p["offset"], bytes.fromhex(p["raw"])) for p in row["params"]),
        pointers=tuple(Pointer(p["at"], p["buffer"], p["offset"]) for p in row["pointers"]),
        buffers=tuple(_buffer(b, blobs) for b in row["buffers"]),
        variables=tuple(
            KeptVariable(v["name"], v["size"], blobs / v["before"], blobs / v["after"])
            for v in row["variables"]
        ),
        fills=tuple(
            KeptFill(f["buffer"], f["offset"], f["nbytes"], f["value"], f["width"])
            for f in row["fills_before"]
            if f["buffer"] >= 0
        ),
    )


def _buffer(row: Mapping[str, Any], blobs: Path) -> KeptBuffer:
    return KeptBuffer(
        base=row["base"],
        size=row["size"],
        on_host=row["type"] == HOST_MEMORY,
        embedded=row["embedded"],
        before=blobs / row["before"],
        after=blobs / row["after"],
    )


def lowest_and_end(buffers: Sequence[KeptBuffer]) -> tuple[int, int]:
    """Where the first of them begins and the last one ends."""
    return min(b.base for b in buffers), max(b.base + b.size for b in buffers)
