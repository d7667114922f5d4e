"""torch and its parts, loaded when they are needed and not before; all untyped."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def load(name: str) -> Any:
    """A module by its dotted name. Raises ImportError where it is not installed."""
    return importlib.import_module(name)


def torch() -> Any:
    """PyTorch."""
    return load("torch")


def tensors_in(value: Any) -> list[Any]:
    """The tensors in a nest of tuples, lists, dicts and dataclasses of transformers."""
    leaves = load("torch.utils._pytree").tree_leaves(value)
    return [leaf for leaf in leaves if isinstance(leaf, torch().Tensor)]


def mapped(values: Any, change: Callable[[Any], Any]) -> Any:
    """`change` on every tensor of a nest; the rest as it is."""
    kind = torch().Tensor

    def one(value: Any) -> Any:
        return change(value) if isinstance(value, kind) else value

    return load("torch.utils._pytree").tree_map(one, values)


def synchronise(device: str) -> None:
    """Wait for the device; on a CPU there is nothing to wait for."""
    if device == "cuda":
        torch().cuda.synchronize()


def dtype_name(dtype: Any) -> str:
    """`float32` for torch.float32."""
    return str(dtype).removeprefix("torch.")
