"""A ReGraph for readers: lines of a table, and `global_tactic_graph.json`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ...runners.model import Record
from .posterior import ORDER, Measured, Posterior, Posteriors
from .synonyms import Synonym
from .tallies import Source
from .transition import BASELINE


class Line(Record):
    """One method, one step from a method to another, or one rule: what was counted, what to expect.

    Gains are log2 over the parent."""

    previous: str = ""
    method: str = ""
    bottleneck: str = ""
    arch: str = ""
    language: str = ""
    count: int
    right: int
    better: int
    """with a gain of 1 % at least"""
    mean: float
    """of the posterior"""
    error: float
    """standard deviation of the mean"""
    success: float
    """probability of being right, of the posterior"""
    expected: float
    """log2 that one more try is expected to add to the best"""
    kernels: dict[str, int]
    """provenance: transitions by kernel"""

    @property
    def gain(self) -> str:
        """The mean gain and its 95 % interval as speedups: `1.08x (1.02 to 1.14)`."""
        low, high = self.mean - 1.96 * self.error, self.mean + 1.96 * self.error
        return f"{2**self.mean:.3g}x ({2**low:.3g} to {2**high:.3g})"

    @property
    def failed(self) -> str:
        """What part failed: `8 %`."""
        return f"{100 * (1 - self.right / self.count):.0f} %" if self.count else ""

    def describe(self) -> str:
        """In a few words: `1.08x (1.02 to 1.14) a try in 12 tries on 3 kernels, 8 % failed`."""
        kernels = f"{len(self.kernels)} kernel{'s' * (len(self.kernels) != 1)}"
        tries = f"{self.count} {'try' if self.count == 1 else 'tries'}"
        return f"{self.gain} in {tries} on {kernels}, {self.failed} failed"


def nodes(known: Posteriors) -> tuple[Line, ...]:
    """A line a method."""
    return tuple(_at(known, place) for place in known.places("method"))


def edges(known: Posteriors) -> tuple[Line, ...]:
    """A line a step from one method to another."""
    return tuple(_at(known, place) for place in known.places("method", "previous"))


def by_machine(known: Posteriors) -> tuple[Line, ...]:
    """A line a method, language and architecture."""
    return tuple(_at(known, place) for place in known.places("method", "language", "arch"))


def places(known: Posteriors) -> tuple[Line, ...]:
    """A line a step, class of bottleneck, architecture and language."""
    return tuple(_at(known, place) for place in known.places(*ORDER))


def brought(known: Posteriors, source: Source) -> dict[str, Line]:
    """By rule, or by skill: what the methods that it asks for brought where it had fired; those
    that nobody followed are left out."""
    found = {each: _line(*known.brought(source, each)) for each in known.fired(source)}
    return {each: line for each, line in found.items() if line.count}


def by_gain(lines: Iterable[Line]) -> list[Line]:
    """The most promising first."""
    return sorted(lines, key=lambda each: -each.expected)


def by_count(lines: Iterable[Line]) -> list[Line]:
    """The most often tried first."""
    return sorted(lines, key=lambda each: -each.count)


class TacticGraph(Record):
    """`global_tactic_graph.json`: what paid after what, with counts, posteriors and provenance."""

    version: Literal[1] = 1
    digest: str
    """of the sums that it follows from"""
    kernels: tuple[str, ...]
    searches: int
    merged: dict[str, Synonym]
    """names that are counted as another"""
    nodes: tuple[Line, ...]
    """a method each"""
    edges: tuple[Line, ...]
    """a step each, from `previous` to `method`"""
    places: tuple[Line, ...]
    """a step, class of bottleneck, architecture and language each"""
    rules: dict[str, Line]
    """what following each rule brought"""
    skills: dict[str, Line]


def tactic_graph(known: Posteriors) -> TacticGraph:
    """The content of `global_tactic_graph.json`."""
    return TacticGraph(
        digest=known.regraph.digest,
        kernels=tuple(sorted({each.kernel_id for each in known.regraph.searches})),
        searches=len(known.regraph.searches),
        merged=dict(known.regraph.merged),
        nodes=nodes(known),
        edges=edges(known),
        places=places(known),
        rules=brought(known, "rule"),
        skills=brought(known, "skill"),
    )


def step(line: Line) -> str:
    """`after tune_parameters: compiler_flags`; a method alone where no other is named."""
    if not line.previous:
        return line.method
    before = "at first" if line.previous == BASELINE else f"after {line.previous}"
    return f"{before}: {line.method}"


def _at(known: Posteriors, place: dict[str, str]) -> Line:
    return _line(known.expect(**place), known.measured(**place), **place)


def _line(posterior: Posterior, measured: Measured, **place: str) -> Line:
    return Line(
        **place,
        count=measured.tally.count,
        right=measured.tally.right,
        better=measured.tally.better,
        mean=posterior.mean,
        error=posterior.error,
        success=posterior.right,
        expected=posterior.expected,
        kernels=dict(measured.kernels),
    )
