"""Attention is found however it was spelt and replaced as it is; what is none is left alone."""

from __future__ import annotations

import importlib
import importlib.util
import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from kernelwright.runners.modules.steps import sdpa

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch here")
Attend = Callable[..., Any]


@pytest.fixture(scope="module")
def torch() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("torch")


def plain(t: Any, q: Any, k: Any, v: Any) -> Any:
    return t.softmax(q @ k.transpose(-2, -1) / math.sqrt(8), dim=-1) @ v


def scaled_queries(t: Any, q: Any, k: Any, v: Any) -> Any:
    return t.matmul(t.nn.functional.softmax(t.matmul(q * 0.3, k.mT), dim=-1), v)


def by_bmm(t: Any, q: Any, k: Any, v: Any) -> Any:
    q, k, v = (each.flatten(0, 1) for each in (q, k, v))
    return t.bmm(t.bmm(q, k.transpose(1, 2)).mul(0.5).softmax(-1), v)


def causal_fill(t: Any, q: Any, k: Any, v: Any) -> Any:
    behind = t.triu(t.ones(q.shape[-2], k.shape[-2], dtype=t.bool), diagonal=1)
    return (q @ k.mT / 3).masked_fill(behind, float("-inf")).softmax(-1) @ v


def causal_bias(t: Any, q: Any, k: Any, v: Any) -> Any:
    bias = t.full((q.shape[-2], k.shape[-2]), float("-inf")).triu(1)
    return (q @ k.mT * 0.4 + bias).softmax(-1) @ v


def finite_fill(t: Any, q: Any, k: Any, v: Any) -> Any:
    seen = t.tril(t.ones(q.shape[-2], k.shape[-2]))
    return (q @ k.mT).masked_fill(seen == 0, -1e9).softmax(-1) @ v


def where_window(t: Any, q: Any, k: Any, v: Any) -> Any:
    at = t.arange(q.shape[-2])
    near = (at[:, None] - at[None, :]).abs() < 3
    return t.where(near, q @ k.mT * 0.2, float("-inf")).softmax(-1) @ v


def in_float32(t: Any, q: Any, k: Any, v: Any) -> Any:
    weights = t.nn.functional.softmax(q @ k.mT, dim=-1, dtype=t.float32).to(q.dtype)
    return t.nn.functional.dropout(weights, p=0.1, training=False) @ v


@pytest.mark.parametrize(
    ("attend", "causal", "masked"),
    [
        (plain, False, False),
        (scaled_queries, False, False),
        (by_bmm, False, False),
        (causal_fill, True, False),
        (causal_bias, True, False),
        (finite_fill, False, True),
        (where_window, False, True),
        (in_float32, False, False),
    ],
)
def test_attention_is_found_and_replaced_as_it_is(
    torch: Any, attend: Attend, causal: bool, masked: bool
) -> None:
    model, inputs = _module(torch, attend), _inputs(torch)
    (site,), refused = sdpa.sites_of(model, inputs)
    assert refused == []
    assert (site["causal"], site["masked"]) == (causal, masked)
    with torch.no_grad():
        wanted, made = model(*inputs), sdpa.apply(model, inputs)(*inputs)
    torch._dynamo.reset()
    assert torch.allclose(made, wanted, rtol=1e-5, atol=1e-6)


def weights_wanted(t: Any, q: Any, k: Any, v: Any) -> Any:
    weights = (q @ k.mT).softmax(-1)
    return weights @ v, weights


def masked_then_scaled(t: Any, q: Any, k: Any, v: Any) -> Any:
    return ((q @ k.mT).masked_fill(q[..., :1] > 0, -5.0) * 2).softmax(-1) @ v


def other_dimension(t: Any, q: Any, k: Any, v: Any) -> Any:
    return (q @ k.mT).softmax(-2) @ v


def no_product(t: Any, q: Any, k: Any, v: Any) -> Any:
    return (q + k).softmax(-1) * v


@pytest.mark.parametrize(
    ("attend", "why"),
    [
        (weights_wanted, "its weights are used elsewhere"),
        (masked_then_scaled, "masked before it is scaled"),
        (other_dimension, "not over the last dimension"),
        (no_product, "no product follows"),
    ],
)
def test_what_is_no_attention_is_left_alone_with_the_reason(
    torch: Any, attend: Attend, why: str
) -> None:
    sites, refused = sdpa.sites_of(_module(torch, attend), _inputs(torch))
    assert sites == []
    assert why in refused[0]


def _module(torch: Any, attend: Attend) -> Any:
    base: Any = torch.nn.Module

    class Attends(base):
        def forward(self, q: Any, k: Any, v: Any) -> Any:
            return attend(torch, q, k, v)

    return Attends().eval()


def _inputs(torch: Any) -> tuple[Any, ...]:
    torch.manual_seed(1)
    return tuple(torch.randn(2, 3, 12, 8) for _ in range(3))
