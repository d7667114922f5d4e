"""What a spec that is written from a source proposes where nothing in the source says it.

Nothing in a source says how large a size may be. Without a domain only listed workloads are legal,
so that no other shape can be tried: no ragged end, no size of 1, and without a GPU no logic check.
A draft that a person reads and saves so proposes one; what is opened from a source alone gets none.

Nor does it say what a factor or an epsilon is. Whatever it is, the same work is done, so a draft
proposes a usual one: that of its name, else 0.5, which is no neutral element.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from ..dtypes import is_float
from .completing import Draft
from .left_open import OPEN

LARGEST = {1: 1 << 26, 2: 1 << 16}
"""by the most sizes that an array has in which a symbol stands; indices of 32 bits reach so far"""
LARGEST_OF_MORE = 1 << 10
USUAL = (
    (r"eps(ilon)?", 1e-5), (r"(lr|learning_?rate)", 1e-3), (r"beta_?1", 0.9), (r"beta_?2", 0.999),
    (r"(wd|weight_?decay)", 1e-2), (r"momentum", 0.9), (r"(dropout|drop_?p|p_?drop)", 0.1),
    (r"(negative_?)?slope", 0.01), (r"(low|min|lower)(_\w+)?", -1.0),
    (r"(high|max|upper)(_\w+)?", 1.0),
)  # fmt: skip
"""of numbers by their names"""
OTHERWISE = 0.5


def with_domains(found: Draft) -> Draft:
    """The draft with a domain for each size that has none."""
    data, symbols = found.data, dict[str, Any](found.data.get("symbols") or {})
    for name, domain in symbols.items():
        if domain is None:
            symbols[name] = {"min": 1, "max": max(_largest(name, data), _used(name, data))}
    return replace(found, data={**data, "symbols": symbols})


def with_usual_numbers(found: Draft) -> tuple[Draft, tuple[str, ...]]:
    """The draft with a value for each float scalar that has none, and the names of those."""
    listed, proposed = list[dict[str, Any]](), list[str]()
    for each in found.data["io"]["arguments"]:
        known = each["role"] != "scalar" or each["value"] != OPEN or each["dtype"] == OPEN
        if not known and is_float(each["dtype"]):
            proposed.append(each["name"])
            each = {**each, "value": _usual(each["name"])}
        listed.append(each)
    said = {f"io.arguments.{name}.value" for name in proposed}
    lines = tuple(line for line in found.undecided if line.partition(":")[0] not in said)
    data = {**found.data, "io": {**found.data["io"], "arguments": listed}}
    return replace(found, data=data, undecided=lines), tuple(proposed)


def _usual(name: str) -> float:
    return next((v for words, v in USUAL if re.fullmatch(words, name.lower())), OTHERWISE)


def _largest(name: str, data: dict[str, Any]) -> int:
    sizes = [a["shape"] for a in data["io"]["arguments"] if "shape" in a]
    ranks = [len(shape) for shape in sizes if any(name in str(size) for size in shape)]
    ranks += [2] * ([OPEN] in sizes)  # an array of which nothing is known may be a matrix
    return LARGEST.get(max(ranks, default=2), LARGEST_OF_MORE)


def _used(name: str, data: dict[str, Any]) -> int:
    """The largest value of a workload; one that is open, or has not been said, is none."""
    values = [w.get("symbols", {}).get(name, OPEN) for w in data["workloads"]]
    return max((v for v in values if isinstance(v, int)), default=1)
