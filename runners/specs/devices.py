"""GPUs to build for: what a compiler and a launch need to know of one, and its datasheet peaks.

A device that is here is described by its own driver (`device/probe.py`); one that is not, by
the table below, so that a laptop builds for a GPU in another room.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from pydantic import Field

from ..errors import SpecError
from ..model import Record
from .gpu_table import GPUS
from .spec import DeviceProfile


class DeviceFacts(Record):
    """One kind of GPU, or (with a `uuid`) one GPU of this machine."""

    name: str
    arch: str = Field(pattern=r"^sm_\d{2,3}[af]?$")
    """as compilers take it: sm_90a"""
    sm_count: int
    shared_per_block: int
    """bytes that a kernel may opt in to"""
    shared_per_sm: int
    registers_per_sm: int = 65536
    threads_per_sm: int = 2048
    l2_bytes: int
    memory_bytes: int
    clock_khz: int
    """the highest SM clock"""
    memory_clock_khz: int
    memory_bus_bits: int
    uuid: str | None = None
    """of a GPU of this machine; None: a profile only"""

    @property
    def capability(self) -> int:
        """90 for sm_90a."""
        return int(re.sub(r"\D", "", self.arch))

    def local_memory(self, stack_bytes: int) -> int:
        """Bytes that the driver sets aside for a kernel whose threads have so much of stack and
        local arrays: for every thread that the GPU could hold (CUDA C++ Programming Guide, "Local
        memory"). They stay set aside as long as the process lives."""
        return stack_bytes * self.sm_count * self.threads_per_sm


class Datasheet(Record):
    """Published peaks, dense; operations a second, a fused multiply-add counted as two.

    Where several are published for one type (sums in 16 bits or in 32), the highest: floors rest on
    them.
    """

    bytes_per_s: float
    fp32: float
    tf32: float
    fp16: float
    """with tensor cores, fp16 and bf16"""
    fp64: float


PROFILES: tuple[tuple[DeviceFacts, Datasheet | None], ...] = tuple(
    (
        DeviceFacts(
            name=gpu.name,
            arch=gpu.arch,
            sm_count=gpu.sms,
            shared_per_block=gpu.memory.per_block,
            shared_per_sm=gpu.memory.per_sm,
            threads_per_sm=gpu.memory.threads,
            l2_bytes=gpu.l2_mib << 20,
            memory_bytes=gpu.gib << 30,
            clock_khz=gpu.clock * 1000,
            memory_clock_khz=gpu.memory_clock * 1000,
            memory_bus_bits=gpu.bus,
        ),
        None
        if gpu.peaks is None
        else Datasheet(
            bytes_per_s=gpu.peaks[0] * 1e9,
            fp32=gpu.peaks[1] * 1e12,
            tf32=gpu.peaks[2] * 1e12,
            fp16=gpu.peaks[3] * 1e12,
            fp64=gpu.peaks[4] * 1e12,
        ),
    )
    for gpu in GPUS
)
"""The first one is built for where neither spec nor machine names another."""

NOT_LISTED = (
    "build for one of these (docs/gpu-kernels.md has the whole table), or for an architecture "
    'alone, device_profile {"arch": "sm_86"}; or run kernelwright on a machine that has the GPU '
    "you mean"
)
NEAREST = 6


def datasheet(name: str) -> Datasheet | None:
    """The published peaks of a GPU; None: not in the table."""
    return next((sheet for facts, sheet in PROFILES if facts.name == name), None)


def facts_of(name: str) -> DeviceFacts | None:
    """A GPU of the table by its whole name; None: not in the table."""
    return next((facts for facts, _ in PROFILES if facts.name == name), None)


def device_for(profile: DeviceProfile, present: Sequence[DeviceFacts]) -> DeviceFacts:
    """The device that a spec asks for: of this machine where it fits, else from the table.

    `native` is the first GPU here, or the table's first. Raises SpecError for an unknown one.
    """
    known = (*present, *(facts for facts, _ in PROFILES))
    fitting = _called(profile.gpu_name, known)
    if not fitting:
        raise SpecError(
            f"device_profile.gpu_name: no GPU `{profile.gpu_name}` is known",
            valid="the nearest: " + ", ".join(nearest_gpus(profile.gpu_name, known)),
            next_step=NOT_LISTED,
        )
    if profile.arch == "native":
        return fitting[0]
    capability = re.fullmatch(r"(?:sm_|compute_)?(\d{2,3})([af]?)", profile.arch)
    same = [f for f in fitting if capability and f.capability == int(capability[1])]
    if capability is None or not same:
        raise SpecError(
            f"device_profile.arch: `{profile.arch}` is not known"
            + (f" for {profile.gpu_name}" if profile.gpu_name else ""),
            valid=", ".join(dict.fromkeys(["native", *(f.arch for f in fitting)])),
            next_step=NOT_LISTED,
        )
    return same[0]


def _called(name: str, known: Sequence[DeviceFacts]) -> list[DeviceFacts]:
    """Those whose name has the words, else those whose name has the letters: an A10 is no A100."""
    words = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
    found = [facts for facts in known if words.search(facts.name)]
    return found or [facts for facts in known if name.casefold() in facts.name.casefold()]


def nearest_gpus(name: str, known: Sequence[DeviceFacts]) -> list[str]:
    """Names of GPUs that are written most alike, makers' words aside."""
    short = {facts.name: _short(facts.name) for facts in known}
    wanted = _short(name)

    def unlike(full: str) -> float:
        return -SequenceMatcher(None, wanted, short[full]).ratio()

    return sorted(short, key=unlike)[:NEAREST]


def _short(name: str) -> str:
    return re.sub(r"nvidia|geforce|tesla", "", name.casefold()).strip()
