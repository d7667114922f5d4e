"""What an executor is told before it loads a variant: its limits, parameters and guards."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..plans.plan import LaunchPlan, PointerParam, ScalarParam
from ..processes.filter_blocks import OwnCalls
from ..processes.machine import memory_share
from ..processes.seccomp import compute_filter, has_seccomp, loaded_filter
from ..protocol.layout import Arena
from .cores import may_start_threads

READABLE = (
    *("/usr", "/lib", "/lib64", "/etc/ld.so.cache"),
    *(f"/sys/devices/system/cpu/{name}" for name in ("online", "possible", "present")),
    *(f"/sys/devices/system/node/{name}" for name in ("online", "possible")),
)
"""Of what the system tells of its devices how many processors there are, and no counter of what
they did: that is a clock."""
PLACES = frozenset({"OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY"})
"""variables for which an OpenMP library asks which processors lie together"""
TOGETHER = ("cpu/cpu*/topology", "cpu/cpu*/cache", "node/node*/cpulist", "node/node*/distance")
MEMORY_BYTES = memory_share(64 << 30)
"""Address space beyond the arena, for the variant's own allocations."""
RESERVED_BYTES = 128 << 20
"""Address space that a thread's first allocation reserves (glibc), for each core."""
OUTPUT_BYTES = 1 << 20


def setup_message(
    plan: LaunchPlan,
    arena: Arena,
    module: Path,
    pid: int,
    own: OwnCalls,
    answers: bool,
    environment: Mapping[str, str],
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
    program, loaded = b"", b""
    if has_seccomp():
        stays = not may_start_threads(module)
        program = compute_filter(pid, own=own, answers=answers, stays=stays)
        loaded = b"" if answers else loaded_filter()
    words: Sequence[str] = (str(module), kernel.entry, *readable(environment), str(module))
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
        len(loaded),
    )
    untouchable = b"".join(struct.pack("<QQ", *hole) for hole in holes)
    return header + bytes(rows) + untouchable + program + loaded + names


def readable(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Files and folders that the variant may read under these variables, beside its own code."""
    if not PLACES & environment.keys():
        return READABLE
    found = (each for name in TOGETHER for each in Path("/sys/devices/system").glob(name))
    return (*READABLE, *map(str, found))
