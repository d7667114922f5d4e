"""A problem in KernelBench's form, of our own: a norm of order 3 along the middle dimension."""

import torch
from torch import nn


class Model(nn.Module):
    """Sums over a dimension that is neither the first nor the last."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of (batch, length, features)."""
        return torch.linalg.vector_norm(x, 3, dim=1)


def get_inputs() -> list[torch.Tensor]:
    """As the harness asks for them."""
    return [torch.randn(64, 512, 2048)]


def get_init_inputs() -> list[int]:
    """As the harness asks for them."""
    return []
