"""From a module to the graph of its call, by torch.export, with values of one real call. In the
child."""

from __future__ import annotations

import warnings
from typing import Any, cast

from ...errors import SpecError
from ..common.graphs import GraphNode, ModuleGraph, Values
from ..common.torch_library import dtype_name, load, torch
from ..forms.subjects import Loaded

DECOMPOSED = (
    *("native_layer_norm", "_softmax", "_log_softmax", "addmm", "baddbmm", "gelu", "hardtanh"),
    *("leaky_relu", "elu", "_native_batch_norm_legit_no_training", "mean", "var", "std"),
    *("hardsigmoid", "hardswish", "softplus", "silu", "mish", "mse_loss", "huber_loss"),
    *("smooth_l1_loss", "std_mean", "var_mean", "clamp_min", "clamp_max", "addcmul", "addcdiv"),
    *("rsub", "linear", "square", "norm", "logsumexp", "linalg_vector_norm", "threshold"),
    *("tril", "triu", "clamp", "_native_batch_norm_legit_functional", "native_group_norm"),
    "_native_batch_norm_legit",
)
"""operators of ATen that become simpler ones, beside what core ATen does away with by itself"""
MOST_LOOKED_AT = 1 << 24
PLACES = ("device", "layout", "pin_memory", "memory_format")
"""keywords that say where a tensor lies, and nothing of its values"""


def graph_of(loaded: Loaded, *, looked_at: bool = True) -> ModuleGraph:
    """The call of a module as it is made with its inputs. `looked_at`: with what its values are
    like, for which it is called; without, a module on the meta device will do. Raises SpecError
    where torch.export cannot follow it."""
    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):  # torch, of itself
            exported = load("torch.export").export(loaded.model, loaded.inputs, strict=False)
            exported = exported.run_decompositions(_table())
    except Exception as error:  # whatever the user's code and the tracer raise
        lines = str(error).strip().splitlines() or [""]
        raise SpecError(
            f"torch.export cannot follow the module: {type(error).__name__}: {lines[0][:300]}",
            next_step="its forward has to be one graph: no branch on values, no print of them",
        ) from error
    signature = exported.graph_signature
    state = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    held = signature.inputs_to_lifted_tensor_constants
    constants = {name: exported.constants[where] for name, where in held.items()}
    if signature.user_inputs_to_mutate or any(c.numel() != 1 for c in constants.values()):
        raise SpecError(
            "the module changes its inputs, or holds tensors that are none of its state",
            next_step="register them with register_buffer, and change no input in forward",
        )
    values, kinds = _values(exported, loaded, state) if looked_at else {}, dict[str, str]()
    given = [s.arg.name for s in signature.input_specs if s.kind.name == "USER_INPUT"]
    for node in exported.graph.nodes:
        if node.op == "placeholder" and node.name not in constants:
            where = state.get(node.name)
            kinds[node.name] = f"state {where}" if where else f"input {given.index(node.name)}"
    nodes = [
        _number(node.name, constants[node.name])
        if node.name in constants
        else record(node, kinds, values)
        for node in exported.graph.nodes
        if node.op != "output"
    ]
    outputs = tuple(str(name) for name in signature.user_outputs)
    one = bool(exported.call_spec.out_spec.is_leaf())
    changed = {str(value): where for value, where in signature.buffers_to_mutate.items()}
    return ModuleGraph(nodes=tuple(nodes), outputs=outputs, one_output=one, changed=changed)


def _number(name: str, constant: Any) -> GraphNode:
    """A tensor of one number that forward makes, as that number."""
    value, shape = constant.item(), tuple(constant.shape)
    args, dtype = ([*shape], value), dtype_name(constant.dtype)
    return GraphNode(name=name, op="aten.full.default", args=args, shape=shape, dtype=dtype)


def _table() -> Any:
    decompositions, aten = load("torch._decomp"), torch().ops.aten
    table = decompositions.core_aten_decompositions()
    wanted = [getattr(aten, name) for name in DECOMPOSED if hasattr(aten, name)]
    table.update(decompositions.get_decompositions(wanted))
    return table


def record(node: Any, kinds: dict[str, str], values: dict[str, Any]) -> GraphNode:
    """A node of a graph of torch.fx. `kinds`: what is given, by name."""
    value = node.meta.get("val")
    tensor = value if isinstance(value, torch().Tensor) else None
    kept = {k: v for k, v in node.kwargs.items() if k not in PLACES}
    name = f"{node.target!s}" if node.op == "call_function" else ""
    if callable(node.target) and not hasattr(node.target, "_schema"):
        name = f"python.{getattr(node.target, '__name__', node.target)}"
    return GraphNode(
        name=node.name,
        op=name if node.op == "call_function" else "",
        args=tuple(_plain(each) for each in node.args),
        kwargs={key: _plain(each) for key, each in kept.items()},
        shape=None if tensor is None else tuple(int(n) for n in tensor.shape),
        dtype="" if tensor is None else dtype_name(tensor.dtype),
        given=kinds.get(node.name, ""),
        contiguous=tensor is None or bool(tensor.is_contiguous()),
        values=values.get(node.name),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, load("torch.fx").Node):
        return {"node": value.name}
    if isinstance(value, torch().dtype):
        return {"dtype": dtype_name(value)}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("list[Any]", value)]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return {"other": str(value)}


def _values(exported: Any, loaded: Loaded, state: dict[str, str]) -> dict[str, Values]:
    """What every value of the call is like, truth values left out."""
    found = dict[str, Values]()

    base: Any = load("torch.fx").Interpreter

    class Looking(base):
        def run_node(self, n: Any) -> Any:
            result: Any = base.run_node(self, n)
            number = isinstance(result, torch().Tensor) and not result.is_complex()
            if number and result.dtype != torch().bool:
                found[n.name] = _described(result)
            return result

    tensors = {**dict(loaded.model.named_parameters()), **dict(loaded.model.named_buffers())}
    held = [tensors[name] for name in state.values()]
    lifted = exported.graph_signature.inputs_to_lifted_tensor_constants
    held += [exported.constants[where] for where in lifted.values()]
    with torch().no_grad():
        given = load("torch.utils._pytree").tree_leaves(loaded.inputs)
        Looking(exported.graph_module).run(*held, *given)
    return found


def _described(tensor: Any) -> Values:
    """Of a large tensor, by every n-th of its values."""
    step = max(1, tensor.numel() // MOST_LOOKED_AT)
    finite = tensor.flatten()[::step].double()
    finite = finite[finite.isfinite()]
    if not finite.numel():
        return Values(low=0.0, high=0.0, mean=0.0, std=0.0)
    std = float(finite.std(unbiased=False))
    return Values(
        low=float(finite.min()), high=float(finite.max()), mean=float(finite.mean()), std=std
    )
