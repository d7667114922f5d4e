"""The kernels that runners and oracles hold inputs of: on each device, those used last."""

from __future__ import annotations

import threading

from .rig.open_kernel import OpenKernel
from .rig.rig import Rig

MOST_ATTACHED = 2
"""A device: inputs of a kernel take up to gigabytes, on the host and on its device. Two, so that
work on one kernel may look at another in between."""


class AttachedKernels:
    """Open kernels by id and device; one more than MOST_ATTACHED on a device, and the one that was
    not used for longest is detached. It is attached again, with fresh seeds, when it is asked for.

    Whoever asks has the turn of the device.
    """

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._lock = threading.Lock()
        self._kernels: dict[tuple[str, str], OpenKernel] = {}

    def get(self, kernel_id: str, device: str) -> OpenKernel | None:
        """A kernel that is attached, which is the one used last from now on."""
        with self._lock:
            known = self._kernels.pop((kernel_id, device), None)
            if known is not None:
                self._kernels[kernel_id, device] = known
            return known

    def add(self, kernel: OpenKernel) -> None:
        """A kernel that has just been attached."""
        with self._lock:
            self._kernels[kernel.kernel_id, kernel.device] = kernel
            beside = [k for k in self._kernels.values() if k.device == kernel.device]
            leave = beside[:-MOST_ATTACHED]
            for old in leave:
                del self._kernels[old.kernel_id, old.device]
        for old in leave:
            self._rig.detach(old)

    def clear(self) -> None:
        """Forget all, once the processes that held them have ended."""
        with self._lock:
            self._kernels.clear()
