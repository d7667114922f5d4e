"""The kernels that runners and oracles hold inputs of: on each device, those used last."""

from __future__ import annotations

from .kernel_state import OpenKernel
from .rig import Rig

MOST_ATTACHED = 2
"""A device: inputs of a kernel take up to gigabytes, on the host and on its device. Two, so that
work on one kernel may look at another in between."""


class AttachedKernels:
    """Open kernels by id; one more than MOST_ATTACHED on a device, and the one that was not used
    for longest is detached. It is attached again, with fresh seeds, when it is asked for."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._kernels: dict[str, OpenKernel] = {}

    def get(self, kernel_id: str) -> OpenKernel | None:
        """A kernel that is attached, which is the one used last from now on."""
        known = self._kernels.pop(kernel_id, None)
        if known is not None:
            self._kernels[kernel_id] = known
        return known

    def add(self, kernel: OpenKernel) -> None:
        """A kernel that has just been attached."""
        self._kernels[kernel.kernel_id] = kernel
        beside = [k for k in self._kernels.values() if k.device == kernel.device]
        for old in beside[:-MOST_ATTACHED]:
            del self._kernels[old.kernel_id]
            self._rig.detach(old)

    def clear(self) -> None:
        """Forget all, once the processes that held them have ended."""
        self._kernels.clear()
