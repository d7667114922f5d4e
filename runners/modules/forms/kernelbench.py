"""The form of KernelBench's problems: `Model`, `get_inputs` and `get_init_inputs` in one file.

The seed is set where their harness sets it (`eval_kernel_against_ref`): before the arguments of the
class, before the module, before its inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..common.messages import ModuleSource
from ..common.torch_library import torch
from .base import Form, Subject, drawn, is_module_class


def recognises(source: ModuleSource, names: Mapping[str, Any]) -> bool:
    """A class of that name (or of the name asked for), and both functions."""
    functions = all(callable(names.get(name)) for name in ("get_inputs", "get_init_inputs"))
    return functions and is_module_class(names.get(source.name or "Model")) and not source.inputs


def make(source: ModuleSource, names: Mapping[str, Any], seed: int, device: str) -> Subject:
    """As their harness does."""
    torch().manual_seed(seed)
    arguments: Any = names["get_init_inputs"]()
    torch().manual_seed(seed)
    maker, given = names[source.name or "Model"], source.init
    model = maker(**arguments, **given) if _is_named(arguments) else maker(*arguments, **given)
    return Subject(model, drawn(names["get_inputs"], seed, device))


def _is_named(arguments: Any) -> bool:
    return isinstance(arguments, dict)


FORM = Form("KernelBench", recognises, make)
