"""What server and oracle say to each other."""

from __future__ import annotations

from pydantic import Field

from ..model import Record
from ..specs.io_contract import Contract, StressKind


class OracleSettings(Record):
    """What an oracle process may read, and the GPU it works on."""

    readable: tuple[str, ...] = ()
    gpu: str = ""
    """the name of the one GPU that CUDA shows it; empty: it works on the host"""
    registry: str = ""
    """where processes of ours on GPUs are noted (`device/registry.py`); with a GPU alone"""
    private: str = ""
    """a folder of its own for caches; with a GPU alone"""
    kept_bytes: int
    """memory for expected values, which are worked out anew when they were let go"""


class OpenReference(Record):
    """A kernel's contract and the source of its reference; None: the baseline is the truth."""

    kernel: str
    contract: Contract
    source: str | None
    init_files: dict[str, str] = Field(default_factory=dict[str, str])


class MakePool(Record):
    """Inputs wanted for one shape: one slot a seed.

    With a descriptor they are not made but taken from it: an oracle before this one made them.
    """

    pool: str
    kernel: str
    label: str
    symbols: dict[str, int]
    seeds: tuple[int, ...]
    kinds: tuple[StressKind | None, ...] = ()
    """stress values in place of usual ones, by slot; slots beyond its end have usual ones"""


class Foresee(Record):
    """Seeds whose expected values will be wanted."""

    pool: str
    slots: tuple[int, ...]


class JudgeOutputs(Record):
    """Output records in a file descriptor: `places` in it and the slot each belongs to."""

    pool: str
    slots: tuple[int, ...]
    places: tuple[int, ...]
    adopt: bool = False
    """these outputs are the baseline's and become the truth where there is no reference"""


class OutputVerdict(Record):
    """What the comparison of one output found; errors are scaled, dimensionless."""

    name: str
    right: bool
    largest: float
    allowed: float
    rms: float
    worst_index: tuple[int, ...] | None
    worst_value: str
    expected_value: str
    message: str
