"""What is expected of every candidate: the Gaussian process, given what was measured.

Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), 2.2, with the factor grown
by a row for each measurement.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .fitting import JITTER
from .kernel import Shape, combined, matern
from .space import Floats

Singles = NDArray[np.float32]
"""of one row a measured point and one column a candidate: half the memory, to six digits"""


class Posterior:
    """Mean and deviation of the targets at every candidate.

    `candidates`: [candidates, features], two or more features; `measured`: [n, features]. One more
    measurement costs n times candidates; so does a mean for other targets.
    """

    def __init__(self, shape: Shape, candidates: Floats, measured: Floats) -> None:
        self._shape = shape
        self._noise = math.exp(shape.noise) + JITTER
        # A feature has few values: kernels are computed for those, and looked up for candidates.
        self._values = [np.unique(column, return_inverse=True) for column in candidates.T]
        self._measured = measured
        among = self._covariance(measured) + self._noise * np.eye(len(measured))
        self._lower = np.linalg.cholesky(among)
        half = np.linalg.inv(self._lower).astype(np.float32)
        self._rows: Singles = half @ self._to_candidates(measured)
        self._explained = np.einsum("ij,ij->j", self._rows, self._rows).astype(np.float64)

    def add(self, point: Floats) -> None:
        """One more measured point, [features]."""
        known = np.linalg.solve(self._lower, self._covariance(point[None]))[:, 0]
        left = math.sqrt(max(1 + self._noise - float(known @ known), JITTER))
        n = len(known)
        lower = np.zeros((n + 1, n + 1))
        lower[:n, :n], lower[n, :n], lower[n, n] = self._lower, known, left
        row = (self._to_candidates(point[None])[0] - known.astype(np.float32) @ self._rows) / left
        self._lower, self._measured = lower, np.vstack([self._measured, point])
        self._rows = np.vstack([self._rows, row.astype(np.float32)])
        self._explained += row.astype(np.float64) ** 2

    def at_candidates(self, aims: Floats) -> tuple[Floats, Floats]:
        """Mean and deviation, [candidates] each, for the targets of the measured points, [n]."""
        solved = np.linalg.solve(self._lower, aims)
        amplitude = float(solved @ solved + 1) / (len(aims) + 1)
        mean = (solved.astype(np.float32) @ self._rows).astype(np.float64)
        return mean, np.sqrt(np.maximum(1 - self._explained, JITTER) * amplitude)

    def _covariance(self, points: Floats) -> Floats:
        """Of all measured points with some, [n, points]."""
        pairs = zip(self._measured.T, points.T, self._shape.scales, strict=True)
        kernels = (matern(left[:, None] - right, scale) for left, right, scale in pairs)
        return combined(self._shape.shares, kernels, points.shape[1])

    def _to_candidates(self, points: Floats) -> Singles:
        """Of some points with all candidates, [points, candidates]."""

        def kernels() -> Iterator[Singles]:
            columns = zip(points.T, self._values, self._shape.scales, strict=True)
            for column, (values, where), scale in columns:
                table = matern(column[:, None] - values, scale).astype(np.float32)
                yield np.take(table, where, axis=1)

        return combined(self._shape.shares, kernels(), points.shape[1])
