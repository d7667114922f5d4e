"""A problem in KernelBench's form, of our own: a loss of pairs of rows."""

import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    """The mean of `max(0, 1 - cosine)` over rows."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Both of (rows, width)."""
        dot = (a * b).sum(dim=1)
        lengths = torch.rsqrt(a.square().sum(dim=1) * b.square().sum(dim=1) + 1e-8)
        return functional.relu(1.0 - dot * lengths).mean()


def get_inputs() -> list[torch.Tensor]:
    """As the harness asks for them."""
    return [torch.randn(8192, 2048), torch.randn(8192, 2048)]


def get_init_inputs() -> list[int]:
    """As the harness asks for them."""
    return []
