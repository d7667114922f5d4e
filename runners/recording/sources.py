"""Which source a recorded kernel came from: Triton's, by the hash of the machine code.

The Python side notes every kernel that Triton compiled or took from its cache; recorded machine
code is byte for byte what Triton wrote, so the hash also tells same-named candidates of autotuning
apart (on an H200, byte for byte in 25 of 25 kernels, with the prototype of this).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from .reading import rows
from .recorded import Recording


@dataclass(frozen=True, slots=True)
class TritonSource:
    """A Triton function as it was compiled."""

    file: str
    line: int
    text: str
    constants: tuple[tuple[str, str], ...]
    """by name or by place among its parameters, as Triton tells them"""
    num_warps: int


def triton_sources(recording: Recording) -> dict[str, TritonSource]:
    """Sources by the file of the machine code in `images/`; none for code that is not Triton's."""
    noted = {
        str(row["cubin_sha256"]): row
        for row in rows(recording.folder / "triton.jsonl")
        if row.get("file")
    }
    if not noted:
        return {}
    found = dict[str, TritonSource]()
    for name in {f.image for f in recording.functions if f.image}:
        image = (recording.folder / "images" / name).read_bytes()
        row = noted.get(hashlib.sha256(image).hexdigest())
        if row is not None:
            found[name] = TritonSource(
                file=str(row["file"]),
                line=int(row["line"] or 0),
                text=str(row.get("source") or ""),
                constants=tuple((str(k), str(v)) for k, v in row.get("constants", {}).items()),
                num_warps=int(row.get("num_warps") or 0),
            )
    return found
