"""Weights and activations in bfloat16; outputs come back in the type that they had."""

from __future__ import annotations

import copy
from typing import Any

from .base import Callee, Step, load, mapped, torch


def apply(model: Any, inputs: tuple[Any, ...]) -> Callee:
    """A copy in bfloat16 that takes and gives what the module does."""
    half = torch().bfloat16
    with torch().no_grad():
        kinds = [t.dtype for t in _tensors(model(*inputs))]

    base: Any = torch().nn.Module

    class InBfloat16(base):
        def __init__(self) -> None:
            base.__init__(self)
            self.inner = copy.deepcopy(model).to(half)

        def forward(self, *given: Any) -> Any:
            out = self.inner(*mapped(given, lambda t: t.to(half) if t.is_floating_point() else t))
            left = iter(kinds)
            return mapped(out, lambda t: t.to(next(left)))

    return InBfloat16().eval()


def _tensors(value: Any) -> list[Any]:
    leaves = load("torch.utils._pytree").tree_leaves(value)
    return [leaf for leaf in leaves if isinstance(leaf, torch().Tensor)]


def why_not(model: Any, inputs: tuple[Any, ...], device: str) -> str:
    """Where nothing is in float32, nothing is gained."""
    floats = [*model.parameters(), *_tensors(inputs)]
    if any(t.dtype == torch().float32 for t in floats):
        return ""
    return "neither weights nor inputs are float32"


STEP = Step(
    name="bf16",
    title="weights and activations in bfloat16",
    kind="precision",
    effect="bf16",
    error_class="bf16",
    apply=apply,
    why_not=why_not,
    undo="keep the float32 weights; do not call .to(torch.bfloat16)",
    consent="bf16",
)
