"""A problem in KernelBench's form, of our own: a linear layer, an activation and a scale."""

import torch
from torch import nn


class Model(nn.Module):
    """`y * sigmoid(y) * s + y` of a linear layer's y."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, out)
        self.scale = nn.Parameter(torch.full((out,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of (rows, width)."""
        y = self.linear(x)
        return y * torch.sigmoid(y) * self.scale + y


def get_inputs() -> list[torch.Tensor]:
    """As the harness asks for them."""
    return [torch.randn(1024, 1024)]


def get_init_inputs() -> list[int]:
    """As the harness asks for them."""
    return [1024, 2048]
