"""softmax(q k^T * scale + masks) v, found in a graph of Dynamo's however it was spelt.

From a softmax over the last dimension the way leads back through casts, masks and scalings to the
product of queries and keys, and on through casts and dropout that does nothing to the product with
the values. Every value on the way has one user, else it is left alone: somebody wants the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .base import load, torch

PRODUCTS = ("matmul", "bmm", "__matmul__")
CASTS = ("to", "float", "half", "bfloat16", "type", "type_as", "contiguous", "clone")
TIMES, OVER, PLUS = ("mul", "imul"), ("truediv", "itruediv", "div"), ("add", "iadd")
LONGEST = 16


class Left(Exception):
    """A softmax that is left alone; the message says why."""


@dataclass
class Attention:
    """One attention: nodes of the graph, and what is done between them."""

    q: Any
    k: Any
    """keys, or their transpose"""
    v: Any
    last: Any
    """the product with the values, which is replaced"""
    transposed: bool = True
    """whether `k` is the transpose, as the second operand of a product"""
    scale: float = 1.0
    masks: list[tuple[str, Any, Any]] = field(default_factory=list[tuple[str, Any, Any]])
    """(`fill`, blocked, value), (`keep`, allowed, value) or (`add`, bias, None): as applied, last
    one first"""
    causal: bool = False

    def facts(self) -> dict[str, Any]:
        """Shapes of q, k and v, and the user's line."""
        shapes = [tuple(_value(n).shape) for n in (self.q, self.k, self.v)]
        if self.transposed:
            *front, depth, keys = shapes[1]
            shapes[1] = (*front, keys, depth)
        dtype = str(_value(self.q).dtype).removeprefix("torch.")
        masked = bool(self.masks) and not self.causal
        line = _line(self.last)
        return {
            "shapes": shapes, "dtype": dtype, "causal": self.causal, "masked": masked, "line": line,
        }  # fmt: skip


def find(module: Any) -> tuple[list[Attention], list[str]]:
    """All of them, and why other softmaxes before a product are left alone."""
    found, left = list[Attention](), list[str]()
    for node in list(module.graph.nodes):
        if not _is(node, "softmax"):
            continue
        try:
            found.append(_around(module, node))
        except Left as why:
            left.append(f"{_line(node) or 'a softmax'}: {why}")
    return found, left


def _around(module: Any, softmax: Any) -> Attention:
    shape = _value(softmax).shape
    dim = softmax.kwargs.get("dim", softmax.args[1] if len(softmax.args) > 1 else None)
    if dim not in (-1, len(shape) - 1):
        raise Left("it is not over the last dimension")
    last, v = _forward(softmax)
    found = Attention(q=None, k=None, v=v, last=last)
    _backward(softmax.args[0], found)
    batches = [tuple(_value(n).shape[:-2]) for n in (found.q, found.k, found.v)]
    if len(set(batches)) > 1:
        raise Left(f"queries, keys and values have other batches: {batches}")
    if not all(_value(n).is_floating_point() for n in (found.q, found.k, found.v)):
        raise Left("they are no floating-point numbers")
    found.causal = _is_causal(module, found, tuple(shape))
    return found


def _forward(softmax: Any) -> tuple[Any, Any]:
    """The product with the values, and the values."""
    node = softmax
    for _ in range(LONGEST):
        user = _only_user(node)
        if _is(user, *PRODUCTS) and user.args[0] is node:
            return user, user.args[1]
        passes = _is(user, *CASTS) or (_is(user, "dropout") and not _drops(user))
        if not passes or user.args[0] is not node:
            raise Left("no product follows")
        node = user
    raise Left("no product follows")


def _backward(node: Any, found: Attention) -> None:
    for _ in range(LONGEST):
        if not hasattr(node, "users"):
            raise Left("no product of queries and keys precedes")
        _only_user(node)
        if _is(node, *PRODUCTS):
            found.q, found.k = node.args[:2]
            return
        node = _step_back(node, found)
    raise Left("no product of queries and keys precedes")


def _step_back(node: Any, found: Attention) -> Any:
    if _is(node, *CASTS):
        return node.args[0]
    if _is(node, *TIMES, *OVER):
        found.scale *= _number(node)
        return node.args[0] if hasattr(node.args[0], "users") else node.args[1]
    if found.scale != 1.0:
        raise Left("it is masked before it is scaled")
    if _is(node, "masked_fill", "masked_fill_"):
        scores, blocked, value = node.args[:3]
        found.masks.append(("fill", blocked, value))
        return scores
    if _is(node, "where"):
        return _where(node, found)
    if _is(node, *PLUS) and all(hasattr(a, "users") for a in node.args[:2]):
        left, right = node.args[:2]
        scores, bias = (left, right) if _reaches_product(left) else (right, left)
        found.masks.append(("add", bias, None))
        return scores
    raise Left(f"{_name(node)} stands between product and softmax")


def _where(node: Any, found: Attention) -> Any:
    condition, left, right = node.args[:3]
    if hasattr(left, "users") and _reaches_product(left):
        found.masks.append(("keep", condition, right))
        return left
    found.masks.append(("fill", condition, left))
    return right


def _reaches_product(node: Any, deepest: int = LONGEST) -> bool:
    """Whether a node is made from a product, by way of its first arguments."""
    for _ in range(deepest):
        if not hasattr(node, "users"):
            return False
        if _is(node, *PRODUCTS):
            return True
        node = node.args[0] if node.args else None
    return False


