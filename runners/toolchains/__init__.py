"""One toolchain a file: source of one language in, artifact out.

Which file builds which language: `LANGUAGES`. A toolchain is loaded when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from ..errors import ToolchainMissing
from ..languages import language_of
from .base import BuildOutcome, BuildRequest, Shape, Toolchain

__all__ = ["BuildOutcome", "BuildRequest", "Shape", "Toolchain", "named_toolchain", "toolchain_for"]


def named_toolchain(kernel_type: str) -> Toolchain:
    """The toolchain that a language names, whether it works on this machine or not.

    Raises ToolchainMissing for a kernel type that nobody knows.
    """
    module = import_module(f"{__name__}.{language_of(kernel_type).toolchain}")
    return cast(Toolchain, module.TOOLCHAIN)


def toolchain_for(kernel_type: str) -> Toolchain:
    """The toolchain of a kernel type. Raises ToolchainMissing when this machine has none."""
    toolchain = named_toolchain(kernel_type)
    if missing := toolchain.missing():
        raise ToolchainMissing(missing, next_step="kernelwright doctor lists what is here")
    return toolchain
