"""One toolchain a file: source of one language in, artifact out."""

from __future__ import annotations

from ..errors import ToolchainMissing
from ..model import Tier
from .base import BuildOutcome, BuildRequest, Shape, Toolchain
from .cuda import Cuda
from .host_cpp import HostCpp
from .triton_jit import TritonJit

TOOLCHAINS: tuple[Toolchain, ...] = (HostCpp(), Cuda(), TritonJit())

__all__ = [
    "TOOLCHAINS",
    "BuildOutcome",
    "BuildRequest",
    "Shape",
    "Toolchain",
    "tier_of",
    "toolchain_for",
]


def tier_of(kernel_type: str) -> Tier:
    """What runs beside the clock for kernels of this type. Raises ToolchainMissing."""
    for toolchain in TOOLCHAINS:
        if toolchain.kernel_type == kernel_type:
            return toolchain.tier
    raise ToolchainMissing(f"no toolchain builds `{kernel_type}` kernels")


def toolchain_for(kernel_type: str) -> Toolchain:
    """The toolchain of a kernel type. Raises ToolchainMissing when this machine has none."""
    for toolchain in TOOLCHAINS:
        if toolchain.kernel_type == kernel_type:
            if missing := toolchain.missing():
                raise ToolchainMissing(missing, next_step="kernelwright doctor lists what is here")
            return toolchain
    known = ", ".join(t.kernel_type for t in TOOLCHAINS)
    raise ToolchainMissing(f"no toolchain builds `{kernel_type}` kernels", valid=known)
