"""What a search tells while it evaluates: the configurations of a sweep, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...runners import progress
from ...runners.model import Candidate, Evaluation
from ...runners.wording import speedup_text
from .candidate_result import CandidateResult

MOST_SAID = 80
"""characters of a failure's first line; all of it is in the evaluation"""


@dataclass
class SweepReport:
    """One sweep. `space`: configurations to choose from. `left`: builds that it may still spend.

    What was known before is neither counted nor told: it takes no time.
    """

    candidate: Candidate
    """with its knobs"""
    space: int
    left: int
    number: int = 0
    """of configurations evaluated so far"""
    known: int = 0
    best: Evaluation | None = None

    def coming(self, batch: Sequence[Candidate]) -> str:
        """What is evaluated next: `configuration 7 of 12: TILE=64 UNROLL=4`."""
        first, last = self.number + 1, self.number + len(batch)
        if len(batch) == 1:
            return f"configuration {first} of {self._most}: {self._values(batch[0])}"
        return f"configurations {first} to {last} of {self._most}"

    def ended(self, candidate: Candidate, tried: CandidateResult) -> None:
        """Tell how a configuration ended, and the best so far."""
        evaluation = tried.evaluation
        if evaluation.speedup is not None:
            before = evaluation if self.best is None else self.best
            self.best = max(before, evaluation, key=surely)
        if tried.known:
            self.known += 1
            return
        self.number += 1
        self.left -= tried.builds
        progress.found(
            f"configuration {self.number} of {self._most}: {self._values(candidate)}: "
            f"{_ending(evaluation)}{self._standing(evaluation)}"
        )

    @property
    def _most(self) -> int:
        """How many will be evaluated, at most."""
        return min(self.space - self.known, self.number + self.left)

    def _values(self, candidate: Candidate) -> str:
        return candidate.detail.removeprefix(f"{self.candidate.detail}: ")

    def _standing(self, newest: Evaluation) -> str:
        if self.best is None:
            return ""
        if self.best is newest:
            return ", the best so far"
        return f"; best so far {speedup_text(self.best.speedup, None)}"


def surely(evaluation: Evaluation) -> float:
    """The speedup over the baseline that it has at least."""
    return (evaluation.speedup or 0.0) if evaluation.interval is None else evaluation.interval[0]


def _ending(evaluation: Evaluation) -> str:
    if evaluation.speedup is None:
        why = (evaluation.message.splitlines() or [""])[0][:MOST_SAID]
        return f"{evaluation.ending}, {why}" if why else str(evaluation.ending)
    factor = f"{evaluation.speedup:.3g}x the baseline"
    if evaluation.interval is None:
        return factor
    low, high = evaluation.interval
    return f"{factor} ({low:.3g} to {high:.3g}, {evaluation.ending})"
