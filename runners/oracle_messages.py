"""What server and oracle say to each other."""

from __future__ import annotations

from pydantic import Field

from .model import Record
from .spec import Contract


class OpenReference(Record):
    """A kernel's contract and the source of its reference; None: the baseline is the truth."""

    kernel: str
    contract: Contract
    source: str | None
    init_files: dict[str, str] = Field(default_factory=dict[str, str])


class MakePool(Record):
    """Inputs wanted for one shape: one slot a seed."""

    pool: str
    kernel: str
    label: str
    symbols: dict[str, int]
    seeds: tuple[int, ...]


class JudgeOutputs(Record):
    """Output records in a file descriptor: `places` in it and the slot each belongs to."""

    pool: str
    slots: tuple[int, ...]
    places: tuple[int, ...]
    adopt: bool = False
    """these outputs are the baseline's and become the truth where there is no reference"""
