"""Numbers of several launches as one expression: the source's where it holds for all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...errors import ExpressionError
from ...specs.expressions import evaluate_int
from ...specs.part import Expression

MOST_NAME = 64


class Sizes:
    """The symbols of a spec with their values by launch. What no symbol says becomes one."""

    def __init__(self, launches: int, known: Mapping[str, Sequence[int]]) -> None:
        self._launches = launches
        self.symbols: dict[str, tuple[int, ...]] = {k: tuple(v) for k, v in known.items()}

    def values(self, launch: int) -> dict[str, int]:
        """Every symbol's value in one launch."""
        return {name: values[launch] for name, values in self.symbols.items()}

    def of(self, proposed: Expression, more: Mapping[str, int] | None = None) -> list[int] | None:
        """An expression's value in each launch; None: it has none in one of them."""
        try:
            return [
                evaluate_int(proposed, {**self.values(i), **(more or {})})
                for i in range(self._launches)
            ]
        except ExpressionError:
            return None

    def number(
        self,
        name: str,
        recorded: Sequence[int],
        proposed: Sequence[Expression] = (),
        more: Mapping[str, int] | None = None,
    ) -> Expression:
        """The first proposal that gives what was recorded, else the number itself where all
        launches have the same, else a symbol of that value, else a new one of that name."""
        for each in proposed:
            if self.of(each, more) == list(recorded):
                return each
        if len(set(recorded)) == 1:
            return recorded[0]
        same = next((s for s, values in self.symbols.items() if values == tuple(recorded)), None)
        return same or self._named(name, recorded)

    def shape(
        self, name: str, counts: Sequence[int], proposed: Sequence[Expression] | None
    ) -> tuple[tuple[Expression, ...], list[tuple[int, ...]]]:
        """Sizes of an array of so many elements, and their values in each launch. A proposal holds
        where it needs no more than there are."""
        if proposed:
            found = [self.of(each) for each in proposed]
            axes = [each for each in found if each is not None]
            if len(axes) == len(found):
                shapes = list(zip(*axes, strict=True))
                if all(0 < math.prod(s) <= c for s, c in zip(shapes, counts, strict=True)):
                    return tuple(proposed), shapes
        size = self.number(f"{name}_size", counts)
        return (size,), [(count,) for count in counts]

    def _named(self, name: str, recorded: Sequence[int]) -> str:
        name = name[-MOST_NAME:]
        while name in self.symbols:
            name = f"{name[: MOST_NAME - 1]}_"
        self.symbols[name] = tuple(recorded)
        return name
