"""What a step is. torch is loaded when a step is applied, and not before."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

ErrorClass = Literal["bit-equal", "fp32 rounding", "TF32", "bf16"]
Effect = Literal["fuses", "captures", "bf16", "tf32", "channels_last", "sdpa", "tunes", "threads"]
"""what a step changes, in the terms of the model of cost"""
Kind = Literal["rewrite", "precision", "compiler", "runtime"]
Callee = Callable[..., Any]
"""a module, or what stands for it: called with the same positional arguments"""


@dataclass(frozen=True)
class Step:
    """One change to a module."""

    name: str
    title: str
    kind: Kind
    effect: Effect
    error_class: ErrorClass
    apply: Callable[[Callee, tuple[Any, ...]], Callee]
    """a module (or what the steps before made of it) and inputs like those that it will be called
    with; weights are shared where they stay as they are"""
    why_not: Callable[[Any, tuple[Any, ...], str], str]
    """of the module as it was, its inputs and the device: why the step does not apply; empty: it
    does"""
    undo: str
    """how to take it back"""
    consent: str = ""
    """the precision to which the user must have agreed"""
    devices: tuple[str, ...] = ("cpu", "cuda")
    alone: bool = True
    """worth a rung of its own"""
    slow: bool = False
    """takes minutes: only where it is asked for"""
    files: tuple[str, ...] = field(default=())
    """further files of this folder that it needs"""


def torch() -> Any:
    """PyTorch."""
    return importlib.import_module("torch")


def load(name: str) -> Any:
    """A module by its dotted name."""
    return importlib.import_module(name)


def mapped(values: Any, change: Callable[[Any], Any]) -> Any:
    """`change` on every tensor of a nest; the rest as it is."""
    kind = torch().Tensor

    def one(value: Any) -> Any:
        return change(value) if isinstance(value, kind) else value

    return load("torch.utils._pytree").tree_map(one, values)


def always(*_: Any) -> str:
    """The step applies to every module."""
    return ""
