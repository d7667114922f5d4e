"""Products of float32 in TF32: ten bits of mantissa in, float32 out."""

from __future__ import annotations

from typing import Any

from .base import Callee, Step, torch


def apply(model: Callee, inputs: tuple[Any, ...]) -> Callee:
    """The module, called with TF32 allowed; the setting is put back after each call."""

    def in_tf32(*given: Any) -> Any:
        matmul, cudnn = torch().backends.cuda.matmul, torch().backends.cudnn
        before = matmul.allow_tf32, cudnn.allow_tf32
        matmul.allow_tf32 = cudnn.allow_tf32 = True
        try:
            return model(*given)
        finally:
            matmul.allow_tf32, cudnn.allow_tf32 = before

    return in_tf32


def why_not(model: Any, inputs: tuple[Any, ...], device: str) -> str:
    """It is for products of float32."""
    if any(p.dtype == torch().float32 for p in model.parameters()):
        return ""
    return "no weight is float32"


STEP = Step(
    name="tf32",
    title="products of float32 in TF32",
    kind="precision",
    effect="tf32",
    error_class="TF32",
    apply=apply,
    why_not=why_not,
    undo="torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False",
    consent="tf32",
    devices=("cuda",),
)
