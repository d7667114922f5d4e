"""Kernelwright makes one kernel faster and proves it.

From Python, on the engine of the command line, with the same gates:

    import kernelwright

    found = kernelwright.tune(
        "scale.cpp",
        {"UNROLL": [1, 2, 4, 8]},
        arguments={"n": 4_000_000},
        reference="reference.py",
    )
    print(found.speedup, found.interval, found.values)

`tune` takes a source and the values to choose from, `optimize` a spec, `compare` two outdirs; what
is wrong is told by a `KernelwrightError`. docs/python.md has all of it. Nothing is loaded before it
is asked for: the processes that time kernels import this package as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelwright.api.client import Kernelwright
    from kernelwright.api.comparing import compare
    from kernelwright.api.found import Found
    from kernelwright.api.tuning import infer, optimize, tune
    from kernelwright.runners.errors import KernelwrightError
    from kernelwright.runners.version import __version__

__all__ = [
    "Found",
    "Kernelwright",
    "KernelwrightError",
    "__version__",
    "compare",
    "infer",
    "optimize",
    "tune",
]

_HOMES = {
    "Found": "api.found",
    "Kernelwright": "api.client",
    "KernelwrightError": "runners.errors",
    "__version__": "runners.version",
    "compare": "api.comparing",
    "infer": "api.tuning",
    "optimize": "api.tuning",
    "tune": "api.tuning",
}


def __getattr__(name: str) -> object:
    """One of the names above, from its module, when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
