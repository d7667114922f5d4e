"""`regraph.json`: the sums of every search, and beside them methods as nodes and steps as edges."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import Field

from .posterior import Posteriors
from .report import Line, edges, nodes
from .tallies import ReGraph, SearchTallies, as_told

VERSION = 1


class RegraphFile(ReGraph):
    """The whole file. What is read again are the sums; nodes and edges follow from them."""

    version: Literal[1] = VERSION
    searches: tuple[SearchTallies, ...] = Field(...)  # pyright: ignore[reportGeneralTypeIssues]
    """sorted by kernel and search; `cells` of each are its table"""
    nodes: tuple[Line, ...] = ()
    """a method each"""
    edges: tuple[Line, ...] = ()
    """a step each, from `previous` to `method`"""


def to_json(graph: ReGraph) -> str:
    """The canonical text of the file: equal values give equal texts."""
    known = Posteriors(graph)
    told = RegraphFile(
        merging=graph.merging,
        merged=graph.merged,
        labels=graph.labels,
        searches=graph.searches,
        nodes=nodes(known),
        edges=edges(known),
    )
    return json.dumps(told.model_dump(mode="json"), sort_keys=True, indent=1) + "\n"


def from_json(text: str | bytes) -> ReGraph:
    """The value of a text; what follows from the sums is computed again.

    Raises pydantic.ValidationError for anything else.
    """
    read = RegraphFile.model_validate_json(text)
    graph = ReGraph(merging=read.merging, searches=read.searches, labels=read.labels)
    return as_told(graph, merging=read.merging)
