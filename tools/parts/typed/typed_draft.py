"""A draft of a spec with the types that the compiler says, where the source leaves them open: a
name of a type may stand for another one under each condition of the preprocessor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ....runners.inferring.signature import is_size, symbol_for
from ....runners.languages import language_of
from ....runners.loading.completing import Draft
from ....runners.loading.left_open import OPEN
from .compiled_types import types_of

Json = dict[str, Any]


def with_types(draft: Draft, source: str) -> Draft:
    """The draft with types for arguments of a CUDA kernel that have none; integers that are sizes
    by their names become symbols. `source`: with its own headers in their places."""
    kernel, arguments = draft.data["kernel"], draft.data["io"]["arguments"]
    if not language_of(kernel["kernel_type"]).on_gpu or not any(map(_is_open, arguments)):
        return draft
    launch: Json = kernel.get("launch") or {}
    types = types_of(source, str(launch.get("entry") or kernel["metadata"]["kernel_name"]))
    if len(types) != len(arguments):
        return draft
    told = {a["name"]: t for a, t in zip(arguments, types, strict=True) if _is_open(a) and t}
    sizes = [n for n, t in told.items() if "int" in t and is_size(n) and _is_number(n, arguments)]
    listed = [_typed(dict(each), told, sizes) for each in arguments]
    said = {f"io.arguments.{name}.dtype" for name in told}
    said |= {f"io.arguments.{name}.value" for name in sizes}
    lines = [line for line in draft.undecided if line.partition(":")[0] not in said]
    symbols = {**draft.data["symbols"], **{symbol_for(name): None for name in sizes}}
    workloads = list[Json]()
    for each in draft.data["workloads"]:
        more = {s: OPEN for s in map(symbol_for, sizes) if s not in each["symbols"]}
        workloads.append({**each, "symbols": {**each["symbols"], **more}})
        lines += [
            f"workloads.{each['name']}.symbols.{s}: the value of `{s}` in a call that really occurs"
            for s in more
        ]
    io = {**draft.data["io"], "arguments": listed}
    data = {**draft.data, "io": io, "symbols": symbols, "workloads": workloads}
    return replace(draft, data=data, undecided=tuple(lines))


def _is_open(argument: Json) -> bool:
    return argument["dtype"] == OPEN


def _is_number(name: str, arguments: list[Json]) -> bool:
    return any(a["name"] == name and a["role"] == "scalar" for a in arguments)


def _typed(argument: Json, told: dict[str, Any], sizes: list[str]) -> Json:
    name = argument["name"]
    if name in told:
        argument["dtype"] = told[name]
    if name in sizes and argument["value"] == OPEN:
        argument["value"] = symbol_for(name)
    return argument
