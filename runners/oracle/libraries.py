"""Which library computes a kernel's truth, and where; loaded only once it is needed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from ..errors import ReferenceFailed
from .arrays import NUMPY, ArrayLibrary, imports_torch
from .arrays_cupy import CupyArrays
from .arrays_torch import TorchArrays


def library_for(source: str | None, gpu: str) -> tuple[ArrayLibrary, str]:
    """The library of a reference (None: the baseline is the truth), and where it computes.

    `gpu` is the name of the GPU that CUDA shows this process; empty: the host is wanted. Torch
    serves references that import it, cupy all others, numpy where cupy is of no use; torch is
    of use on the host as well. Raises ReferenceFailed when torch is wanted and not installed.
    """
    torch = source is not None and imports_torch(source)
    name = "torch" if torch else "numpy"
    if not gpu:
        return (_torch("cpu") if torch else NUMPY), f"{name} on the host"
    obstacle = _torch_obstacle() if torch else _cupy_obstacle()
    if obstacle:
        return (_torch("cpu") if torch else NUMPY), f"{name} on the host: {obstacle}"
    return (_torch("cuda"), f"torch on {gpu}") if torch else (_cupy(), f"cupy on {gpu}")


def _module(name: str) -> Any:
    return import_module(name)


@cache
def _torch(device: str) -> TorchArrays:
    try:
        return TorchArrays(_module("torch"), device)
    except ImportError as error:
        raise ReferenceFailed(
            f"the reference imports torch, which does not load here: {error}",
            valid="a reference in numpy, or torch installed beside kernelwright",
        ) from error


@cache
def _cupy() -> CupyArrays:
    cupy = _module("cupy")
    return CupyArrays(cupy, cupy.asnumpy, cupy.get_default_memory_pool().free_all_blocks)


@cache
def _torch_obstacle() -> str:
    """Why torch cannot use the GPU; empty if it can, a product of its own included."""
    torch = _torch("cpu").xp
    if not torch.cuda.is_available():
        return "torch sees no GPU" if torch.version.cuda else "torch was built without CUDA"
    try:
        ones = torch.ones((16, 16), device="cuda", dtype=torch.float64)
        return "" if float((ones @ ones).sum()) == 4096.0 else "torch computes wrongly on the GPU"
    except Exception as error:  # a driver, a library or memory that is missing: the host goes on
        return f"torch cannot use the GPU: {_line(error)}"


@cache
def _cupy_obstacle() -> str:
    """Why cupy cannot use the GPU; empty if it can, random numbers included."""
    try:
        cupy = _module("cupy")
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "cupy"
        return "no cupy" if missing else f"cupy does not load: {_line(error)}"
    try:
        ones = cupy.ones((16, 16))
        cupy.random.default_rng(1).standard_normal(2, dtype="float32")
        return "" if float((ones @ ones).sum()) == 4096.0 else "cupy computes wrongly on the GPU"
    except Exception as error:  # a driver, a library or memory that is missing: the host goes on
        return f"cupy cannot use the GPU: {_line(error)}"


def _line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
