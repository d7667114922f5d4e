"""Attention written by hand: where it is, and what SDPA takes at its shapes, measured."""

from __future__ import annotations

from typing import Any

from ..common.clock import Clock
from ..common.messages import Attention, AttentionSite
from ..common.torch_library import torch
from ..forms.subjects import Loaded
from ..steps.sdpa import sites_of


def attention_of(loaded: Loaded, clock: Clock) -> Attention:
    """Find it in the graphs of one call, and call SDPA once at each shape."""
    sites, refused = sites_of(loaded.model, loaded.inputs)
    taken = dict[str, tuple[float, float | None]]()
    found = list[AttentionSite]()
    for site in sites:
        key = f"{site['shapes']} {site['causal']} {site['masked']}"
        if key not in taken:
            with clock.alone(), torch().no_grad():
                taken[key] = _us(clock, site, site["dtype"]), _us(clock, site, "bfloat16")
        us, half = taken[key]
        shapes = ", ".join("x".join(map(str, shape)) for shape in site["shapes"][:2])
        found.append(
            AttentionSite(
                line=site["line"],
                shapes=shapes,
                causal=site["causal"],
                masked=site["masked"],
                us=us,
                us_bf16=half,
            )
        )
    return Attention(found=tuple(found), refused=tuple(sorted(set(refused))))


def _us(clock: Clock, site: dict[str, Any], dtype: str) -> float:
    attend = torch().nn.functional.scaled_dot_product_attention
    kind = getattr(torch(), dtype)
    q, k, v = (torch().randn(s, device=clock.device).to(kind) for s in site["shapes"])
    if q.dim() == 3:
        q, k, v = (each.unsqueeze(1) for each in (q, k, v))
    mask = None
    if site["masked"]:
        size = (q.shape[-2], k.shape[-2])
        mask = torch().ones(size, dtype=torch().bool, device=clock.device)
    causal = site["causal"]
    return round(clock.device_us(lambda: attend(q, k, v, attn_mask=mask, is_causal=causal)), 3)
