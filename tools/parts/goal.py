"""What somebody wants of a kernel, in a sentence: the numbers in it fill a spec that lacks them.

`make scale faster for n = 4,000,000 and a = 0.5` says what a call of the kernel brings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...runners.errors import SpecError
from ...runners.loading.completing import OPEN, Draft, decided
from ...runners.loading.files import LoadedKernel, Roots, draft_of_file, load_data

NUMBER = r"-?\d(?:[\d_]|,(?=\d{3}))*(?:\.\d+)?(?:[eE][-+]?\d+)?"
SAID = re.compile(rf"\b([A-Za-z_]\w*)\s*(?:==?|:|\bis\b|\bof\b)\s*({NUMBER})")
Numbers = Mapping[str, int | float]


def numbers_in(goal: str) -> Numbers:
    """Every `name = number` of a sentence; also `name: 4_096`, `name is 4,096`."""
    return {name: _number(digits) for name, digits in SAID.findall(goal)}


def as_named(said: Numbers, wanted: Sequence[str]) -> Numbers:
    """The same numbers by the names that are wanted too: `n = 4` says what `N` is, where no `n` and
    one `N` is wanted."""
    meant = {
        name: each
        for name in wanted
        for each in said
        if name not in said and each not in wanted and name.lower() == each.lower()
    }
    uses = Counter(meant.values())
    return {**said, **{name: said[each] for name, each in meant.items() if uses[each] == 1}}


def load_with_goal(path: Path, roots: Roots, entry: str | None, goal: str) -> LoadedKernel:
    """A kernel from its source and what the goal says of one call.

    Raises SpecError with the spec as far as it is known, and what would fill it.
    """
    draft = draft_of_file(path, roots, entry)
    found = filled(draft, as_named(numbers_in(goal), numbers_wanted(draft)))
    try:
        data = decided(found, beside=path.name)
    except SpecError as error:
        names = numbers_wanted(found)
        if not names:
            raise
        said = ", ".join(f"{name} = NUMBER" for name in names)
        raise SpecError(
            error.message,
            next_step=f"call again with a goal that says `{said}`"
            + ("" if len(names) == len(found.undecided) else f"; the rest: {error.next_step}"),
        ) from error
    return load_data(data, roots.resolve(path).parent, roots)


def numbers_wanted(found: Draft) -> tuple[str, ...]:
    """Names of the sizes and scalars that are open, which a sentence can say."""
    data = found.data
    scalars = [each["name"] for each in data["io"]["arguments"] if each.get("value") == OPEN]
    sizes = [n for w in data["workloads"] for n, value in w["symbols"].items() if value == OPEN]
    return tuple(dict.fromkeys((*sizes, *scalars)))


def filled(found: Draft, said: Numbers) -> Draft:
    """The draft with the sizes and scalars that are open and were said."""
    data = found.data
    arguments = [_with_value(each, said) for each in data["io"]["arguments"]]
    workloads = [_with_sizes(each, said) for each in data["workloads"]]
    places = {
        *(f"io.arguments.{name}.value" for name in said),
        *(f"workloads.{w['name']}.symbols.{name}" for w in workloads for name in said),
    }
    left = tuple(line for line in found.undecided if line.partition(":")[0] not in places)
    io = {**data["io"], "arguments": arguments}
    return replace(found, data={**data, "io": io, "workloads": workloads}, undecided=left)


def _with_value(argument: dict[str, Any], said: Numbers) -> dict[str, Any]:
    if argument.get("value") != OPEN or argument["name"] not in said:
        return argument
    return {**argument, "value": said[argument["name"]]}


def _with_sizes(workload: dict[str, Any], said: Numbers) -> dict[str, Any]:
    sizes = {n: said.get(n, v) if v == OPEN else v for n, v in workload["symbols"].items()}
    return {**workload, "symbols": sizes}


def _number(digits: str) -> int | float:
    plain = digits.replace(",", "").replace("_", "")
    return int(plain) if re.fullmatch(r"-?\d+", plain) else float(plain)
