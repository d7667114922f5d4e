"""How alike two configurations are: a covariance that sums effects of one, two and all features.

Times of kernels are products of factors, so that log times are near to sums: of what one parameter
does alone, what two do together, and what only all of them explain. A share for each of these
orders lets few measurements tell of many configurations (additive Gaussian processes: Duvenaud,
Nickisch and Rasmussen 2011). Each feature has a Matérn 5/2 kernel with a length scale of its own
(Rasmussen and Williams 2006, 4.2.1), and all orders are 1 where two configurations are equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .space import Floats

ORDERS = 3
"""one feature alone, two together, all of them"""
FAR = 0.5
"""length scale expected of a feature, as a share of the space's diagonal"""
NOISE = 1e-3
"""variance of noise expected, over that of log times: repeats of a careful measurement differ by
some 3 % of the spread between configurations"""

Number = TypeVar("Number", np.float32, np.float64)


@dataclass(frozen=True)
class Shape:
    """What a covariance rests on. `scales`: log length scale of each feature; `orders`: logits of
    the shares of the three orders; `noise`: log variance of noise, over the amplitude."""

    scales: Floats
    orders: Floats
    noise: float

    @property
    def shares(self) -> Floats:
        """Of each order in the covariance; they sum up to 1."""
        raised = np.exp(self.orders - self.orders.max())
        return raised / raised.sum()


def expected_shape(features: int) -> Shape:
    """The shape before anything was measured; every order has the same share."""
    scale = math.log(FAR * math.sqrt(features))
    return Shape(np.full(features, scale), np.zeros(ORDERS), math.log(NOISE))


def matern(gaps: Floats, scale: float) -> Floats:
    """Matérn 5/2 of distances in one feature; `scale`: its log length scale."""
    r = math.sqrt(5) * math.exp(-scale) * np.abs(gaps)
    return (1 + r + r * r / 3) * np.exp(-r)


def combined(shares: Floats, kernels: Iterable[NDArray[Number]], features: int) -> NDArray[Number]:
    """The covariance from the kernels of the features (two or more), arrays of one shape."""
    of_all = iter(kernels)
    first = next(of_all)
    one, squares, every = first.copy(), first * first, first.copy()
    for kernel in of_all:
        one += kernel
        squares += kernel * kernel
        every *= kernel
    # The sum over pairs is half of the square of the sum less the squares.
    pairs = one * one
    pairs -= squares
    one *= shares[0] / features
    pairs *= shares[1] / (features * (features - 1))
    every *= shares[2]
    one += pairs
    one += every
    return one
