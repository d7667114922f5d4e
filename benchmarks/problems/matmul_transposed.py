"""A problem in KernelBench's form, of our own: a product whose first factor lies transposed."""

import torch
from torch import nn


class Model(nn.Module):
    """`a.T @ b`."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Of (depth, rows) and (depth, columns)."""
        return a.T @ b


def get_inputs() -> list[torch.Tensor]:
    """As the harness asks for them."""
    return [torch.randn(1024, 2048), torch.randn(1024, 2048)]


def get_init_inputs() -> list[int]:
    """As the harness asks for them."""
    return []
