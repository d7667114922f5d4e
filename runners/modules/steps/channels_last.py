"""Convolutions with channels innermost, the order in which tensor cores and oneDNN want them."""

from __future__ import annotations

import copy
from typing import Any

from .base import Callee, Step, mapped, torch


def apply(model: Any, inputs: tuple[Any, ...]) -> Callee:
    """A copy with its weights reordered, whose inputs are reordered as they come."""
    order = torch().channels_last

    base: Any = torch().nn.Module

    class ChannelsLast(base):
        def __init__(self) -> None:
            base.__init__(self)
            self.inner = copy.deepcopy(model).to(memory_format=order)

        def forward(self, *given: Any) -> Any:
            return self.inner(*mapped(given, _reordered))

    def _reordered(tensor: Any) -> Any:
        return tensor.contiguous(memory_format=order) if tensor.dim() == 4 else tensor

    return ChannelsLast().eval()


def why_not(model: Any, inputs: tuple[Any, ...], device: str) -> str:
    """It is for convolutions over two dimensions."""
    nn = torch().nn
    if any(isinstance(m, nn.Conv2d | nn.ConvTranspose2d) for m in model.modules()):
        return ""
    return "no module is a convolution over two dimensions"


STEP = Step(
    name="channels_last",
    title="convolutions with channels innermost (channels_last)",
    kind="rewrite",
    effect="channels_last",
    error_class="fp32 rounding",
    apply=apply,
    why_not=why_not,
    undo="model.to(memory_format=torch.contiguous_format)",
)
