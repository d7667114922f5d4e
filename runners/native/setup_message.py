"""What an executor is told before it loads a variant: its limits, parameters and guards."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path

from ..plans.plan import LaunchPlan, PointerParam, ScalarParam
from ..processes.filter_blocks import OwnCalls
from ..processes.machine import memory_share
from ..processes.seccomp import compute_filter, has_seccomp
from ..protocol.layout import Arena

READABLE = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/sys/devices/system")
MEMORY_BYTES = memory_share(64 << 30)
"""Address space beyond the arena, for the variant's own allocations."""
RESERVED_BYTES = 128 << 20
"""Address space that a thread's first allocation reserves (glibc), for each core."""
OUTPUT_BYTES = 1 << 20


def setup_message(
    plan: LaunchPlan, arena: Arena, module: Path, pid: int, own: OwnCalls, answers: bool
) -> bytes:
    """The Setup message of `executor.cpp` with its parts, for the process `pid`."""
    (launch,) = plan.launches
    (kernel,) = plan.kernels
    offsets = {slot.name: slot.offset for slot in arena.slots}
    rows, holes = bytearray(), arena.holes()
    for param in launch.params:
        if isinstance(param, PointerParam):
            assert param.buffer is not None
            rows += struct.pack("<IIQQ", 1, 0, offsets[param.buffer] + param.offset, 0)
        else:
            assert isinstance(param, ScalarParam)  # host code has no tensor maps
            rows += struct.pack("<II16s", 0, 0, bytes.fromhex(param.raw))
    program = compute_filter(pid, own=own, answers=answers) if has_seccomp() else b""
    words: Sequence[str] = (str(module), kernel.entry, *READABLE, str(module))
    names = b"".join(word.encode() + b"\0" for word in words)
    header = struct.pack(
        "<QQQIIIIII",
        arena.nbytes,
        MEMORY_BYTES + RESERVED_BYTES * (os.cpu_count() or 1) + arena.nbytes,
        OUTPUT_BYTES,
        len(launch.params),
        len(holes),
        len(program),
        len(names),
        answers,
        0,
    )
    untouchable = b"".join(struct.pack("<QQ", *hole) for hole in holes)
    return header + bytes(rows) + untouchable + program + names
