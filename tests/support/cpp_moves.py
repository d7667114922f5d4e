"""What a move for host C++ answered, in the form that a test asks for."""

from __future__ import annotations

from kernelwright.runners.model import Candidate
from kernelwright.search.moves import NotApplicable


def proposed(result: tuple[Candidate, ...] | NotApplicable) -> tuple[Candidate, ...]:
    assert not isinstance(result, NotApplicable), result.reason
    return result


def sources(candidates: tuple[Candidate, ...]) -> list[str]:
    return [c.source for c in candidates if c.source is not None]


def reason(result: tuple[Candidate, ...] | NotApplicable) -> str:
    assert isinstance(result, NotApplicable)
    return result.reason


def first(result: tuple[Candidate, ...] | NotApplicable) -> str:
    return sources(proposed(result))[0]
