"""A candidate as an edge keeps it: read from its record when somebody asks for it."""

from __future__ import annotations

from typing import Any

from ...runners.model import Candidate


class Proposal:
    """A candidate, or the record of one. In a large search that is resumed nobody asks for most."""

    __slots__ = ("_given",)

    def __init__(self, given: Candidate | dict[str, Any]) -> None:
        self._given = given

    @property
    def candidate(self) -> Candidate:
        """The candidate. Raises ValidationError where the record is none."""
        if isinstance(self._given, dict):
            self._given = Candidate.model_validate(self._given)
        return self._given

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Proposal) and self.candidate == other.candidate

    def __repr__(self) -> str:
        return f"Proposal({self.candidate!r})"
