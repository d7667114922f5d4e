"""Functions whose operators have an element for windows, places, pieces and rows."""

from __future__ import annotations

from typing import Any


def pools(x: Any) -> Any:
    from torch.nn import functional

    most = functional.max_pool2d(x, 3, 2, 1, 2)
    return most, functional.avg_pool2d(x, 3, 2, 1), functional.avg_pool1d(x[0], 2)


def places(x: Any) -> Any:
    import torch

    least = torch.min(x, torch.tensor(0.25))
    return x.argmax(1), x.argmin(-1, keepdim=True), x.max(1)[0] + x.min(1).values, least


def pieces(x: Any, y: Any) -> Any:
    import torch
    from torch.nn import functional

    both = torch.cat([x, y * 2, x[:, :1]], 1)
    return functional.pad(both, (2, -1, 1, 0), value=3.0), torch.stack([x, x + 1], -1)


def chosen(x: Any, k: Any, scale: float) -> Any:
    from torch.nn import functional

    held = x.gather(1, (k % 3).view(1, 4).expand(6, 4))
    return functional.embedding(k, x) * scale, x.index_select(1, k % 3), held
