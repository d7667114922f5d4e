"""A problem in KernelBench's form, of our own: a norm over groups of features."""

import torch
from torch import nn


class Model(nn.Module):
    """Each group of features over its root mean square."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of (batch, features, length)."""
        parts = x.unflatten(1, (self.groups, -1))
        scale = torch.rsqrt(parts.square().mean(dim=(2, 3), keepdim=True) + 1e-5)
        return (parts * scale).flatten(1, 2)


def get_inputs() -> list[torch.Tensor]:
    """As the harness asks for them."""
    return [torch.randn(32, 256, 2048)]


def get_init_inputs() -> list[int]:
    """As the harness asks for them."""
    return [8]
