"""What a headless run tells while it goes on: one value an event."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...analysis.worth import Worth
from ...runners.errors import KernelwrightError
from ...store.records import Confirmation, KernelRecord
from ..stored.records import SearchRecord, SearchStatus, StepReport
from .exchanges import Spent


@dataclass(frozen=True, slots=True)
class Opening:
    """A spec is read; its baseline is built, checked and timed next."""

    path: Path
    """of the spec; of the source where the spec is no file"""


@dataclass(frozen=True, slots=True)
class Opened:
    """A kernel is open. `known`: from an earlier run, nothing was built or timed."""

    kernel: KernelRecord
    known: bool
    facts: tuple[str, ...] = ()
    """of a GPU kernel: what its compiler told of the baseline, in lines"""


@dataclass(frozen=True, slots=True)
class Turn:
    """Of several kernels that are open, the one that is searched next."""

    kernel: KernelRecord
    worth: Worth


@dataclass(frozen=True, slots=True)
class Began:
    """A search was started, resumed, or found finished."""

    search: SearchRecord
    resumed: bool
    anew: bool = False
    """it was to be resumed, and there was none"""


@dataclass(frozen=True, slots=True)
class Answered:
    """Whoever plans has answered a question of the search."""

    candidates: int
    spent: Spent
    """so far, by all calls of the search"""
    notes: tuple[str, ...] = ()
    """what was made of them: a diff that was used in place of a source, and what was dropped"""


@dataclass(frozen=True, slots=True)
class Confirming:
    """The winner goes through its gates next."""

    kernel: KernelRecord
    variant_id: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A kernel's result. `confirmation` is None when nothing is better than the baseline."""

    kernel: KernelRecord
    status: SearchStatus
    confirmation: Confirmation | None
    folder: Path
    reaches: str
    """how near to the machine's measured limits the winner (else the baseline) is, in words"""

    @property
    def improved(self) -> bool:
        """Whether a variant faster than the baseline was confirmed."""
        return self.confirmation is not None and self.confirmation.accepted


@dataclass(frozen=True, slots=True)
class Failed:
    """A spec came to nothing; the others go on."""

    path: Path
    error: KernelwrightError


Event = Opening | Opened | Turn | Began | Answered | StepReport | Confirming | Finished | Failed
