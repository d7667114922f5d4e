"""How many blocks of a kernel fit on one multiprocessor at once, and what keeps more out.

The rules are those of NVIDIA's `cuda_occupancy.h` (CUDA 13.0), which the tests compare with:
registers are given out to warps in units of 256, a quarter of the register file to each of
four schedulers; shared memory in units of 128 bytes, 1 KiB a block reserved from sm_80 on.
"""

from __future__ import annotations

from typing import Literal

from ..runners.model import KernelFacts, Record
from ..runners.specs.devices import DeviceFacts

WARP = 32
SCHEDULERS = 4
REGISTER_UNIT = 256
SHARED_UNIT = 128
RESERVED_SHARED = 1024
BLOCKS_PER_SM = {
    70: 32, 75: 16, 80: 32, 86: 16, 87: 16, 89: 24, 90: 32, 100: 32, 103: 32, 110: 24,
    120: 24, 121: 24,
}  # fmt: skip

Limiter = Literal["threads", "registers", "shared memory", "blocks"]


class Occupancy(Record):
    """Blocks that are resident on a multiprocessor; `share` of its warps is then taken."""

    entry: str
    blocks: int
    warps: int
    share: float
    limited_by: Limiter
    shapes: tuple[str, ...] = ()
    """labels, where they are known"""

    def describe(self) -> str:
        """One line for people."""
        who = f"{self.entry} ({', '.join(self.shapes)})" if self.shapes else self.entry
        if self.blocks == 0:
            return f"{who}: no block fits on a multiprocessor (too much {self.limited_by})"
        blocks = "1 block" if self.blocks == 1 else f"{self.blocks} blocks"
        return (
            f"{who}: {blocks} a multiprocessor, {self.share:.0%} of its warps, "
            f"limited by {self.limited_by}"
        )


def occupancy(facts: KernelFacts, device: DeviceFacts) -> Occupancy | None:
    """The occupancy of a kernel; None when registers or block size are not known."""
    limits = block_limits(facts, device)
    if limits is None or facts.threads is None:
        return None
    limiter = min(limits, key=lambda each: limits[each])
    blocks, warps = limits[limiter], -(-facts.threads // WARP)
    share = blocks * warps * WARP / device.threads_per_sm
    return Occupancy(
        entry=facts.entry,
        blocks=blocks,
        warps=blocks * warps,
        share=share,
        limited_by=limiter,
        shapes=facts.shapes,
    )


def block_limits(facts: KernelFacts, device: DeviceFacts) -> dict[Limiter, int] | None:
    """How many blocks of a kernel each resource of a multiprocessor has room for; None when
    registers or block size are not known."""
    if facts.registers is None or facts.threads is None:
        return None
    warps = -(-facts.threads // WARP)
    shared = (facts.static_shared or 0) + facts.dynamic_shared
    return {
        "threads": device.threads_per_sm // WARP // warps,
        "registers": _by_registers(facts.registers, warps, device),
        "shared memory": _by_shared(shared, device),
        "blocks": BLOCKS_PER_SM.get(device.capability, 32),
    }


def _by_registers(registers: int, warps: int, device: DeviceFacts) -> int:
    a_warp = _up(max(1, registers) * WARP, REGISTER_UNIT)
    if a_warp * _up(warps, SCHEDULERS) > device.registers_per_sm:
        return 0
    return device.registers_per_sm // SCHEDULERS // a_warp * SCHEDULERS // warps


def _by_shared(nbytes: int, device: DeviceFacts) -> int:
    reserved = RESERVED_SHARED if device.capability >= 80 else 0
    if nbytes > device.shared_per_block:
        return 0
    taken = _up(nbytes + reserved, SHARED_UNIT)
    return device.shared_per_sm // taken if taken else 1 << 16


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
