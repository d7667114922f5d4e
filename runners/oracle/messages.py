"""What the server and the two processes of the oracle say to each other."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ..errors import AccessError, KernelwrightError, ReferenceFailed, SpecError
from ..model import Record
from ..specs.io_contract import Contract, StressKind

_ERRORS = {e.__name__: e for e in (ReferenceFailed, SpecError, AccessError)}


class OracleSettings(Record):
    """What a process of the oracle may read, and the GPU it works on."""

    readable: tuple[str, ...] = ()
    gpu: str = ""
    """the name of the one GPU that CUDA shows it; empty: it works on the host"""
    registry: str = ""
    """where processes of ours on GPUs are noted (`device/registry.py`); with a GPU alone"""
    private: str = ""
    """a folder of its own for caches; with a GPU alone"""
    kept_bytes: int = 0
    """memory of the judge for expected values, which are worked out anew when they were let go"""


class OpenReference(Record):
    """A kernel's contract and the source of its reference; None: the baseline is the truth.

    The judge reads of the source which library it wants, and never runs it.
    """

    kernel: str
    contract: Contract
    source: str | None
    lifted: str | None = None
    """where the baseline is the truth: the source of a reference that was read from it"""
    init_files: dict[str, str] = Field(default_factory=dict[str, str])

    @property
    def computed(self) -> bool:
        """Whether the reference's process has something to compute."""
        return self.source is not None or self.lifted is not None


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
    public: bool = False
    """its seeds are no secret: verdicts may tell values"""


class Slots(Record):
    """Some seeds of a pool."""

    pool: str
    slots: tuple[int, ...]


class Compute(Record):
    """Expected values wanted of the reference on one seed: the pool's inputs and memory for the
    outputs (`truths.py`) come in descriptors beside the message."""

    pool: MakePool
    slot: int


class TimeReference(Record):
    """How long the reference takes on one seed of a pool, whose inputs come in a descriptor beside
    the message; calls are repeated for so many seconds."""

    pool: MakePool
    slot: int
    seconds: float


class JudgeOutputs(Record):
    """Output records in a file descriptor: `places` in it and the slot each belongs to."""

    pool: str
    slots: tuple[int, ...]
    places: tuple[int, ...]
    adopt: bool = False
    """these outputs are the baseline's and become the truth where there is no reference"""

    def of_slot(self, slot: int) -> JudgeOutputs:
        """The records of one seed alone."""
        here = [place for s, place in zip(self.slots, self.places, strict=True) if s == slot]
        return self.model_copy(update={"slots": (slot,) * len(here), "places": tuple(here)})


class OutputVerdict(Record):
    """What the comparison of one output found; errors are scaled, dimensionless.

    Of a secret seed it tells place, values and words to nobody (`secret`): a candidate that knows
    how far it is off, or where, is told what is expected there in a few tries.
    """

    name: str
    right: bool
    largest: float
    allowed: float
    rms: float
    worst_index: tuple[int, ...] | None
    worst_value: str
    expected_value: str
    message: str
    finite: bool = True
    """whether all that is expected is"""

    def secret(self) -> OutputVerdict:
        """What may be known of an output on a secret seed: whether it is right. Its errors are for
        gates to compare and are not told."""
        told = "" if self.right else "wrong"
        hidden = {"worst_index": None, "worst_value": "", "expected_value": "", "message": told}
        return self.model_copy(update=hidden)


def told_of(error: KernelwrightError, *, spent: bool) -> dict[str, Any]:
    """The answer of a process that cannot do what it was asked. `spent`: its GPU no longer works
    for it."""
    told = {
        "kind": type(error).__name__,
        "message": error.message,
        "valid": error.valid,
        "next_step": error.next_step,
    }
    return {"error": told, "spent": spent}


def refusal_in(answer: dict[str, Any]) -> KernelwrightError | None:
    """What `told_of` put into an answer; None: it is none of a refusal."""
    told = answer.get("error")
    if told is None:
        return None
    kind: type[KernelwrightError] = _ERRORS.get(told["kind"], ReferenceFailed)
    return kind(told["message"], valid=told["valid"], next_step=told["next_step"])
