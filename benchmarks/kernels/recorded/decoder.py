"""A decoder block whose author turned queries and keys by matrices of 2 x 2.

    decoder.py train|compiled DEVICE STEPS OUTPUTS

RMSNorm from plain operators, rotary positions as one product of matrices for every pair of numbers,
attention by hand, a gated layer; trained by SGD (`train`), or called alone (`compiled`). Prints
`step M ms`, the median, and a digest of what it writes to OUTPUTS. As a module (`Model`,
`get_inputs`) it is what Inductor's kernels are taken from.
"""

import hashlib
import math
import sys
import time
from statistics import median

import numpy as np
import torch
from torch import nn
from torch.nn import functional

SIZES = {"cuda": (8, 512, 1024, 16), "cpu": (4, 256, 64, 2)}
"""batch, length, width, heads"""
WARM_UP = 3


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


class Model(nn.Module):
    def __init__(self, length, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = Norm(width), Norm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * width, width, bias=False)
        pairs = width // heads // 2
        speeds = 10_000.0 ** (-torch.arange(pairs) / pairs)
        angles = torch.arange(length)[:, None] * speeds
        rows = [torch.stack([angles.cos(), angles.sin()], -1)]
        rows += [torch.stack([-angles.sin(), angles.cos()], -1)]
        self.register_buffer("turns", torch.stack(rows, -2))  # length, pairs, 2, 2
        seen = torch.ones(length, length, dtype=torch.bool).tril()
        self.register_buffer("hidden", ~seen)

    def turned(self, x):
        pairs = x.unflatten(-1, (-1, 1, 2))
        return (pairs @ self.turns).flatten(-3)

    def forward(self, x):
        batch, length, width = x.shape
        split = (batch, length, 3, self.heads, width // self.heads)
        q, k, v = self.qkv(self.first(x)).view(split).permute(2, 0, 3, 1, 4)
        scores = self.turned(q) @ self.turned(k).transpose(-2, -1) / math.sqrt(width // self.heads)
        mixed = functional.softmax(scores.masked_fill(self.hidden, float("-inf")), -1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        h = self.second(x)
        return x + self.down(functional.silu(self.gate(h)) * self.up(h))


def get_init_inputs():
    return list(SIZES["cuda" if torch.cuda.is_available() else "cpu"][1:])


def get_inputs():
    batch, length, width, _ = SIZES["cuda" if torch.cuda.is_available() else "cpu"]
    return [torch.randn(batch, length, width)]


def waited(device):
    if device == "cuda":
        torch.cuda.synchronize()


def main(mode, device, steps, outputs):
    torch.manual_seed(0)
    if device == "cpu":
        torch.set_num_threads(1)
    batch, length, width, heads = SIZES[device]
    block = Model(length, width, heads).to(device)
    x = torch.randn(batch, length, width).to(device)
    optimizer = torch.optim.SGD(block.parameters(), lr=1e-2, momentum=0.9)
    run = torch.compile(block) if mode == "compiled" else block

    def step():
        if mode == "compiled":
            with torch.no_grad():
                return run(x)
        loss = (run(x) - 0.5).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    taken = []
    for number in range(WARM_UP + steps):
        waited(device)
        start = time.perf_counter()
        step()
        waited(device)
        if number >= WARM_UP:
            taken.append(time.perf_counter() - start)
    with torch.no_grad():
        left = [run(x)[:, :8].contiguous().cpu(), *(p.detach().cpu() for p in block.parameters())]
    arrays = [tensor.numpy() for tensor in left]
    np.savez(outputs, *arrays)
    content = b"".join(array.tobytes() for array in arrays)
    print(f"step {1e3 * median(taken):.4f} ms")
    print(f"digest {hashlib.sha256(content).hexdigest()[:16]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
