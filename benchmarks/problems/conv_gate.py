"""A problem in KernelBench's form, of our own: a convolution whose channels gate each other."""

import torch
from torch import nn


class Model(nn.Module):
    """Half of a convolution's channels times the sigmoid of the other half."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, 2 * channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of (batch, channels, height, width)."""
        value, gate = self.conv(x).chunk(2, dim=1)
        return value * torch.sigmoid(gate)


def get_inputs() -> list[torch.Tensor]:
    """As the harness asks for them."""
    return [torch.randn(16, 32, 128, 128)]


def get_init_inputs() -> list[int]:
    """As the harness asks for them."""
    return [32]
