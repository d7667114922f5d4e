"""Attention written by hand."""

from __future__ import annotations

from collections.abc import Iterable

from .base import Finder, Found, Opportunity, of_rung


def by_hand_attention(found: Found) -> Iterable[Opportunity]:
    """Scores that are written to memory, masked, normalised and read again."""
    sites = found.cost.attention.found
    if not sites:
        return
    now = sum(op.us for op in found.cost.attention_ops())
    then = sum(site.us or 0.0 for site in sites)
    causal = sum(1 for site in sites if site.causal)
    yield of_rung(
        found,
        found.cost.predict(["sdpa"]),
        kind="attention",
        what=f"{len(sites)} times attention by hand ({causal} causal) takes {now:.4g} us and "
        f"writes all scores to memory; scaled_dot_product_attention was measured at {then:.4g} us",
        how="F.scaled_dot_product_attention(q, k, v, is_causal=...), or the step `sdpa`",
        error_class="fp32 rounding",
        steps=("sdpa",),
        where=tuple(dict.fromkeys(site.line for site in sites if site.line)),
    )


FINDERS: tuple[Finder, ...] = (by_hand_attention,)
