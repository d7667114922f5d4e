"""The arguments of a spec out of a kernel's parameters, and what the launch passes beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import SpecError
from ...inferring.signature import symbol_for
from ...specs.part import Expression
from ...specs.tensor import tensor_of
from ..replaying.kept import KeptLaunch
from .arrays import (
    PLAIN_ALIGN,
    Place,
    Seen,
    alignment,
    alike,
    check_apart,
    check_plain,
    contents,
    place_of,
    seen_of,
)
from .comparable import is_integer, value_of
from .observed import Array, Observed, Taken
from .sizes import Sizes

MIB = 1 << 20
WITHIN_SPEC = 1024
"""bytes of an array that stands in the spec itself"""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What stands in `io.arguments`, the arrays beside the spec, and what the launch passes."""

    listed: tuple[dict[str, Any], ...]
    arrays: Mapping[str, Array]
    passed: tuple[object, ...] | None
    """None: the arguments in order"""
    notes: tuple[str, ...]


def arguments_of(
    launches: Sequence[Observed],
    taken: Sequence[Taken],
    sizes: Sizes,
    shapes: Mapping[str, tuple[Expression, ...]],
    most_bytes: int,
) -> Arguments:
    """Every parameter of comparable launches. `shapes`: as the source has them.

    Raises SpecError for what is no array of numbers, no number, and no bytes without pointers.
    """
    first = launches[0].kept
    places = {t.name: [_place(o.kept, t) for o in launches] for t in taken if t.pointers}
    seen = {
        t.name: [seen_of(o, t, p) for o, p in zip(launches, places[t.name], strict=True) if p]
        for t in taken
        if t.pointers and places[t.name][0] is not None
    }
    _check(launches, taken, places, seen)
    writer = _Writer(launches, sizes, most_bytes)
    passed = list[object]()
    for each in taken:
        if each.is_number:
            writer.scalar(each)
            passed.append(each.name)
        elif not each.pointers:
            passed.append({"raw": _bytes_of(first, each)})
        elif each.name in seen:
            held = [p for p in places[each.name] if p is not None]
            writer.array(each, held, seen[each.name], shapes.get(each.name))
            passed.append(each.name)
        else:
            passed.append(None)
    names = [a["name"] for a in writer.listed]
    return Arguments(
        tuple(writer.listed),
        writer.arrays,
        None if passed == names else tuple(passed),
        tuple(writer.notes),
    )


class _Writer:
    """Arguments, one after the other."""

    def __init__(self, launches: Sequence[Observed], sizes: Sizes, most_bytes: int) -> None:
        self._launches, self._sizes, self._left = launches, sizes, most_bytes
        self._most = most_bytes
        self.listed = list[dict[str, Any]]()
        self.arrays = dict[str, Array]()
        self.notes = list[str]()

    def scalar(self, taken: Taken) -> None:
        """An integer is a symbol, another number itself."""
        value = (
            symbol_for(taken.name) if is_integer(taken) else value_of(self._launches[0].kept, taken)
        )
        self.listed.append(
            {"name": taken.name, "role": "scalar", "dtype": taken.dtype, "value": value}
        )

    def array(
        self,
        taken: Taken,
        places: Sequence[Place],
        seen: Sequence[Seen],
        proposed: tuple[Expression, ...] | None,
    ) -> None:
        """With the recorded contents where it is read."""
        shape, shapes = self._sizes.shape(taken.name, [s.count for s in seen], proposed)
        roles = {s.role for s in seen}
        role = next(iter(roles)) if len(roles) == 1 else "inout"
        made: dict[str, Any] = {
            "name": taken.name,
            "role": role,
            "dtype": taken.dtype,
            "shape": list(shape),
        }
        align = min(alignment(o.kept, p) for o, p in zip(self._launches, places, strict=True))
        if align < PLAIN_ALIGN:
            made["align"] = align
        if role != "output":
            made["init"] = self._init(taken, places[0], shapes)
        self.listed.append(made)

    def _init(self, taken: Taken, place: Place, shapes: Sequence[tuple[int, ...]]) -> object:
        first, count = self._launches[0].kept, 1
        for size in shapes[0]:
            count *= size
        if count * taken.itemsize > self._left:
            raise SpecError(
                f"the arrays beside the spec would have over {self._most // MIB} MiB with "
                f"`{taken.name}` ({count * taken.itemsize / MIB:.1f} MiB)",
                next_step="allow more with --most-mib",
            )
        values = contents(first, taken, place, count)
        if not values.view("u1").any():
            return "zeros"
        if len(set(shapes)) > 1:
            self.notes.append(
                f"`{taken.name}` has another size in each workload: drawn like the recorded values"
            )
            return alike(values)
        if values.nbytes <= WITHIN_SPEC and taken.dtype is not None:
            found = tensor_of(values.reshape(shapes[0]), taken.dtype)
            return {"kind": "data", "data": found.model_dump(mode="json")}
        self._left -= values.nbytes
        self.arrays[f"{taken.name}.npy"] = values.reshape(shapes[0])
        return {"kind": "file", "path": f"{taken.name}.npy"}


def _place(kept: KeptLaunch, taken: Taken) -> Place | None:
    place = place_of(kept, taken)
    if place is not None:
        check_plain(kept, taken, place)
    return place


def _check(
    launches: Sequence[Observed],
    taken: Sequence[Taken],
    places: Mapping[str, Sequence[Place | None]],
    seen: Mapping[str, Sequence[Seen]],
) -> None:
    for index, observed in enumerate(launches):
        arrays, roles = list[tuple[Taken, Place]](), list[Any]()
        for each in taken:
            place = places[each.name][index] if each.name in seen else None
            if place is not None:
                arrays.append((each, place))
                roles.append(seen[each.name][index].role)
        check_apart(observed.kept, arrays, roles)
    for name, found in seen.items():
        if min(s.count for s in found) < 1:
            raise SpecError(f"`{name}` has no elements in a recorded launch")


def _bytes_of(kept: KeptLaunch, taken: Taken) -> str:
    """A structure's bytes. Raises SpecError where an address is among them."""
    inside = [p for p in kept.pointers if taken.offset <= p.at < taken.offset + taken.size]
    if inside:
        raise SpecError(
            f"`{taken.name}` is `{taken.type}`, a structure with {len(inside)} pointers in it: a "
            "spec's arrays are arguments of their own",
            next_step="write a kernel that takes the pointers as parameters, and a spec for that",
        )
    return dict(kept.params)[taken.offset].hex()
