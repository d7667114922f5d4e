"""Winners in the place of PyTorch's operators, in any process that has torch.

    import kernelwright.deploy
    kernelwright.deploy.install("norm3")        # a folder that `kernelwright operator export` wrote

From then on calls of that operator at the shapes, strides, types and numbers that the kernel was
proved for run the kernel; every other call is PyTorch's. `installed` does it for a `with`,
`take_out` ends it, `load` gives the kernel itself. A program is started with it, unchanged, by

    python -m kernelwright.deploy norm3 train.py --steps 20

This package needs torch and the driver alone, and imports neither before it is asked for something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .aten import Operator, install, installed, load, take_out
    from .reading import Refused

__all__ = ["Operator", "Refused", "install", "installed", "load", "take_out"]


def __getattr__(name: str) -> object:
    """One of the names above, when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import aten, reading

    return getattr(reading if name == "Refused" else aten, name)
