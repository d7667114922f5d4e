"""Functions whose operators have an element for windows, places, pieces, rows and indices."""

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


def by_indices(x: Any, edges: Any, brought: Any) -> Any:
    """`x` (6, 4), `edges` (2, 10) of places in it from either end, `brought` (10, 4)."""
    import torch

    to = edges[1] % 6
    placed = to[:, None].expand(10, 4)
    sums = torch.zeros_like(x).index_add(0, to, brought)
    put = x.index_put((edges[0], to % 4), brought[:, 0], accumulate=True)
    most = torch.full_like(x, 0.5).scatter_reduce(0, placed, brought, "amax")
    least = x.scatter_reduce(0, placed[:, :3], brought[:, 1:], "amin")
    marked = x.scatter(1, edges[:1, :2] % 4, 9.0)
    one = x.index_copy(0, to[:1], brought[:1])
    return x[edges[0]], x[:, to % 4], sums, put, most + least, marked, one


def running(x: Any) -> Any:
    return x.cumsum(1), (x * 2).cumprod(-1).sum(0)


def in_pieces(x: Any) -> Any:
    from torch.nn import functional

    one, two = x.split([1, 3], 1)
    first, *_, last = x.unbind(1)
    large = functional.interpolate(x, scale_factor=2, mode="nearest")
    return one * two.chunk(3, 1)[1], first - last, large


def rounded(x: Any, y: Any) -> Any:
    import torch

    places = torch.floor(x) + torch.ceil(y) * 10 + torch.trunc(x * 4) * 100
    angles = torch.atan2(x, y) + torch.asinh(x).atan() + torch.log2(1 + x.exp2()) + torch.erfc(x)
    return places, torch.round(x * 2), torch.sign(x), angles, torch.fmod(x, y) % 0.3 + x.abs() ** y
