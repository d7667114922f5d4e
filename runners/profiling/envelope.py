"""Whether a `.ncu-rep` file is whole, and which version of ncu wrote it; pure.

NVIDIA's own reader gives launches without name and metrics for a file that was cut off, and reads
any other file as one without launches. The outer form tells: the word NVR, a file header, then
blocks, each a length (4 bytes, little endian), a header of that many bytes and a payload. Headers
are messages of protobuf; NVIDIA ships their descriptions with Nsight Compute (extras/FileFormat).
Field 5 of a block's header is the size of its payload.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAGIC = b"NVR\0"
PAYLOAD_SIZE = 5
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
VERSION = re.compile(rb"(\d{4}\.\d+\.\d+)(?:\.\d+)? \(build \d+\)")


@dataclass(frozen=True)
class Envelope:
    """`damage`: why the file is not a whole report, in words; empty when it is."""

    damage: str = ""
    version: str = ""
    """of the ncu that wrote it, "2025.3.1"; empty: not said"""


def read_envelope(content: bytes) -> Envelope:
    """Never raises: a file of any kind has an envelope, perhaps a damaged one."""
    if not content:
        return Envelope(damage="it is empty")
    if not content.startswith(MAGIC):
        return Envelope(damage="it does not begin as a report of Nsight Compute does")
    version = ""
    try:
        at = len(MAGIC)
        header, at = _sized(content, at)
        while at < len(content):
            header, at = _sized(content, at)
            found = VERSION.search(header)
            version = version or (found[1].decode() if found else "")
            at += _payload_size(header)
    except (IndexError, ValueError):
        return Envelope("it is cut off or damaged", version)
    return Envelope("it is cut off" if at > len(content) else "", version)


def release(version: str) -> tuple[int, int] | None:
    """(2025, 3) of "2025.3.1"; None of what is no version."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else None


def _sized(content: bytes, at: int) -> tuple[bytes, int]:
    if at + 4 > len(content):
        raise IndexError(at)
    end = at + 4 + int.from_bytes(content[at : at + 4], "little")
    if end > len(content):
        raise IndexError(end)
    return content[at + 4 : end], end


def _payload_size(header: bytes) -> int:
    at, size = 0, 0
    while at < len(header):
        key, at = _varint(header, at)
        kind = key & 7
        if kind == VARINT:
            value, at = _varint(header, at)
            size = value if key >> 3 == PAYLOAD_SIZE else size
        elif kind == BYTES:
            length, at = _varint(header, at)
            at += length
        elif kind in (FIXED32, FIXED64):
            at += 4 if kind == FIXED32 else 8
        else:
            raise ValueError(f"wire type {kind}")
    return size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
