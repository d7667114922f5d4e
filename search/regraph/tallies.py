"""Sums over transitions, by search: all that posteriors need, and can be merged again.

The unit of provenance is one search. Two values that both hold a search hold it once after a merge
(the one that saw more of it), so importing twice counts once, and a merge of values that share no
search is what aggregation of all their transitions gives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Final, Literal

from pydantic import Field

from ...runners.model import Ending, Record, content_hash
from .labels import Label, joined, standing
from .synonyms import Synonym, synonyms
from .transition import Transition, completed

Source = Literal["rule", "skill"]
BETTER: Final = math.log2(1.01)
"""log2 gain from which a step made the kernel faster: `Settings.min_gain` by default"""
FAILED: Final = -0.3
"""log2 that a try which was not measured counts as beside others; a rule of thumb"""
MOST_AHEAD: Final = 1.0
"""log2 that one try counts as ahead or behind at most"""


class Tally(Record):
    """Sums over transitions of one kind; gains are log2 over the parent."""

    count: int = 0
    """evaluations with an ending that says something of the variant (`lost` does not)"""
    right: int = 0
    """that got as far as a measurement of their own machine code"""
    better: int = 0
    """with a gain of 1 % at least"""
    gains: int = 0
    """with a known gain"""
    total: float = 0.0
    """sum of the gains"""
    squares: float = 0.0
    """sum of their squares"""


class Cell(Record):
    """Transitions of a search that have all of this in common."""

    previous: str
    method: str
    bottleneck: str
    arch: str
    language: str
    tally: Tally


class Fired(Record):
    """Transitions of a search by one method from states on which a rule had fired, or to whose
    findings a skill belongs."""

    source: Source
    id: str
    """of the rule, or of the skill"""
    method: str
    tally: Tally


class Way(Record):
    """Transitions of a search by one method that took it the same way (`ways.py`)."""

    language: str
    method: str
    way: str
    tally: Tally
    compared: int = 0
    """of these, tries from a parent from which others were tried in the search, too"""
    ahead: float = 0.0
    """sum over those: gain less the mean gain of all that was tried from that parent, within
    `MOST_AHEAD`"""


class SearchTallies(Record):
    """What one search of one kernel adds."""

    kernel_id: str
    search_id: str
    transitions: int
    cells: tuple[Cell, ...]
    """sorted by what they have in common"""
    fired: tuple[Fired, ...] = ()
    """likewise"""
    ways: tuple[Way, ...] = ()
    """likewise"""

    @property
    def key(self) -> tuple[str, str]:
        """What it is known by, wherever it is imported."""
        return self.kernel_id, self.search_id


class ReGraph(Record):
    """What many searches learned; what `regraph.json` keeps (`file.py`)."""

    format: int = 1
    merging: bool = True
    """whether names that mean one method are counted as one; the sums keep every name"""
    merged: dict[str, Synonym] = Field(default_factory=dict[str, Synonym])
    """follows from the sums, `labels` and `merging`"""
    labels: tuple[Label, ...] = ()
    """what somebody said of names, one a name, sorted"""
    searches: tuple[SearchTallies, ...] = ()
    """sorted by kernel and search"""

    def name(self, method: str) -> str:
        """What a method is counted as."""
        found = self.merged.get(method)
        return method if found is None else found.into

    @property
    def digest(self) -> str:
        """Hash of the content; equal values have equal ones."""
        unsaid = None if self.labels else {"labels"}
        return content_hash(self.model_dump(mode="json", exclude=unsaid))


def aggregate(
    transitions: Iterable[Transition], *, merging: bool = True, labels: Iterable[Label] = ()
) -> ReGraph:
    """The sums of transitions; their order does not matter. Lost evaluations are left out,
    and steps that an earlier search of the kernel had made. `labels`: all that was said, in order.
    """
    groups = dict[tuple[str, str], list[Transition]]()
    for each in completed(transitions):
        if each.ending is not Ending.lost and not each.repeated:
            groups.setdefault((each.kernel_id, each.search_id), []).append(each)
    searches = (_of_search(*key, rows) for key, rows in groups.items())
    return _regraph(searches, merging, standing(labels))


def merge(one: ReGraph, other: ReGraph) -> ReGraph:
    """Both together. Commutative, associative, idempotent."""
    both = (*one.searches, *other.searches)
    labels = joined((*one.labels, *other.labels))
    return _regraph(both, one.merging and other.merging, labels)


def merge_all(graphs: Iterable[ReGraph]) -> ReGraph:
    """All of them together; the empty ReGraph of none."""
    return reduce(merge, graphs, ReGraph())


def as_told(graph: ReGraph, *, merging: bool) -> ReGraph:
    """The same sums, with names merged or not."""
    return _regraph(graph.searches, merging, graph.labels)


def tally(transitions: Iterable[Transition]) -> Tally:
    """The sums of transitions; exact sums, so that their order does not matter."""
    rows = list(transitions)
    gains = [row.gain for row in rows if row.right and row.gain is not None]
    return Tally(
        count=len(rows),
        right=sum(row.right for row in rows),
        better=sum(gain >= BETTER for gain in gains),
        gains=len(gains),
        total=math.fsum(gains),
        squares=math.fsum(gain * gain for gain in gains),
    )


def total(tallies: Iterable[Tally]) -> Tally:
    """Sums of sums, in the order given."""
    rows = list(tallies)
    return Tally(
        count=sum(row.count for row in rows),
        right=sum(row.right for row in rows),
        better=sum(row.better for row in rows),
        gains=sum(row.gains for row in rows),
        total=sum(row.total for row in rows),
        squares=sum(row.squares for row in rows),
    )


def _regraph(
    searches: Iterable[SearchTallies], merging: bool, labels: tuple[Label, ...]
) -> ReGraph:
    fullest = dict[tuple[str, str], SearchTallies]()
    for each in searches:
        known = fullest.get(each.key)
        if known is None or _seen(each) > _seen(known):
            fullest[each.key] = each
    ordered = tuple(fullest[key] for key in sorted(fullest))
    return ReGraph(
        merging=merging,
        merged=synonyms(tries_of(ordered), labels) if merging else {},
        labels=labels,
        searches=ordered,
    )


def _seen(search: SearchTallies) -> tuple[int, str]:
    """The one that saw more of a search comes last; equal counts are told apart somehow."""
    return search.transitions, search.model_dump_json()


def tries_of(searches: Iterable[SearchTallies]) -> Mapping[str, int]:
    """By name as it was given, how often it was tried; 0 of one that others were tried after."""
    counts = dict[str, int]()
    for search in searches:
        for cell in search.cells:
            counts[cell.method] = counts.get(cell.method, 0) + cell.tally.count
            counts.setdefault(cell.previous, 0)
    return counts


def _ahead(rows: Iterable[Transition]) -> Mapping[int, float]:
    """By the identity of a transition, how far it was ahead of the mean of its parent's; without
    those that are alone."""
    parents = dict[str, list[Transition]]()
    for row in rows:
        parents.setdefault(row.parent, []).append(row)
    found = dict[int, float]()
    for tried in parents.values():
        gains = [FAILED if r.gain is None or not r.right else r.gain for r in tried]
        mean = math.fsum(gains) / len(gains)
        if len(tried) > 1:
            for row, gain in zip(tried, gains, strict=True):
                found[id(row)] = min(max(gain - mean, -MOST_AHEAD), MOST_AHEAD)
    return found


def _way(kind: tuple[str, str, str], rows: list[Transition], ahead: Mapping[int, float]) -> Way:
    language, method, way = kind
    compared = [ahead[id(row)] for row in rows if id(row) in ahead]
    return Way(
        language=language,
        method=method,
        way=way,
        tally=tally(rows),
        compared=len(compared),
        ahead=math.fsum(compared),
    )


def _of_search(kernel_id: str, search_id: str, rows: list[Transition]) -> SearchTallies:
    cells = dict[tuple[str, str, str, str, str], list[Transition]]()
    fired = dict[tuple[Source, str, str], list[Transition]]()
    ways = dict[tuple[str, str, str], list[Transition]]()
    ahead = _ahead(rows)
    for row in rows:
        if row.way:
            ways.setdefault((row.language, row.to_method, row.way), []).append(row)
        kind = (row.from_method, row.to_method, row.bottleneck, row.arch, row.language)
        cells.setdefault(kind, []).append(row)
        for rule in row.rules:
            fired.setdefault(("rule", rule, row.to_method), []).append(row)
        for skill in {*row.rules.values()} - {""}:
            fired.setdefault(("skill", skill, row.to_method), []).append(row)
    return SearchTallies(
        kernel_id=kernel_id,
        search_id=search_id,
        transitions=len(rows),
        cells=tuple(_cell(kind, cells[kind]) for kind in sorted(cells)),
        fired=tuple(
            Fired(source=kind[0], id=kind[1], method=kind[2], tally=tally(fired[kind]))
            for kind in sorted(fired)
        ),
        ways=tuple(_way(kind, ways[kind], ahead) for kind in sorted(ways)),
    )


def _cell(kind: tuple[str, str, str, str, str], rows: list[Transition]) -> Cell:
    previous, method, bottleneck, arch, language = kind
    return Cell(
        previous=previous,
        method=method,
        bottleneck=bottleneck,
        arch=arch,
        language=language,
        tally=tally(rows),
    )
