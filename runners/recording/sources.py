"""Which source a recorded kernel came from: Triton's, by the hash of the machine code.

The Python side notes every kernel that Triton compiled or took from its cache; recorded machine
code is byte for byte what Triton wrote, so the hash also tells same-named candidates of autotuning
apart (on an H200, byte for byte in 25 of 25 kernels, with the prototype of this).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .reading import rows
from .recorded import Recording


@dataclass(frozen=True, slots=True)
class TritonSource:
    """A Triton function as it was compiled."""

    name: str
    file: str
    line: int
    text: str
    """the function with its decorators, as Triton read it"""
    constants: tuple[tuple[str, str], ...]
    """by name or by place among its parameters, as Triton tells them; the values as Python text"""
    names: tuple[str, ...] = ()
    """of all its parameters, in order"""
    signature: tuple[tuple[str, str], ...] = ()
    """type of each as Triton writes it: `*fp32`, `i32`, `constexpr`"""
    num_warps: int = 0
    num_stages: int = 0
    num_ctas: int = 1

    @property
    def constant_values(self) -> dict[str, str]:
        """The constants by name."""
        places = {f"({place},)": name for place, name in enumerate(self.names)}
        return {places.get(key, key): value for key, value in self.constants}


def triton_sources(recording: Recording) -> dict[str, TritonSource]:
    """Sources by the file of the machine code in `images/`; none for code that is not Triton's."""
    noted = _noted(recording.folder)
    found = dict[str, TritonSource]()
    for name in {f.image for f in recording.functions if f.image} if noted else ():
        source = _found(noted, recording.folder / "images" / name)
        if source is not None:
            found[name] = source
    return found


def triton_source_of(image: Path, process: Path) -> TritonSource | None:
    """The source of one image, by what a process's recording notes; None: it is not Triton's."""
    return _found(_noted(process), image)


def _noted(process: Path) -> dict[str, Mapping[str, Any]]:
    return {
        str(row["cubin_sha256"]): row for row in rows(process / "triton.jsonl") if row.get("file")
    }


def _found(noted: Mapping[str, Mapping[str, Any]], image: Path) -> TritonSource | None:
    row = noted.get(hashlib.sha256(image.read_bytes()).hexdigest()) if noted else None
    if row is None:
        return None
    return TritonSource(
        name=str(row["name"]),
        file=str(row["file"]),
        line=int(row["line"] or 0),
        text=str(row.get("source") or ""),
        constants=_pairs(row.get("constants")),
        names=tuple(map(str, row.get("arg_names") or ())),
        signature=_pairs(row.get("signature")),
        num_warps=int(row.get("num_warps") or 0),
        num_stages=int(row.get("num_stages") or 0),
        num_ctas=int(row.get("num_ctas") or 1),
    )


def _pairs(given: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    return tuple((str(key), str(value)) for key, value in (given or {}).items())