def replace(module: Any, found: Attention) -> None:
    """Put one call of scaled_dot_product_attention in its place."""
    functional, graph = load("torch.nn.functional"), module.graph
    flat = len(_value(found.q).shape) == 3
    with graph.inserting_before(found.last):

        def call(function: Callable[..., Any], *args: Any) -> Any:
            return graph.call_function(function, args)

        q, k, v = found.q, found.k, found.v
        if found.transposed:
            k = call(torch().transpose, k, -2, -1)
        mask = None if found.causal else _mask(call, found)
        if flat:  # one head: the fused kernels want four dimensions
            q, k, v = (call(torch().unsqueeze, each, 1) for each in (q, k, v))
            if mask is not None:
                mask = call(_with_a_head, mask)
        given = {"attn_mask": mask, "is_causal": found.causal, "scale": found.scale}
        out = graph.call_function(functional.scaled_dot_product_attention, (q, k, v), given)
        if flat:
            out = call(torch().squeeze, out, 1)
    found.last.replace_all_uses_with(out)
    graph.erase_node(found.last)


def _mask(call: Callable[..., Any], found: Attention) -> Any:
    """One mask of all: of booleans alone where every one of them blocks for good."""
    if not found.masks:
        return None
    if all(kind != "add" and _blocks(value) for kind, _, value in found.masks):
        kept = [call(_allowed, m) if kind == "fill" else m for kind, m, _ in found.masks]
        mask = kept[0]
        for each in kept[1:]:
            mask = call(torch().logical_and, mask, each)
        return mask
    total = None
    for kind, mask, value in reversed(found.masks):
        bias = mask if kind == "add" else call(_as_bias, mask, value, kind == "keep", found.q)
        total = bias if total is None else call(torch().add, total, bias)
    return call(_like, total, found.q)


def _allowed(blocked: Any) -> Any:
    return torch().logical_not(blocked)


def _as_bias(mask: Any, value: Any, keep: bool, like: Any) -> Any:
    blocked = torch().logical_not(mask) if keep else mask
    zero = torch().zeros((), dtype=like.dtype, device=like.device)
    return torch().where(blocked, torch().full_like(zero, float(value)), zero)


def _like(bias: Any, q: Any) -> Any:
    return bias.to(q.dtype)


def _with_a_head(mask: Any) -> Any:
    return mask.unsqueeze(1) if mask.dim() == 3 else mask


def _blocks(value: Any) -> bool:
    return isinstance(value, int | float) and value == float("-inf")


def _is_causal(module: Any, found: Attention, shape: tuple[int, ...]) -> bool:
    """Whether the masks are one that the graph itself makes, of constants alone, and that lets a
    query see what is not behind it. A mask from a buffer or an input may be another one next time.
    """
    if len(found.masks) != 1 or shape[-1] != shape[-2]:
        return False
    kind, mask, value = found.masks[0]
    if kind != "add" and not _blocks(value):
        return False
    made = _constant(module, mask)
    if made is None or made.dim() < 2 or tuple(made.shape[-2:]) != shape[-2:]:
        return False
    if made.numel() != shape[-1] * shape[-2]:
        return False
    made, length = made.reshape(shape[-2:]), shape[-1]
    behind = torch().ones(length, length, dtype=torch().bool, device=made.device).triu(1)
    if kind == "add":
        wanted = torch().zeros_like(made).masked_fill(behind, float("-inf"))
        return bool(torch().equal(made, wanted))
    return bool(torch().equal(made.bool(), behind if kind == "fill" else ~behind))


def _constant(module: Any, node: Any) -> Any:
    """The value of a node that hangs on no input, buffer or parameter; None for others."""
    needed, waiting = set[Any](), [node]
    while waiting:
        each = waiting.pop()
        if each in needed:
            continue
        if not hasattr(each, "op") or each.op not in ("call_function", "call_method"):
            return None
        needed.add(each)
        waiting.extend(each.all_input_nodes)
        if len(needed) > 4 * LONGEST:
            return None
    values, map_arg = dict[Any, Any](), load("torch.fx").node.map_arg
    for each in module.graph.nodes:
        if each in needed:
            args, kwargs = map_arg((each.args, each.kwargs), values.__getitem__)
            if each.op == "call_method":
                values[each] = getattr(args[0], each.target)(*args[1:], **kwargs)
            else:
                values[each] = each.target(*args, **kwargs)
    return values[node]


def _is(node: Any, *names: str) -> bool:
    return getattr(node, "op", "") in ("call_function", "call_method") and _name(node) in names


def _name(node: Any) -> str:
    return node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")


def _value(node: Any) -> Any:
    """The fake tensor of a node; raises Left for what is none."""
    value = getattr(node, "meta", {}).get("example_value")
    if not isinstance(value, torch().Tensor):
        raise Left("a value on the way is no tensor")
    return value


def _only_user(node: Any) -> Any:
    if len(node.users) != 1:
        raise Left("its weights are used elsewhere")
    return next(iter(node.users))


def _number(node: Any) -> float:
    """By what a node scales; raises Left where that is a tensor."""
    numbers = [a for a in node.args[:2] if isinstance(a, int | float)]
    if len(numbers) != 1 or (_is(node, *OVER) and not isinstance(node.args[1], int | float)):
        raise Left("it is scaled by a tensor")
    return 1.0 / numbers[0] if _is(node, *OVER) else float(numbers[0])


def _drops(node: Any) -> bool:
    p = node.kwargs.get("p", node.args[1] if len(node.args) > 1 else 0.5)
    training = node.kwargs.get("training", node.args[2] if len(node.args) > 2 else True)
    return bool(training) and p != 0


def _line(node: Any) -> str:
    """The user's innermost line that made a node: `model.py:37`."""
    for text in reversed(str(getattr(node, "stack_trace", "") or "").splitlines()):
        text = text.strip()
        if text.startswith('File "'):
            name, _, rest = text[6:].partition('", line ')
            return f"{name.rsplit('/', 1)[-1]}:{rest.split(',')[0]}"
    return ""
