"""How far outputs lie from the truth: the same module in float64, on the same inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..common.messages import Agreement
from ..common.torch_library import tensors_in, torch
from ..forms.subjects import Loaded, in_float64


def truth_of(loaded: Loaded, eager: Sequence[Any]) -> tuple[list[Any], str]:
    """Outputs in float64, and `float64`; or the eager ones, and why."""
    try:
        outputs = kept(in_float64(loaded).call())
    except (RuntimeError, TypeError, ValueError) as error:
        return list(eager), f"eager outputs: the module does not run in float64 ({_first(error)})"
    if len(outputs) != len(eager):
        return list(eager), "eager outputs: in float64 the module returns something else"
    return outputs, "float64"


def kept(outputs: Any) -> list[Any]:
    """The tensors of an answer, copied: graphs write theirs again."""
    return [t.detach().clone() for t in tensors_in(outputs)]


def agreement(outputs: Sequence[Any], eager: Sequence[Any], truth: Sequence[Any]) -> Agreement:
    """Of a rung's outputs. Raises ValueError where they are not those of the module at all."""
    shapes = [[tuple(t.shape) for t in each] for each in (outputs, eager)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"its outputs have the shapes {shapes[0]}, not {shapes[1]}")
    equal = all(torch().equal(a, b) for a, b in zip(outputs, eager, strict=True))
    pairs = [
        (a.double(), t.double())
        for a, t in zip(outputs, truth, strict=True)
        if a.is_floating_point() or a.is_complex() is False
    ]
    squares = sum(float((a - t).pow(2).sum()) for a, t in pairs)
    size = math.sqrt(sum(float(t.pow(2).sum()) for _, t in pairs)) or 1.0
    count = sum(t.numel() for _, t in pairs) or 1
    worst = max((float((a - t).abs().max()) for a, t in pairs if t.numel()), default=0.0)
    return Agreement(
        rms=math.sqrt(squares) / size,
        worst=worst / (size / math.sqrt(count)),
        bit_equal=equal,
        close_1e_4=_close(outputs, eager, 1e-4),
        close_1e_2=_close(outputs, eager, 1e-2),
    )


def worse(first: Agreement, second: Agreement) -> Agreement:
    """Of two inputs: what holds for both."""
    return Agreement(
        rms=max(first.rms, second.rms),
        worst=max(first.worst, second.worst),
        bit_equal=first.bit_equal and second.bit_equal,
        close_1e_4=first.close_1e_4 and second.close_1e_4,
        close_1e_2=first.close_1e_2 and second.close_1e_2,
    )


def _close(outputs: Sequence[Any], eager: Sequence[Any], tolerance: float) -> bool:
    return all(
        torch().allclose(a.double(), b.double(), rtol=tolerance, atol=tolerance)
        for a, b in zip(outputs, eager, strict=True)
    )


def _first(error: Exception) -> str:
    return str(error).splitlines()[0][:160] if str(error) else type(error).__name__
