"""From a plan and the addresses of its buffers to raw bytes and memsets; pure.

Everything is resolved before the clock starts: parameters as the driver copies them, const
buffers with addresses in them, fills as the fewest memsets.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from ...plans.plan import Fill, Launch, Param, PlanBuffer, PlanKernel, PointerParam, TensorMapParam
from .driver import Memset
from .launches import CLUSTER, CLUSTER_POLICY, COOPERATIVE, PROGRAMMATIC, Attribute

Addresses = Mapping[str, int]
"""Where each buffer of a plan begins."""
Encoder = Callable[[TensorMapParam, int], bytes]
"""From a tensor map and the address of its first element to its 128 bytes."""

SPREAD = 1
"""CU_CLUSTER_SCHEDULING_POLICY_SPREAD, which Triton asks for"""


def pack_params(launch: Launch, addresses: Addresses, encode: Encoder) -> tuple[bytes, ...]:
    """The parameters of a launch, each as the bytes that the kernel sees."""
    return tuple(_pack(param, addresses, encode) for param in launch.params)


def _pack(param: Param, addresses: Addresses, encode: Encoder) -> bytes:
    if isinstance(param, PointerParam):
        at = 0 if param.buffer is None else addresses[param.buffer] + param.offset
        return struct.pack("<Q", at)
    if isinstance(param, TensorMapParam):
        return encode(param, addresses[param.buffer] + param.offset)
    return bytes.fromhex(param.raw)


def relocated(buffer: PlanBuffer, content: bytes, addresses: Addresses) -> bytes:
    """The content of a const buffer with the addresses that belong in it."""
    data = bytearray(content)
    for pointer in buffer.pointers:
        struct.pack_into("<Q", data, pointer.at, addresses[pointer.buffer] + pointer.offset)
    return bytes(data)


def attributes(kernel: PlanKernel) -> tuple[Attribute, ...]:
    """Launch attributes in the order in which Triton's launcher sets them."""
    found = list[Attribute]()
    if kernel.pdl:
        found.append((PROGRAMMATIC, (1,)))
    if kernel.cooperative:
        found.append((COOPERATIVE, (1,)))
    if kernel.cluster is not None:
        found += [(CLUSTER, kernel.cluster), (CLUSTER_POLICY, (SPREAD,))]
    return tuple(found)


def memsets(fill: Fill, addresses: Addresses) -> tuple[Memset, ...]:
    """A fill as memsets: one where the pattern repeats in words the address is aligned to."""
    start, pattern = addresses[fill.fill] + fill.offset, bytes.fromhex(fill.pattern)
    for width in (1, 2, 4):
        word = pattern[:width] if len(pattern) >= width else pattern * (width // len(pattern))
        repeats = len(word) == width and _repeats(pattern, word)
        if repeats and start % width == 0 and fill.nbytes % width == 0:
            value = int.from_bytes(word, "little")
            return (Memset(start, width, value, fill.nbytes // width, width),)
    count, pitch = fill.nbytes // len(pattern), len(pattern)
    width = next(w for w in (4, 2, 1) if start % w == 0 and pitch % w == 0)
    return tuple(
        Memset(start + at, width, int.from_bytes(pattern[at : at + width], "little"), count, pitch)
        for at in range(0, pitch, width)
    )


def _repeats(pattern: bytes, word: bytes) -> bool:
    return len(pattern) % len(word) == 0 and word * (len(pattern) // len(word)) == pattern
