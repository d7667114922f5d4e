"""A call of an operator as what sets it apart, the same when it is recorded and when it is met.

It is looked at on each call of an operator that has a winner, so each look at a tensor counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from .reading import Key

TENSOR = "tensor"
_dtypes = dict[Any, str]()


def key_and_tensors(args: Any, kwargs: Mapping[str, Any], kind: type) -> tuple[Key, list[Any]]:
    """The key of a call, and its tensors in order. `kind`: torch.Tensor."""
    tensors = list[Any]()
    key = tuple([_one(each, kind, tensors) for each in args])
    if not kwargs:
        return (key, ()), tensors
    named = tuple((name, _one(kwargs[name], kind, tensors)) for name in sorted(kwargs))
    return (key, named), tensors


def _one(value: Any, kind: type, tensors: list[Any]) -> Any:
    if isinstance(value, kind):
        tensor: Any = value
        tensors.append(tensor)
        dtype = tensor.dtype
        name = _dtypes.get(dtype) or _named(dtype)
        # `device.type` takes as long as all else of a tensor
        place = "cuda" if tensor.is_cuda else "cpu" if tensor.is_cpu else tensor.device.type
        return (TENSOR, name, tensor.shape, tensor.stride(), place)
    if isinstance(value, list | tuple):
        return tuple([_one(each, kind, tensors) for each in cast("list[Any]", value)])
    if value is None or isinstance(value, bool | int | float | str):
        return (type(value).__name__, value)  # as 1, 1.0 and True are equal, and not the same call
    return ("other", str(value))  # types, layouts, devices


def _named(dtype: Any) -> str:
    _dtypes[dtype] = name = str(dtype).removeprefix("torch.")
    return name
