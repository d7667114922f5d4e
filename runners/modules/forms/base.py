"""What a form is, and what it makes. Runs in the child, where the user's file is imported."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import SpecError
from ..common.messages import ModuleSource
from ..common.torch_library import torch

INPUT = re.compile(r"(?P<dtype>[a-z]+\d*)\[(?P<shape>[\d,\s]*)\](?:<(?P<below>\d+))?$")
EXAMPLE = "float32[4,512], int64[4,128]<32000 (values below 32000), bool[4,128]"


@dataclass(frozen=True)
class Subject:
    """A module in evaluation mode, and the positional arguments of one call."""

    model: Any
    inputs: tuple[Any, ...]


@dataclass(frozen=True)
class Form:
    """One way to say it. `make` is given the seed that is set before the module is made and again
    before the inputs are, and the device, on which large inputs may be made; it raises SpecError
    for what the source lacks."""

    name: str
    recognises: Callable[[ModuleSource, Mapping[str, Any]], bool]
    """by the source and what the file defines; nothing for a file that is not Python"""
    make: Callable[[ModuleSource, Mapping[str, Any], int, str], Subject]


def namespace_of(path: Path) -> dict[str, Any]:
    """Import a Python file by its path, beside its neighbours; what it defines."""
    if path.suffix != ".py":
        return {}
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SpecError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses and pickles look there
    try:
        spec.loader.exec_module(module)
    except (OSError, SystemExit) as error:  # it does work when it is imported
        raise SpecError(
            f"{path.name} cannot be imported: {type(error).__name__}: {error}",
            next_step="name the file that defines the module; a program that runs is recorded "
            f"instead: kernelwright record --front torch -- python {path.name}",
        ) from error
    return vars(module)


def input_tensor(text: str) -> Any:
    """`float32[4,512]`: normal values; `int64[4]<100`: whole ones below 100. Raises SpecError."""
    found = INPUT.match(text.strip())
    dtype: Any = getattr(torch(), found["dtype"], None) if found else None
    if found is None or not isinstance(dtype, torch().dtype):
        raise SpecError(f"{text!r} is no input", valid=EXAMPLE)
    shape = [int(part) for part in found["shape"].split(",") if part.strip()]
    if dtype.is_floating_point:
        return torch().randn(shape).to(dtype)
    below = int(found["below"] or 2)
    return torch().randint(0, below, shape).to(dtype)


def numbered(inputs: Any) -> tuple[Any, ...]:
    """What `get_inputs` returned as positional arguments; one tensor alone is one of them."""
    return (inputs,) if isinstance(inputs, torch().Tensor) else tuple(inputs)


def drawn(get_inputs: Callable[[], Any], seed: int, device: str) -> tuple[Any, ...]:
    """Inputs of a seed, made on the device: a host takes a quarter of a minute for 6 GB. Where they
    cannot be made there (through NumPy, say), on the host."""
    torch().manual_seed(seed)
    if device != "cpu":
        try:
            with torch().device(device):
                return numbered(get_inputs())
        except (TypeError, RuntimeError):
            torch().manual_seed(seed)
    return numbered(get_inputs())


def is_module_class(value: Any) -> bool:
    """Whether it is a class of modules."""
    return isinstance(value, type) and issubclass(value, torch().nn.Module)
