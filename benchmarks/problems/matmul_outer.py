"""A problem in KernelBench's form, of our own: a tall matrix by a wide one."""

import torch
from torch import nn


class Model(nn.Module):
    """`a @ b`: nearly all of its time is writing."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Of (rows, 16) and (16, columns)."""
        return a @ b


def get_inputs() -> list[torch.Tensor]:
    """As the harness asks for them."""
    return [torch.randn(8192, 16), torch.randn(16, 4096)]


def get_init_inputs() -> list[int]:
    """As the harness asks for them."""
    return []
