"""Names of methods classified by whoever plans: what is asked, and what an answer says; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...runners.errors import SpecError
from ..moves import CANONICAL, canonical_method
from ..planning.replies import object_in
from ..regraph.labels import Label
from ..regraph.synonyms import by_tables
from ..regraph.tallies import ReGraph, tries_of
from ..regraph.transition import BASELINE

MOST: Final = 48
"""names of one call"""
FORM: Final = '{"labels": [{"method": "increase_ilp", "existed": true}, ...]}, one for each name'


class _Given(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    method: str = Field(min_length=1)
    existed: bool


def to_classify(graph: ReGraph, tried: Iterable[str]) -> tuple[str, ...]:
    """Of the names that were tried, those that neither the catalogue, nor a table, nor anybody has
    said anything of: `MOST` at most, in their order and each once."""
    said = {label.name for label in graph.labels} | {BASELINE, "unnamed"}
    names = (name for name in dict.fromkeys(tried) if name not in CANONICAL and name not in said)
    return tuple(name for name in names if by_tables(name) is None)[:MOST]


def known_methods(graph: ReGraph, names: Iterable[str]) -> dict[str, str]:
    """Methods that names may mean, with their meanings: the catalogue, and those that it grew by;
    none of the names themselves."""
    asked = set(names)
    grown = (name for name in tries_of(graph.searches) if name not in CANONICAL)
    own = {name: "" for name in grown if graph.name(name) == name and name not in asked}
    meanings = {method.id: method.meaning for method in CANONICAL.values()}
    return meanings | {name: own[name] for name in sorted(own) if name != BASELINE}


def asked_data(known: Mapping[str, str], names: Mapping[str, str]) -> str:
    """The question. `names`: with what was said of a candidate of each."""
    methods = [{"name": name, "meaning": meaning} for name, meaning in known.items()]
    told = [{"name": name, "detail": detail} for name, detail in names.items()]
    return json.dumps({"methods": methods, "names": told}, ensure_ascii=False)


def read_labels(
    text: str, names: Iterable[str], known: Mapping[str, str], time: str
) -> tuple[Label, ...]:
    """What an answer says of each name. Raises SpecError where it is no answer, has not as many
    labels as there are names, or names a method that is not there."""
    asked = tuple(names)
    found: Any = object_in(text, "labels", FORM)["labels"]
    if len(found) != len(asked):
        raise SpecError(f"{len(found)} labels for {len(asked)} names", valid=FORM)
    try:
        given = [_Given.model_validate(each) for each in found]
    except ValidationError as error:
        first = error.errors()[0]
        raise SpecError(f"labels.{first['loc']}: {first['msg']}", valid=FORM) from error
    wrong = sorted({each.method for each in given if each.existed and each.method not in known})
    if wrong:
        raise SpecError(
            f"no method of the list is called {', '.join(wrong)}",
            valid=", ".join(known),
            next_step='say "existed": false of what is new',
        )
    return tuple(
        Label(
            name=name,
            into=each.method if each.existed else canonical_method(each.method),
            by="model",
            time=time,
        )
        for name, each in zip(asked, given, strict=True)
    )
