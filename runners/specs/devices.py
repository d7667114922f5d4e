"""GPUs to build for: what a compiler and a launch need to know of one, and its datasheet peaks.

A device that is here is described by its own driver (`device/probe.py`); one that is not, by
the table below, so that a laptop builds for a GPU in another room.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import Field

from ..errors import SpecError
from ..model import Record
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
    """Published peaks, dense; operations a second, a fused multiply-add counted as two."""

    bytes_per_s: float
    fp32: float
    tf32: float
    fp16: float
    """with tensor cores, fp16 and bf16"""
    fp64: float


def _facts(
    name: str,
    arch: str,
    sms: int,
    shared: tuple[int, int],
    l2_mib: int,
    memory_gib: int,
    clocks: tuple[int, int, int],
    threads: int = 2048,
) -> DeviceFacts:
    clock, memory_clock, bus = clocks
    return DeviceFacts(
        name=name,
        arch=arch,
        sm_count=sms,
        shared_per_block=shared[0],
        shared_per_sm=shared[1],
        threads_per_sm=threads,
        l2_bytes=l2_mib << 20,
        memory_bytes=memory_gib << 30,
        clock_khz=clock * 1000,
        memory_clock_khz=memory_clock * 1000,
        memory_bus_bits=bus,
    )


_HOPPER, _AMPERE, _ADA = (232448, 233472), (166912, 167936), (101376, 102400)
PROFILES: tuple[tuple[DeviceFacts, Datasheet], ...] = (
    (
        _facts("NVIDIA H100 80GB HBM3", "sm_90a", 132, _HOPPER, 50, 80, (1980, 2619, 5120)),
        Datasheet(bytes_per_s=3.35e12, fp32=67e12, tf32=494e12, fp16=989e12, fp64=34e12),
    ),
    (
        _facts("NVIDIA H100 PCIe", "sm_90a", 114, _HOPPER, 50, 80, (1755, 1593, 5120)),
        Datasheet(bytes_per_s=2.0e12, fp32=51e12, tf32=378e12, fp16=756e12, fp64=26e12),
    ),
    (
        _facts("NVIDIA H200", "sm_90a", 132, _HOPPER, 60, 141, (1980, 3201, 6144)),
        Datasheet(bytes_per_s=4.8e12, fp32=67e12, tf32=494e12, fp16=989e12, fp64=34e12),
    ),
    (
        _facts("NVIDIA A100-SXM4-80GB", "sm_80", 108, _AMPERE, 40, 80, (1410, 1593, 5120)),
        Datasheet(bytes_per_s=2.04e12, fp32=19.5e12, tf32=156e12, fp16=312e12, fp64=9.7e12),
    ),
    (
        _facts("NVIDIA L40S", "sm_89", 142, _ADA, 96, 48, (2520, 9001, 384), 1536),
        Datasheet(bytes_per_s=8.64e11, fp32=91.6e12, tf32=183e12, fp16=362e12, fp64=1.43e12),
    ),
)
"""The first one is built for where neither spec nor machine names another."""

NOT_LISTED = "build for one of these, or run kernelwright on a machine that has the GPU you mean"


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
    name = profile.gpu_name.casefold()
    fitting = [facts for facts in known if name in facts.name.casefold()]
    if not fitting:
        raise SpecError(
            f"device_profile.gpu_name: no GPU `{profile.gpu_name}` is known",
            valid=", ".join(dict.fromkeys(facts.name for facts in known)),
            next_step=NOT_LISTED,
        )
    if profile.arch == "native":
        return fitting[0]
    capability = re.fullmatch(r"(?:sm_|compute_)?(\d{2,3})([af]?)", profile.arch)
    same = [f for f in fitting if capability and f.capability == int(capability[1])]
    if capability is None or not same:
        raise SpecError(
            f"device_profile.arch: `{profile.arch}` is not known"
            + (f" for {profile.gpu_name}" if name else ""),
            valid=", ".join(dict.fromkeys(["native", *(f.arch for f in fitting)])),
            next_step=NOT_LISTED,
        )
    return same[0]
