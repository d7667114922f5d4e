"""Attention written by hand, done by `scaled_dot_product_attention`.

Dynamo gives the module's graph (with guards, so that other shapes and branches get graphs of their
own), `attention_pattern` finds softmax(q k^T * scale + masks) v in it, and one call replaces it.
"""

from __future__ import annotations

from typing import Any

from .attention_pattern import find, replace
from .base import Callee, Step, load, torch


def rewritten(graph: Any) -> Any:
    """The graph module with every attention that can be told replaced."""
    found, _ = find(graph)
    for each in found:
        replace(graph, each)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return graph


def apply(model: Callee, inputs: tuple[Any, ...]) -> Callee:
    """The module run as its rewritten graph, operator by operator. `torch.compile` after it takes
    `kw_rewrite` and `kw_inner` instead."""
    load("torch._dynamo").config.recompile_limit = 64

    def backend(graph: Any, examples: list[Any]) -> Any:
        return rewritten(graph).forward

    run = torch().compile(model, dynamic=False, backend=backend)

    def attended(*given: Any) -> Any:
        return run(*given)

    setattr(attended, "kw_rewrite", rewritten)  # noqa: B010
    setattr(attended, "kw_inner", model)  # noqa: B010
    return attended


def why_not(model: Any, inputs: tuple[Any, ...], device: str) -> str:
    """It applies where something is found; the module's graph is taken, nothing is compiled."""
    sites, refused = sites_of(model, inputs)
    if sites:
        return ""
    return "; ".join(sorted(set(refused))) or "no softmax stands between two products"


def sites_of(model: Any, inputs: tuple[Any, ...]) -> tuple[list[Any], list[str]]:
    """What is found in the graphs of one call, and why other softmaxes are left alone."""
    dynamo, sites, refused = load("torch._dynamo"), list[Any](), list[str]()

    def backend(graph: Any, examples: list[Any]) -> Any:
        found, left = find(graph)
        sites.extend(each.facts() for each in found)
        refused.extend(left)
        return graph.forward

    dynamo.reset()
    with torch().no_grad():
        torch().compile(model, dynamic=False, backend=backend)(*inputs)
    dynamo.reset()
    return sites, refused


STEP = Step(
    name="sdpa",
    title="scaled_dot_product_attention for attention written by hand",
    kind="rewrite",
    effect="sdpa",
    error_class="fp32 rounding",
    apply=apply,
    why_not=why_not,
    undo="call the module itself: its source was not changed",
    files=("attention_pattern",),
)
