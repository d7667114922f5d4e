"""Which GPU a kernel is built for, and on which it runs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from ...runners.device.presence.probing import Probed, probe_devices
from ...runners.errors import DeviceMissing, SpecError
from ...runners.loading.files import LoadedKernel
from ...runners.specs.devices import DeviceFacts, device_for
from .open_kernel import device_name

ALL = "all"


class Gpus:
    """The GPUs that may be used: all of this machine, or those named by index or UUID.

    They are looked for once, when the first GPU kernel comes along. Kernels are spread over
    them: each has a GPU of its own, where it is opened and confirmed. Where GPUs were named
    (`all` names every one), those of the same model help each other out: evaluations of one kernel
    run on all of them, each comparison on one.
    """

    def __init__(self, scratch: Path, wanted: Sequence[str] = ()) -> None:
        self._scratch, self._wanted = scratch, tuple(wanted)
        self._lock = threading.Lock()
        self._probed: Probed | None = None
        self._of_kernel: dict[str, DeviceFacts] = {}

    def present(self) -> tuple[DeviceFacts, ...]:
        """The usable GPUs of this machine. Raises SpecError for one that is not here."""
        found = self._look().devices
        if not self._wanted or ALL in self._wanted:
            return found
        named = (_named(each, found) for each in self._wanted)
        return tuple({device.uuid: device for device in named}.values())

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
        if not loaded.spec.kernel.language.on_gpu:
            return None
        with self._lock:
            known = self._of_kernel.get(loaded.kernel_id)
            if known is None:
                known = self._of_kernel[loaded.kernel_id] = self._choose(loaded)
            return known

    def device(self, loaded: LoadedKernel) -> str:
        """The device of a kernel, as turns and locks call it."""
        return device_name(self.target(loaded))

    def lanes(self, loaded: LoadedKernel) -> tuple[DeviceFacts | None, ...]:
        """All that evaluate a kernel side by side: its own GPU first, then those that help it;
        None: the host."""
        own = self.target(loaded)
        if own is None or own.uuid is None or not self._wanted:
            return (own,)
        helpers = (d for d in self.present() if _same_model(d, own) and d.uuid != own.uuid)
        return (own, *helpers)

    def runs(self, loaded: LoadedKernel) -> bool:
        """Whether a kernel can run here: it is host code, or its GPU is here."""
        target = self.target(loaded)
        return target is None or target.uuid is not None

    def _choose(self, loaded: LoadedKernel) -> DeviceFacts:
        present = self.present()
        first = device_for(loaded.spec.device_profile, present)
        equal = [d for d in present if _same_model(d, first)]
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
        valid="without its GPU: open_kernel, compile_variant, propose_moves, region_dag, "
        "ptx_for_source_span, inspect, ncu_summary of a report made elsewhere",
        next_step=f"start kernelwright on a machine with an {target.name} (`kernelwright doctor` "
        "says what it sees there), for instance `ssh HOST kernelwright serve` as the MCP client's "
        "command, and open the kernel again with the same spec",
    )


def _same_model(one: DeviceFacts, other: DeviceFacts) -> bool:
    """Whether machine code for one is right for the other, and as fast there."""
    own = {"uuid", "memory_bytes"}  # what is reserved of the memory may differ
    return one.model_dump(exclude=own) == other.model_dump(exclude=own)


def _reason(target: DeviceFacts, why_none: str, present: Sequence[DeviceFacts]) -> str:
    if not present:
        return why_none
    here = ", ".join(dict.fromkeys(d.name for d in present))
    return f"it is built for {target.name} ({target.arch}), and this machine has {here}"


def _named(name: str, found: Sequence[DeviceFacts]) -> DeviceFacts:
    for index, device in enumerate(found):
        if name in (str(index), device.uuid):
            return device
    valid = ", ".join([*(f"{i} ({d.name}, {d.uuid})" for i, d in enumerate(found)), ALL])
    raise SpecError(f"no GPU `{name}` here", valid=valid if found else "none: no GPU was found")
