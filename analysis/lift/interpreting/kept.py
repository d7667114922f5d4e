"""Values of folds that are the same again: a mean that every turn of a loop uses is summed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..expressions import Fold, Load, names_in, walk

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class _Reads:
    """What the value of a fold hangs on."""

    fold: Fold
    names: tuple[str, ...]
    arrays: frozenset[str]


@dataclass(frozen=True)
class _Value:
    names: tuple[Array | None, ...]
    alive: Array | None
    value: Array


class Kept:
    """The last value of each fold, until an array that it reads is written."""

    def __init__(self) -> None:
        self._reads = dict[int, _Reads]()
        self._values = dict[int, _Value]()

    def value(self, fold: Fold, names: Mapping[str, Array], alive: Array | None) -> Array | None:
        """What the fold was where its names had these very values; None where it must be summed."""
        found = self._values.get(id(fold))
        if found is None or (alive is None) != (found.alive is None):
            return None
        given = self._given(fold, names)
        if any(one is not other for one, other in zip(given, found.names, strict=True)):
            return None
        if alive is not None and found.alive is not None and np.any(alive & ~found.alive):
            return None
        return found.value

    def keep(
        self, fold: Fold, names: Mapping[str, Array], alive: Array | None, value: Array
    ) -> None:
        """Remember a value, right at the places that are alive."""
        self._values[id(fold)] = _Value(self._given(fold, names), alive, value)

    def forget(self, array: str) -> None:
        """An array has been written."""
        stale = [at for at in self._values if array in self._reads[at].arrays]
        for at in stale:
            del self._values[at]

    def _given(self, fold: Fold, names: Mapping[str, Array]) -> tuple[Array | None, ...]:
        reads = self._reads.get(id(fold))
        if reads is None:  # holds the fold, so that no other one gets its identity
            reads = self._reads[id(fold)] = _reads_of(fold)
        return tuple(names.get(each) for each in reads.names)


def _reads_of(fold: Fold) -> _Reads:
    parts = list(walk(fold))
    inner = [part for part in parts if isinstance(part, Fold)]
    own = {each.index for each in inner} | {c.name for each in inner for c in each.carried}
    arrays = frozenset(part.array for part in parts if isinstance(part, Load))
    return _Reads(fold, tuple(sorted(names_in(fold) - own)), arrays)
