"""Which GPU a kernel is built for, and on which it runs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from ..runners.device.probing import Probed, probe_devices
from ..runners.devices import DeviceFacts, device_for
from ..runners.errors import DeviceMissing, SpecError
from ..runners.spec_files import LoadedKernel
from ..runners.toolchains import tier_of


class Gpus:
    """The GPUs that may be used: all of this machine, or those named by index or UUID.

    They are looked for once, when the first GPU kernel comes along. Kernels are spread over
    them; one kernel stays on one GPU, so that its times can be compared.
    """

    def __init__(self, scratch: Path, wanted: Sequence[str] = ()) -> None:
        self._scratch, self._wanted = scratch, tuple(wanted)
        self._lock = threading.Lock()
        self._probed: Probed | None = None
        self._of_kernel: dict[str, DeviceFacts] = {}

    def present(self) -> tuple[DeviceFacts, ...]:
        """The usable GPUs of this machine. Raises SpecError for one that is not here."""
        found = self._look().devices
        return tuple(_named(each, found) for each in self._wanted) if self._wanted else found

    def missing(self) -> str:
        """Why no GPU kernel can run here; empty where one can."""
        return "" if self.present() else self._look().why_none

    def why_not(self, target: DeviceFacts) -> str:
        """Why what is built for a GPU that is not here cannot run here."""
        return _reason(target, self.missing(), self.present())

    def target(self, loaded: LoadedKernel) -> DeviceFacts | None:
        """The GPU for a kernel: one that is here, or a profile to build for; None: host code.

        Raises SpecError when the spec names a GPU that nobody knows.
        """
        if tier_of(loaded.spec.kernel.kernel_type) != "device":
            return None
        with self._lock:
            known = self._of_kernel.get(loaded.kernel_id)
            if known is None:
                known = self._of_kernel[loaded.kernel_id] = self._choose(loaded)
            return known

    def runs(self, loaded: LoadedKernel) -> bool:
        """Whether a kernel can run here: it is host code, or its GPU is here."""
        target = self.target(loaded)
        return target is None or target.uuid is not None

    def _choose(self, loaded: LoadedKernel) -> DeviceFacts:
        present = self.present()
        first = device_for(loaded.spec.device_profile, present)
        equal = [d for d in present if (d.name, d.arch) == (first.name, first.arch)]
        taken = [d.uuid for d in self._of_kernel.values()]
        return min(equal, key=lambda d: taken.count(d.uuid), default=first)

    def _look(self) -> Probed:
        if self._probed is None:
            self._probed = probe_devices(self._scratch)
        return self._probed


def device_missing(target: DeviceFacts, why: str, present: Sequence[DeviceFacts]) -> DeviceMissing:
    """Why a kernel cannot run, what works all the same, and how to get further."""
    return DeviceMissing(
        f"this kernel cannot be run or timed here: {_reason(target, why, present)}",
        valid="without its GPU: open_kernel, compile_variant, propose_moves, inspect",
        next_step=f"start kernelwright on a machine with an {target.name} (`kernelwright doctor` "
        "says what it sees there), for instance `ssh HOST kernelwright serve` as the MCP client's "
        "command, and open the kernel again with the same spec",
    )


def _reason(target: DeviceFacts, why_none: str, present: Sequence[DeviceFacts]) -> str:
    if not present:
        return why_none
    here = ", ".join(dict.fromkeys(d.name for d in present))
    return f"it is built for {target.name} ({target.arch}), and this machine has {here}"


def _named(name: str, found: Sequence[DeviceFacts]) -> DeviceFacts:
    for index, device in enumerate(found):
        if name in (str(index), device.uuid):
            return device
    valid = ", ".join(f"{i} ({d.name}, {d.uuid})" for i, d in enumerate(found))
    raise SpecError(f"no GPU `{name}` here", valid=valid or "none: no GPU was found")
