"""What was learned on kernels of one language, as far as it says something for another."""

from __future__ import annotations

from collections.abc import Iterable

from ...runners.languages import LANGUAGES
from ..moves import CANONICAL
from .report import Line
from .tallies import Cell, ReGraph


def learned_for(graph: ReGraph, language: str) -> ReGraph:
    """Without searches of kernels of the other side: a method of host code and one of a GPU may
    share a name, and share nothing else. Searches of languages that are not known stay."""
    kept = tuple(s for s in graph.searches if not any(_other_side(c, language) for c in s.cells))
    return (
        graph if len(kept) == len(graph.searches) else graph.model_copy(update={"searches": kept})
    )


def _other_side(cell: Cell, language: str) -> bool:
    here, there = LANGUAGES.get(language), LANGUAGES.get(cell.language)
    return here is not None and there is not None and here.on_gpu != there.on_gpu


def can_be_done(method: str, language: str) -> bool:
    """Whether the catalogue has the method for a language; one that it does not know may be."""
    known = CANONICAL.get(method)
    return known is None or language in known.languages


def offered(lines: Iterable[Line], language: str) -> list[Line]:
    """Steps whose method can be done in a language."""
    return [line for line in lines if can_be_done(line.method, language)]
