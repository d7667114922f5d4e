"""Which kernels an operator was opened as: what each reads and writes, in the order they run.

It lies in the recording, beside the operators that it is of, and is read where winners of all of
them become one folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ...errors import SpecError
from ...whole_files import write_whole

OPENED = "opened-operators"


@dataclass(frozen=True, slots=True)
class Part:
    """A kernel: its spec's name, the values that it reads, and the one that it writes."""

    kernel: str
    reads: tuple[str, ...]
    writes: str


@dataclass(frozen=True, slots=True)
class Composition:
    """An operator as kernels. Values are called as in the graph of its call."""

    parts: tuple[Part, ...]
    given: Mapping[str, int]
    """numbers of its tensors by value"""
    made: tuple[str, ...]
    """its results, in order"""
    nbytes: Mapping[str, int]
    """of every value that a kernel writes"""


def write_composition(outdir: Path, label: str, found: Composition) -> Path:
    """Keep it in a recording."""
    folder = outdir / OPENED
    folder.mkdir(mode=0o700, exist_ok=True)
    return write_whole(folder / f"{label}.json", json.dumps(asdict(found), indent=1) + "\n")


def composition_of(outdir: Path, label: str) -> Composition:
    """The same again. Raises SpecError for an operator that was not opened."""
    file = outdir / OPENED / f"{label}.json"
    if not file.is_file():
        raise SpecError(
            f"{label} was not opened from this recording",
            next_step=f"kernelwright program spec RECORDING {label} --to FOLDER, then optimize it",
        )
    told = json.loads(file.read_text("utf-8"))
    parts = tuple(Part(p["kernel"], tuple(p["reads"]), p["writes"]) for p in told["parts"])
    return Composition(parts, told["given"], tuple(told["made"]), told["nbytes"])
