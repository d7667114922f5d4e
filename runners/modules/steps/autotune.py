"""`torch.compile` that measures products and convolutions in several forms before it chooses."""

from __future__ import annotations

from typing import Any

from .base import Callee, Step, always
from .compiled import compiled_with


def apply(model: Callee, inputs: tuple[Any, ...]) -> Callee:
    """As mode max-autotune-no-cudagraphs: graphs are a step of their own."""
    return compiled_with(model, {"max_autotune": True, "coordinate_descent_tuning": True})


STEP = Step(
    name="autotune",
    title="torch.compile with max-autotune",
    kind="compiler",
    effect="tunes",
    error_class="fp32 rounding",
    apply=apply,
    why_not=always,
    undo="torch.compile without options, or the module itself",
    slow=True,
    files=("compiled",),
)
