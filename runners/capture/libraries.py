"""Third-party modules of a capture, loaded when they are needed and not before; all untyped."""

from __future__ import annotations

import importlib
from typing import Any

from ..collecting import nothing_collected

PRELOADED = (
    "numpy",
    "torch",
    "torch._dynamo",  # else loaded by the first operator under a mode: 0.7 s
    "torch._subclasses.schema_check_mode",  # else loaded by every capture
    "triton",
    "triton.language",
    "triton.compiler",
    "triton.backends.nvidia.compiler",
    "triton.tools.tensor_descriptor",
    "triton.experimental.gluon.language",
)


def preload() -> None:
    """Load all that a capture needs, in the process whose forks will capture.

    Starts no thread where OMP_NUM_THREADS and MKL_NUM_THREADS are 1. Raises ImportError
    when torch or triton is not installed.
    """
    with nothing_collected():
        for name in PRELOADED:
            load(name)


def load(name: str) -> Any:
    """A module by its dotted name. Raises ImportError where it is not installed."""
    return importlib.import_module(name)


def torch() -> Any:
    """PyTorch; the CPU build is enough."""
    return load("torch")


def triton_jit() -> Any:
    """The module that holds `JITFunction` and `KernelInterface`."""
    return load("triton.runtime.jit")
