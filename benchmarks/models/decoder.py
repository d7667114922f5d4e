"""A decoder as Llama's: RMS norm, rotary positions, grouped queries, SwiGLU; attention by hand."""

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, KV_HEADS, LAYERS, HIDDEN, WORDS = 1024, 16, 4, 4, 2816, 8192
BATCH, LENGTH = 2, 512


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


def rotated(x, cos, sin):
    left, right = x.chunk(2, dim=-1)
    return torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = WIDTH // HEADS
        self.q = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k = nn.Linear(WIDTH, KV_HEADS * self.depth, bias=False)
        self.v = nn.Linear(WIDTH, KV_HEADS * self.depth, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q = rotated(self.q(x).view(b, t, HEADS, self.depth).transpose(1, 2), cos, sin)
        k = rotated(self.k(x).view(b, t, KV_HEADS, self.depth).transpose(1, 2), cos, sin)
        v = self.v(x).view(b, t, KV_HEADS, self.depth).transpose(1, 2)
        k, v = (each.repeat_interleave(HEADS // KV_HEADS, dim=1) for each in (k, v))
        scores = q @ k.transpose(-2, -1) * self.depth**-0.5
        behind = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        weights = F.softmax(scores.masked_fill(behind, float("-inf")), dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, t, WIDTH))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.attention = RMSNorm(WIDTH), Attention()
        self.between = RMSNorm(WIDTH)
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        x = x + self.attention(self.before(x), cos, sin)
        y = self.between(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = RMSNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
        depth = WIDTH // HEADS
        angles = torch.outer(torch.arange(LENGTH), 1e4 ** -(torch.arange(0, depth, 2) / depth))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, words):
        x = self.words(words)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.head(self.norm(x))


def get_inputs():
    return [torch.randint(0, WORDS, (BATCH, LENGTH))]


def get_init_inputs():
    return []
