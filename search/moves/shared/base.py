"""What a move is: it looks at a state of the kernel and proposes, or says why it does not."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....runners.errors import ExpressionError
from ....runners.languages import KernelType, Language, language_of
from ....runners.model import BuildOptions, Candidate
from ....runners.specs.expressions import evaluate
from ....runners.specs.spec import KernelSpec

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class State:
    """A kernel as a node of the search has it: all that a candidate can change, and the spec."""

    kernel_type: KernelType
    source: str
    parameters: Mapping[str, int]
    options: BuildOptions
    spec: KernelSpec
    plan: Mapping[str, Any] | None = None
    found: frozenset[str] = frozenset()
    """parameters of the spec that the toolchain found: without a value, the source's own counts"""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """texts of `kernel.files`, by their names; no candidate changes them"""

    @property
    def language(self) -> Language:
        """What it is written in."""
        return language_of(self.kernel_type)

    @property
    def chosen(self) -> dict[str, int]:
        """As `assignment`, without found parameters that nobody has set."""
        now, found = self.assignment, self.found
        return {n: v for n, v in now.items() if n not in found or n in self.parameters}

    @property
    def assignment(self) -> dict[str, int]:
        """The value of every declared parameter, the spec's default where none was set."""
        return {n: self.parameters.get(n, p.start) for n, p in self.spec.parameters.items()}


@dataclass(frozen=True)
class NotApplicable:
    """Why a move has nothing to propose in a state, for the reader."""

    reason: str


@dataclass(frozen=True)
class MoveFault(NotApplicable):
    """A move fell over a source: its own fault, which neither ends a search nor goes unsaid."""


Proposals = tuple[Candidate, ...] | NotApplicable


@dataclass(frozen=True)
class Move:
    """A rule that writes candidates of one method. `why`: what it does, and when it pays.

    `write` gives whole sources or parameter values (a diff is for clients, who type), and never
    what would change nothing. A candidate's `detail` says what it changed, where and how, in words
    that no other candidate of the move has; of its own result a move never proposes the same again.
    A source that does not parse is no error: the move says so (`NotApplicable`). Comments of the
    source stay, so does the name of its entry, and no two candidates have the same source. The
    place of a move in its language's `MOVES` breaks ties of priors, and nothing else.

    A candidate's `prior` is relative to all others of a node: about 0.3 for a rewrite that often
    pays, 0.2 for a parameter's nearest value, 0.05 to 0.25 for a compiler flag. Rewrites come
    first, as they change which values are the best. Arguments of one call never overlap: an array
    that is read and written is one `inout`.
    """

    id: str
    """as its file is called"""
    method: str
    """of the catalogue (`methods.py`); the `method` of its candidates"""
    languages: tuple[KernelType, ...]
    why: str
    write: Callable[[State], Proposals]

    def propose(self, state: State) -> Proposals:
        """Ready-made candidates for the state, or the reason why there are none."""
        if state.kernel_type not in self.languages:
            return NotApplicable(f"for {' and '.join(self.languages)}, not {state.kernel_type}")
        try:
            return self.write(state)
        except RecursionError:
            return NotApplicable("an expression of the source is nested too deeply to be read")
        except Exception as fault:
            logger.warning("move %s fell over a source", self.id, exc_info=True)
            told = f"{type(fault).__name__}: {fault}"[:200]
            return MoveFault(
                f"a fault of this move, not of the source ({told}); the other moves go on; please "
                "report it with the source"
            )


def broken_constraints(spec: KernelSpec, assignment: Mapping[str, int]) -> tuple[str, ...]:
    """The spec's constraints that a full assignment of its parameters does not meet.

    A constraint without a value (a division by zero) is not met.
    """
    return tuple(c for c in spec.constraints if not _met(c, assignment))


def _met(constraint: str, assignment: Mapping[str, int]) -> bool:
    try:
        return bool(evaluate(constraint, assignment))
    except ExpressionError:
        return False
