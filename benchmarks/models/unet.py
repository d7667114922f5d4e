"""A U-Net of three levels with group norm and skips."""

import torch
from torch import nn

WIDTH, SIDE, BATCH, GROUPS = 64, 128, 4, 8


class Double(nn.Module):
    def __init__(self, given, made):
        super().__init__()
        self.first = nn.Conv2d(given, made, 3, padding=1)
        self.second = nn.Conv2d(made, made, 3, padding=1)
        self.norms = nn.ModuleList(nn.GroupNorm(GROUPS, made) for _ in range(2))

    def forward(self, x):
        x = torch.nn.functional.silu(self.norms[0](self.first(x)))
        return torch.nn.functional.silu(self.norms[1](self.second(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        w = WIDTH
        self.down = nn.ModuleList([Double(3, w), Double(w, 2 * w), Double(2 * w, 4 * w)])
        self.middle = Double(4 * w, 8 * w)
        self.grow = nn.ModuleList(
            nn.ConvTranspose2d(2 * n * w, n * w, 2, stride=2) for n in (4, 2, 1)
        )
        self.up = nn.ModuleList(Double(2 * n * w, n * w) for n in (4, 2, 1))
        self.last = nn.Conv2d(w, 3, 1)

    def forward(self, x):
        skips = []
        for each in self.down:
            x = each(x)
            skips.append(x)
            x = torch.nn.functional.max_pool2d(x, 2)
        x = self.middle(x)
        for grow, up, skip in zip(self.grow, self.up, reversed(skips), strict=True):
            x = up(torch.cat((grow(x), skip), dim=1))
        return self.last(x)


def get_inputs():
    return [torch.randn(BATCH, 3, SIDE, SIDE)]


def get_init_inputs():
    return []
