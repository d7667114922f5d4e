"""What the surrogate is fitted to, and how: the shape of its covariance from what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .kernel import ORDERS, Shape, expected_shape
from .space import Floats

JITTER = 1e-6
"""least variance of noise, over the amplitude: keeps factorisations in range"""


def targets(times: Floats) -> Floats:
    """Times as the surrogate sees them: log, slow ones pressed together; mean 0, variance 1.

    How slow the slow half is says little about where the fastest lie, but would set the scale:
    beyond the median, distances grow with their logarithm, in units of best to median. [n] each.
    """
    logs = np.log(times)
    middle = float(np.median(logs))
    unit = middle - float(logs.min())
    if unit > 0:
        above = np.maximum(logs - middle, 0)
        logs = np.minimum(logs, middle) + unit * np.log1p(above / unit)
    return (logs - logs.mean()) / (float(logs.std()) or 1.0)


def fitted(points: Floats, aims: Floats, start: Shape, steps: int) -> Shape:
    """The shape that explains the targets best: maximum a posteriori, from a start on.

    `points`: [n, features]; `aims`: [n], as `targets` gives them. The priors are normal, around
    the expected shape. The way is Rprop (Riedmiller and Braun 1993): it needs no line search and
    does not depend on the scale of the gradient, only on its signs.
    """
    gaps = np.abs(points.T[:, :, None] - points.T[:, None, :])
    at = _packed(start)
    step, before = np.full(len(at), 0.2), np.zeros(len(at))
    best, least = at, math.inf
    for _ in range(steps):
        loss, slope = loss_of(at, gaps, aims)
        if loss < least:
            best, least = at, loss
        turned = slope * before
        grown = np.where(turned > 0, 1.2 * step, np.where(turned < 0, 0.5 * step, step))
        step = np.minimum(grown, 1.0)
        before = np.where(turned < 0, 0.0, slope)
        at = np.clip(at - np.sign(before) * step, -12, 5)
    return _unpacked(best)


def loss_of(at: Floats, gaps: Floats, aims: Floats) -> tuple[float, Floats]:
    """Negative log posterior of a packed shape, up to a constant, and its gradient.

    `gaps`: [features, n, n]. The amplitude is not searched for: the best has a closed form
    (Rasmussen and Williams 2006, 5.4.1 has the likelihood and its gradient). One pretended
    target of variance 1 keeps it from vanishing.
    """
    shape, n = _unpacked(at), len(aims)
    kernel, slopes = _kernel_and_slopes(shape, gaps)
    lower = np.linalg.cholesky(kernel + (math.exp(shape.noise) + JITTER) * np.eye(n))
    half = np.linalg.inv(lower)
    inverse = half.T @ half
    solved = inverse @ aims
    amplitude = float(aims @ solved + 1) / (n + 1)
    off, widths = _off_prior(at, len(gaps))
    loss = (n + 1) / 2 * math.log(amplitude) + float(np.log(np.diag(lower)).sum() + off @ off / 2)
    by_kernel = (inverse - np.outer(solved, solved) / amplitude) / 2
    by_noise = float(np.trace(by_kernel)) * math.exp(shape.noise)
    return loss, np.append(slopes(by_kernel), by_noise) + off / widths


def _kernel_and_slopes(shape: Shape, gaps: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
    """The covariance, [n, n], and what carries a gradient by it back to scales and orders."""
    count, shares = len(gaps), shape.shares
    r = math.sqrt(5) * np.exp(-shape.scales)[:, None, None] * gaps
    decay = np.exp(-r)
    each = (1 + r + r * r / 3) * decay
    relative = r * r * (1 + r) / (3 + 3 * r + r * r)  # slope by the log scale, over the kernel
    one = each.sum(0)
    pairs = count * (count - 1)
    orders = (one / count, (one * one - (each * each).sum(0)) / pairs, each.prod(0))
    kernel = shares[0] * orders[0] + shares[1] * orders[1] + shares[2] * orders[2]

    def slopes(by_kernel: Floats) -> Floats:
        of_sums = (shares[0] / count + 2 * shares[1] / pairs * one) * by_kernel
        of_squares = 2 * shares[1] / pairs * by_kernel
        of_product = shares[2] * orders[2] * by_kernel
        scales = (
            np.einsum("fij,fij,ij->f", relative, each, of_sums)
            - np.einsum("fij,fij,ij->f", relative, each * each, of_squares)
            + np.einsum("fij,ij->f", relative, of_product)
        )
        by_share = [
            share * float((by_kernel * (order - kernel)).sum())
            for share, order in zip(shares, orders, strict=True)
        ]
        return np.append(scales, by_share)

    return kernel, slopes


def _off_prior(at: Floats, features: int) -> tuple[Floats, Floats]:
    """How many widths a packed shape lies off the expected one, and the widths.

    A factor of e for length scales and shares, of e^2 for noise, of which less is known.
    """
    widths = np.append(np.ones(features + ORDERS), 2.0)
    return (at - _packed(expected_shape(features))) / widths, widths


def _packed(shape: Shape) -> Floats:
    return np.concatenate([shape.scales, shape.orders, [shape.noise]])


def _unpacked(at: Floats) -> Shape:
    return Shape(at[: -ORDERS - 1], at[-ORDERS - 1 : -1], float(at[-1]))
