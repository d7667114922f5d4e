"""What somebody said that a free-text name of a method means; a log, so that each word of it can be
taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from ...runners.model import Record

By = Literal["hand", "model"]


class Label(Record):
    """One word on one name. Names that nobody spoke of are told apart by rules (`synonyms.py`)."""

    name: str
    into: str
    """the method that it means; the name itself: one of its own, which nothing merges; empty: what
    was said last of it is taken back"""
    by: By
    reason: str = ""
    time: str = ""
    """UTC, ISO 8601"""


def standing(log: Iterable[Label]) -> tuple[Label, ...]:
    """What is in force, by name: the last word on each that was not taken back. A model's word does
    not go over one by hand."""
    said = dict[str, list[Label]]()
    for each in log:
        words = said.setdefault(each.name, [])
        if not each.into:
            del words[-1:]
        elif not (each.by == "model" and words and words[-1].by == "hand"):
            words.append(each)
    return tuple(words[-1] for _, words in sorted(said.items()) if words)


def joined(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Those of several graphs, one a name: by hand before a model's, the newest first. In any order
    and any grouping the same."""
    best = dict[str, Label]()
    for each in labels:
        known = best.get(each.name)
        if known is None or _rank(each) > _rank(known):
            best[each.name] = each
    return tuple(best[name] for name in sorted(best))


def targets(labels: Sequence[Label]) -> Mapping[str, Label]:
    """By name, the label that says what it is counted as, through names that mean further ones; a
    circle stands where it closes."""
    into = {each.name: each for each in labels}
    return {name: _followed(label, into) for name, label in into.items()}


def _followed(label: Label, into: Mapping[str, Label]) -> Label:
    seen, last = {label.name}, label
    while last.into not in seen and last.into in into:
        seen.add(last.into)
        last = into[last.into]
    return label if last is label else label.model_copy(update={"into": last.into})


def _rank(label: Label) -> tuple[bool, str, str, str]:
    return label.by == "hand", label.time, label.into, label.reason
