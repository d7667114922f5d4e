"""Host C++ kernels in tests: what one is, and how to compile and run many versions of it."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelwright.runners.model import BuildOptions
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.moves import State

Array = NDArray[Any]
INCLUDE = re.compile(r"(?m)^\s*#\s*include.*$")
OUTSIDE = re.compile(rf'{INCLUDE.pattern}|extern "C"')
"""what has no place in a namespace"""


@dataclass(frozen=True)
class HostKernel:
    """A source, its contract and shapes to run it at, odd ones among them."""

    entry: str
    source: str
    arguments: tuple[Mapping[str, Any], ...]
    sizes: tuple[Mapping[str, int], ...]
    math: str = "ieee"
    symbols: Mapping[str, Any] = field(default_factory=lambda: {})

    @cached_property
    def spec(self) -> KernelSpec:
        """Its contract; every size of the domain from 1 unless the kernel says otherwise."""
        names = sorted(self.sizes[0])
        domain = {n: {"min": 1, "max": 4096} for n in names} | dict(self.symbols)
        return KernelSpec.model_validate(
            {
                "name": self.entry,
                "kernel": {
                    "kernel_type": "cpp",
                    "source_code": self.source,
                    "metadata": {"kernel_name": self.entry},
                },
                "io": {"arguments": list(self.arguments), "math": self.math},
                "symbols": domain,
                "workloads": [{"name": "w", "symbols": dict(self.sizes[0])}],
                "reference": "baseline",
            }
        )

    def state(self, source: str | None = None, **options: Any) -> State:
        """As a node of a search has it."""
        return State("cpp", source or self.source, {}, BuildOptions(**options), self.spec)


def array(name: str, role: str, *shape: str, dtype: str = "float32") -> dict[str, Any]:
    return {"name": name, "role": role, "dtype": dtype, "shape": list(shape)}


def scalar(name: str, value: str | float | None = None, dtype: str = "int32") -> dict[str, Any]:
    return {
        "name": name,
        "role": "scalar",
        "dtype": dtype,
        "value": name if value is None else value,
    }


def compiled(sources: Sequence[str], entry: str, folder: Path) -> list[Any]:
    """Every source's entry as a function of pointers to its arguments; all in one library."""
    headers = sorted({line.strip() for s in sources for line in INCLUDE.findall(s)})
    parts = [*headers, "#include <utility>"]
    parts.append(
        "template <class... T, std::size_t... I> void apply(void (*f)(T...), void** p, "
        "std::index_sequence<I...>) { f(*static_cast<T*>(p[I])...); }\n"
        "template <class... T> void apply(void (*f)(T...), void** p) "
        "{ apply(f, p, std::index_sequence_for<T...>{}); }"
    )
    for number, source in enumerate(sources):
        parts.append(f"namespace v{number} {{\n{OUTSIDE.sub('', source)}\n}}")
        parts.append(f'extern "C" void call{number}(void** p) {{ apply(&v{number}::{entry}, p); }}')
    file, library = folder / "all.cpp", folder / "all.so"
    file.write_text("\n".join(parts))
    flags = ["-O1", "-fopenmp", "-std=c++17", "-shared", "-fPIC", "-Wno-unknown-pragmas"]
    done = subprocess.run(
        ["g++", *flags, str(file), "-o", str(library)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[:3000]
    loaded = ctypes.CDLL(str(library))
    return [getattr(loaded, f"call{number}") for number in range(len(sources))]


def run(function: Any, kernel: HostKernel, sizes: Mapping[str, int], seed: int) -> list[Array]:
    """The outputs of one call, of values that the seed decides."""
    rng = np.random.default_rng(seed)
    held = list[Array]()
    outputs = list[Array]()
    for argument in kernel.arguments:
        if argument["role"] == "scalar":
            value = eval(str(argument["value"]), {}, dict(sizes))
            held.append(np.array(value, argument["dtype"]))
            continue
        shape = [eval(str(s), {}, dict(sizes)) for s in argument["shape"]]
        values = rng.standard_normal(shape) * 3
        if argument["dtype"].startswith("int"):
            values = rng.integers(0, 8, shape)
        filled = np.ascontiguousarray(values.astype(argument["dtype"]))
        held.append(filled)
        if argument["role"] in ("output", "inout"):
            outputs.append(filled)
    call(function, *held)
    return outputs


def call(function: Any, *arguments: Array) -> None:
    """One call; what has no dimensions is a scalar."""
    pointers = (ctypes.c_void_p * len(arguments))()
    addresses = [ctypes.c_void_p(each.ctypes.data) for each in arguments]
    for index, each in enumerate(arguments):
        scalar_value = each.ndim == 0
        pointers[index] = each.ctypes.data if scalar_value else ctypes.addressof(addresses[index])
    function(pointers)
