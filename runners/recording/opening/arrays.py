"""Arrays of a spec out of kept buffers: role, number of elements, contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dtypes import is_float, numpy_dtype
from ...errors import SpecError
from ...specs.io_contract import Role as SpecRole
from ..replaying.kept import KeptBuffer, KeptLaunch
from ..replaying.replaying import Role
from .observed import Array, Observed, Taken

PLAIN_ALIGN = 16
WORD = 8


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pointer of one launch points."""

    buffer: int
    offset: int

    def of(self, kept: KeptLaunch) -> KeptBuffer:
        """The buffer."""
        return kept.buffers[self.buffer]


@dataclass(frozen=True, slots=True)
class Seen:
    """What one launch does with an array."""

    role: SpecRole
    count: int
    """elements"""


def place_of(kept: KeptLaunch, taken: Taken) -> Place | None:
    """Where a parameter points; None: it is the null pointer. Raises SpecError for memory that was
    not kept."""
    found = next((p for p in kept.pointers if p.at == taken.offset), None)
    if found is not None and found.buffer >= 0:
        return Place(found.buffer, found.offset)
    raw = dict(kept.params)[taken.offset]
    if not any(raw):
        return None
    raise SpecError(f"`{taken.name}` points to memory that was not kept")


def check_plain(kept: KeptLaunch, taken: Taken, place: Place) -> None:
    """Raises SpecError for a table of pointers, and for elements of no known type."""
    if taken.pointers > 1 or (is_address_wide(taken) and _holds_addresses(kept, place)):
        raise SpecError(
            f"`{taken.name}` is a table of pointers: a spec's arrays hold numbers",
            next_step="write a kernel that takes the arrays themselves, and a spec for that",
        )
    if taken.dtype is None:
        raise SpecError(
            f"`{taken.name}` is `{taken.type}`: its elements are of no type that a spec knows",
            next_step="write a kernel that takes arrays of numbers, and a spec for that",
        )


def is_address_wide(taken: Taken) -> bool:
    """Whether an element could be an address."""
    return taken.dtype is None or (taken.itemsize == WORD and not is_float(taken.dtype))


def check_apart(kept: KeptLaunch, arrays: Sequence[tuple[Taken, Place]], roles: Sequence[SpecRole]):
    """Raises SpecError where two arrays lie in memory that one of them is written to."""
    for index, (taken, place) in enumerate(arrays):
        for other, (second, elsewhere) in enumerate(arrays[:index]):
            written = roles[index] != "input" or roles[other] != "input"
            if place.buffer == elsewhere.buffer and written:
                raise SpecError(
                    f"`{second.name}` and `{taken.name}` point into one allocation of "
                    f"{place.of(kept).size} bytes that is written: a spec's arrays lie apart",
                    next_step="allocate them one by one in the program and record it again, or "
                    "write a spec by hand (`kernelwright spec --infer`)",
                )


def seen_of(observed: Observed, taken: Taken, place: Place) -> Seen:
    """Role and elements. Where the poisons say nothing, what is not const is taken for `inout`."""
    kept, buffer = observed.kept, place.of(observed.kept)
    whole = (buffer.size - place.offset) // taken.itemsize
    role = observed.roles[place.buffer] if place.buffer < len(observed.roles) else None
    if role is not None and role.role == "input":
        return Seen("input", whole)
    if role is not None and role.role == "output" and _dense_from(role, place.offset):
        return Seen("output", (role.last + 1 - place.offset) // taken.itemsize)
    decided = role is not None and role.role in ("output", "inout")
    if not decided and taken.const and not kept.buffers[place.buffer].changed:
        return Seen("input", whole)
    return Seen("inout", whole)


def contents(kept: KeptLaunch, taken: Taken, place: Place, count: int) -> Array:
    """The first `count` elements as the launch found them, in the array's type."""
    assert taken.dtype is not None
    dtype = numpy_dtype(taken.dtype)
    with place.of(kept).before.open("rb") as file:
        file.seek(place.offset)
        raw = np.frombuffer(file.read(count * dtype.itemsize), np.uint8)
    return raw != 0 if taken.dtype == "bool" else raw.view(dtype)


def alike(values: Array) -> dict[str, Any]:
    """An init that draws values like these: their mean and spread, or for integers their range."""
    if is_float(values.dtype.name):
        wide = values.astype(np.float64)
        finite = wide[np.isfinite(wide)]
        mean, spread = (float(finite.mean()), float(finite.std())) if finite.size else (0.0, 1.0)
        return {"kind": "randn", "scale": _short(spread), "shift": _short(mean)}
    low, high = (int(values.min()), int(values.max()) + 1) if values.size else (0, 1)
    return {"kind": "randint", "low": low, "high": high}


def alignment(kept: KeptLaunch, place: Place) -> int:
    """Bytes of which the address is a multiple, up to those that a spec promises by itself."""
    address = place.of(kept).base + place.offset
    return min(PLAIN_ALIGN, address & -address) if address else PLAIN_ALIGN


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _dense_from(role: Role, offset: int) -> bool:
    return role.first == offset and role.written == role.last + 1 - role.first


def _holds_addresses(kept: KeptLaunch, place: Place) -> bool:
    """Whether words of a buffer point into memory that was found by such words alone."""
    ranges = [(b.base, b.base + b.size) for b in kept.buffers if b.embedded]
    if not ranges:
        return False
    data = place.of(kept).before.read_bytes()
    words = np.frombuffer(data[: len(data) // WORD * WORD], np.uint64)
    return any(bool(((words >= low) & (words < end)).any()) for low, end in ranges)
