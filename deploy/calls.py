"""A call of an operator as what sets it apart, the same when it is recorded and when it is met."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from .reading import Key

TENSOR = "tensor"


def key_and_tensors(args: Any, kwargs: Mapping[str, Any], kind: type) -> tuple[Key, list[Any]]:
    """The key of a call, and its tensors in order. `kind`: torch.Tensor."""
    tensors = list[Any]()
    key = tuple(_one(each, kind, tensors) for each in args)
    named = tuple((name, _one(kwargs[name], kind, tensors)) for name in sorted(kwargs))
    return (key, named), tensors


@cache
def _dtype(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _one(value: Any, kind: type, tensors: list[Any]) -> Any:
    if isinstance(value, kind):
        tensor: Any = value
        tensors.append(tensor)
        shape, strides = tuple(tensor.shape), tuple(tensor.stride())
        return (TENSOR, _dtype(tensor.dtype), shape, strides, tensor.device.type)
    if isinstance(value, list | tuple):
        return tuple(_one(each, kind, tensors) for each in cast("list[Any]", value))
    if value is None or isinstance(value, bool | int | float | str):
        return (type(value).__name__, value)  # as 1, 1.0 and True are equal, and not the same call
    return ("other", str(value))  # types, layouts, devices
