"""What names of methods mean in a store: listed, said, and taken back."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from ...runners.errors import SpecError
from ...runners.model import Record
from ...store.lessons import append_label
from ...store.records import now
from ..moves import CANONICAL, canonical_method
from ..regraph.labels import Label
from ..regraph.tallies import ReGraph, tries_of

if TYPE_CHECKING:
    from ...store.store import Store


class Name(Record):
    """A free-text name that was tried."""

    name: str
    counted_as: str
    """the method that it means; the name itself: one of its own"""
    tries: int
    said_by: Literal["rules", "hand", "model"]
    reason: str = ""


def names_of(graph: ReGraph) -> tuple[Name, ...]:
    """Every name outside the catalogue, the most often tried first."""
    said = {label.name: label for label in graph.labels}
    tries = tries_of(graph.searches)
    return tuple(
        _name(graph, name, tries[name], said.get(name))
        for name in sorted(tries, key=lambda each: (-tries[each], each))
        if name not in CANONICAL and name != "baseline"
    )


def say(store: Store, labels: Iterable[Label]) -> None:
    """Keep words on names; searches that begin later go by them."""
    with store.transaction() as writer:
        for each in labels:
            append_label(writer, each)


def said_by_hand(graph: ReGraph, name: str, into: str, reason: str = "") -> Label:
    """The label by which a name counts as a method, or as one of its own (`into` is the name). A
    method that nobody tried is one of the catalogue. Raises SpecError with those that there are."""
    name = _tried(graph, name)
    method = name if into == name else _known(graph, canonical_method(into))
    return Label(name=name, into=method, by="hand", reason=reason, time=now())


def taken_back(graph: ReGraph, name: str) -> Label:
    """The word by which the last one on a name is taken back. Raises SpecError where there is
    none."""
    if name not in {label.name for label in graph.labels}:
        told = ", ".join(label.name for label in graph.labels)
        raise SpecError(f"nothing was said of `{name}`", valid=told or "no name so far")
    return Label(name=name, into="", by="hand", time=now())


def _name(graph: ReGraph, name: str, tries: int, label: Label | None) -> Name:
    merged = graph.merged.get(name)
    return Name(
        name=name,
        counted_as=graph.name(name),
        tries=tries,
        said_by="rules" if label is None else label.by,
        reason=merged.reason if merged else "" if label is None else label.reason,
    )


def _tried(graph: ReGraph, name: str) -> str:
    known = [each.name for each in names_of(graph)]
    if name in CANONICAL:
        raise SpecError(
            f"`{name}` is a method of the catalogue and means itself",
            valid=f"a name outside of it that was tried: {_some(known)}",
        )
    if name not in known:
        raise _unknown(name, known)
    return name


def _known(graph: ReGraph, method: str) -> str:
    known = [*CANONICAL, *(each.name for each in names_of(graph))]
    if method not in known:
        raise _unknown(method, known)
    return method


def _unknown(name: str, known: list[str]) -> SpecError:
    near = difflib.get_close_matches(name, known, n=5, cutoff=0.5)
    return SpecError(
        f"no method called `{name}` was tried, nor is it of the catalogue",
        valid=_some(near or known),
        next_step="kernelwright regraph names OUT lists the names that were tried",
    )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return (", ".join(names[:12]) or "none so far") + more
