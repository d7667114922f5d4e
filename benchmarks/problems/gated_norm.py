"""A problem in KernelBench's form, of our own: a gate, a residual and a norm along rows."""

import torch
from torch import nn


class Model(nn.Module):
    """`rms(x * sigmoid(1.7 x) + r) * w`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
        """Both of (rows, width)."""
        gated = x * torch.sigmoid(1.7 * x) + r
        scale = torch.rsqrt((gated * gated).mean(dim=-1, keepdim=True) + 1e-6)
        return gated * scale * self.weight


def get_inputs() -> list[torch.Tensor]:
    """As the harness asks for them."""
    return [torch.randn(8192, 2048), torch.randn(8192, 2048)]


def get_init_inputs() -> list[int]:
    """As the harness asks for them."""
    return [2048]
