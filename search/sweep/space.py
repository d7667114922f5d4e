"""A discrete space of configurations, and what its parameters' values say about likeness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ...runners.errors import SpecError

Value = int | float | str | bool
Configuration = Mapping[str, Value]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Space:
    """Named parameters and every configuration that is valid.

    `names`: of the parameters, in order. `configurations`: one value of each parameter, in that
    order; distinct, at least one. Raises SpecError.
    """

    names: tuple[str, ...]
    configurations: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        if not self.configurations:
            raise SpecError(
                "a space without a configuration cannot be searched",
                next_step="loosen the constraints, or add values to the parameters",
            )
        if odd := next((c for c in self.configurations if len(c) != len(self.names)), None):
            raise SpecError(f"{odd} does not give a value to each of {', '.join(self.names)}")
        if len(set(self.configurations)) != len(self.configurations):
            raise SpecError("a configuration is in the space twice", valid="distinct ones")

    @classmethod
    def where(
        cls,
        values: Mapping[str, Sequence[Value]],
        valid: Callable[[Configuration], bool] = lambda _: True,
    ) -> Space:
        """All combinations of the parameters' values that are valid. Raises SpecError."""
        names = tuple(values)
        distinct = [tuple(dict.fromkeys(v)) for v in values.values()]
        every = product(*distinct)
        return cls(names, tuple(c for c in every if valid(dict(zip(names, c, strict=True)))))

    def __len__(self) -> int:
        return len(self.configurations)

    def configuration(self, index: int) -> dict[str, Value]:
        """The configuration at an index."""
        return dict(zip(self.names, self.configurations[index], strict=True))


def codes(space: Space) -> NDArray[np.int32]:
    """The configurations as numbers: [configuration, parameter], equal where values are equal."""
    found = np.empty((len(space), len(space.names)), dtype=np.int32)
    for column, _ in enumerate(space.names):
        known: dict[Value, int] = {}
        for row, configuration in enumerate(space.configurations):
            found[row, column] = known.setdefault(configuration[column], len(known))
    return found


def features(space: Space) -> Floats:
    """The configurations as points whose distance says how alike they are.

    [configuration, feature], each feature from 0 to 1. A parameter of numbers gives its logarithm,
    since kernels are tuned in factors, and, where its values are no powers of two alone, the power
    of two that divides it: alignment, vector width and bank conflicts follow it and not the size.
    Any other parameter gives one feature a value. A parameter of one value gives none.
    """
    columns = [
        feature
        for column, _ in enumerate(space.names)
        for feature in _features_of([c[column] for c in space.configurations])
    ]
    return np.stack(columns, axis=1) if columns else np.zeros((len(space), 0))


def with_prior(points: Floats, expected: Floats) -> Floats:
    """Points with an expectation of their log times, [configurations], as one feature more."""
    if not np.all(np.isfinite(expected)):
        raise SpecError("a prior expects a finite number of every configuration")
    if np.ptp(expected) == 0:
        return points
    return np.column_stack([points, _from_0_to_1(expected)])


def _features_of(values: list[Value]) -> list[Floats]:
    """The features of one parameter, given its value in each configuration."""
    distinct = list(dict.fromkeys(values))
    if len(distinct) < 2:
        return []
    if any(isinstance(value, str) for value in distinct):
        # Two values differ in two features, so each gets half of the squared distance.
        return [np.array([v == of for v in values], dtype=float) / 2**0.5 for of in distinct]
    numbers = np.array(values, dtype=float)
    size = _sizes(numbers)
    if not np.all(numbers == np.round(numbers)) or numbers.min() <= 0 or numbers.max() >= 2**31:
        return [size]
    divides = np.log2(np.gcd(numbers.astype(np.int64), 2**31))
    if np.ptp(divides) == 0 or np.allclose(_from_0_to_1(divides), size):
        return [size]
    return [size, _from_0_to_1(divides)]


def _sizes(numbers: Floats) -> Floats:
    """Numbers on a scale of factors, where their signs allow one; 0, 1 and 3 are equally spaced."""
    if numbers.min() > 0:
        return _from_0_to_1(np.log2(numbers))
    return _from_0_to_1(np.log2(1 + numbers) if numbers.min() == 0 else numbers)


def _from_0_to_1(numbers: Floats) -> Floats:
    return (numbers - numbers.min()) / np.ptp(numbers)
