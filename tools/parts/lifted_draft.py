"""A draft of a spec with what the lift of its kernel says: what the source's text leaves open, or
tells less exactly. Reading compiles the source in a process of its own; where that cannot be done,
or the kernel is not understood whole, the draft stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from ...analysis.lift import Argument, Lifted, lift
from ...analysis.lift.contract import Facts, facts_of
from ...analysis.lift.contract.counting import size_text
from ...analysis.lift.expressions import Expr, Name, Number, Unreadable, names_in
from ...analysis.lift.host import lift_host
from ...analysis.lift.rewriting import with_values
from ...analysis.lift.space import single_blocks
from ...analysis.lift.sums import product
from ...analysis.lift.text import lifted_text
from ...analysis.ptx import Module, read_ptx
from ...runners.building.plain_compiler import compiled_plainly
from ...runners.c_source.own_headers import with_headers
from ...runners.dtypes import DTYPES
from ...runners.errors import ExpressionError, KernelwrightError
from ...runners.inferring.signature import symbol_for
from ...runners.languages import language_of
from ...runners.loading.completing import Draft
from ...runners.loading.left_open import OPEN
from ...runners.specs.expressions import evaluate_int
from .typed.typed_draft import with_types

Json = dict[str, Any]
THREADS = 256
"""a block of a launch that nobody gave"""
READ_AS = (THREADS, 32, 64, 128, 512, 1024)
"""threads of a block that a launch does not say"""
_OTHER_AXES = re.compile(r"%(?:n?ctaid|n?tid)\.[yz]")
NEVER_ZERO = {"kind": "uniform", "low": 0.5, "high": 2.0}


def with_lift(draft: Draft, source: str) -> Draft:
    """The draft with facts of the lift in it."""
    source = with_headers(source, draft.files)
    draft = with_types(draft, source)
    found = _whole(draft.data, source)
    if isinstance(found, str):
        return draft
    lifted = found.lifted
    facts = facts_of(lifted)
    names = {a.name: symbol_for(a.name) for a in lifted.arguments if not a.array}
    if any(name != symbol for name, symbol in names.items()):
        return draft  # expressions would have to be rewritten for one kernel in a thousand
    data = _filled(draft.data, facts)
    data["kernel"] = _launched(data["kernel"], found)
    data, gone = _covering(data, found)
    lines = [line for line in draft.undecided if not _is_said(line, data)]
    lines = [line for line in lines if line.partition(":")[0].rpartition(".")[2] not in gone]
    for each in data["io"]["arguments"]:
        init: object = each.get("init")
        if isinstance(init, dict) and OPEN in cast("Json", init).values():
            bound = facts.below[each["name"]]
            lines.append(
                f"io.arguments.{each['name']}.init.high: a number that no value reaches: they are "
                f"indices, below the smallest `{bound}` that is legal or occurs"
            )
    return replace(draft, data=data, undecided=tuple(lines))


@dataclass(frozen=True)
class _Read:
    """What a kernel computes. `along_x`: its threads are counted along x alone. `threads`: of a
    block that no launch says."""

    lifted: Lifted
    along_x: bool
    threads: int


def reading(draft: Draft, source: str) -> Lifted | str:
    """What is read of a draft's kernel, whole or in part, or why nothing is."""
    source = with_headers(source, draft.files)
    found = _read(with_types(draft, source).data, source)
    return found if isinstance(found, str) else found.lifted


def _whole(data: Json, source: str) -> _Read | str:
    """What a kernel computes, over its own sizes alone; or why that is not known."""
    read = _read(data, source)
    if isinstance(read, str):
        return read
    found = read.lifted
    if found.opaque:
        return f"not all of it is understood: {found.opaque[0]}"
    named = {each.name for each in found.arguments}
    foreign = {e.name for e in (d.extent for d in found.dims) if isinstance(e, Name)} - named
    return f"its size hangs on {min(foreign)}, which no launch says" if foreign else read


def _read(data: Json, source: str) -> _Read | str:
    kernel, launch = data["kernel"], cast("Json", data["kernel"].get("launch") or {})
    language = language_of(kernel["kernel_type"])
    entry = str(launch.get("entry") or kernel["metadata"]["kernel_name"])
    if language.syntax != "c":
        return f"sources in {language.title} are not read for a spec"
    arguments = _arguments(data)
    if isinstance(arguments, str):
        return arguments
    made = compiled_plainly(source, entry, (), not language.on_gpu)
    if isinstance(made, str):
        return f"it does not compile for reading: {made}"
    try:
        module = read_ptx(made[0])
        if language.on_gpu:
            found, threads = _on_gpu(module, made[1], arguments, launch)
        else:
            found, threads = lift_host(module, made[1], arguments), THREADS
    except (Unreadable, KernelwrightError) as error:
        return str(error)
    except RecursionError:
        return "an expression of it is nested too deeply"
    return _Read(found, _OTHER_AXES.search(made[0]) is None, threads)


def _on_gpu(
    module: Module, entry: str, arguments: tuple[Argument, ...], launch: Json
) -> tuple[Lifted, int]:
    """A kernel's lift, with the sizes of its grid as the launch has them; and the threads of a
    block that nobody gave."""
    block, threads = _block(launch), THREADS
    grid = [str(size) for size in cast("list[object]", launch.get("grid") or [])]
    alone = () if OPEN in grid or not grid else single_blocks(grid)
    found = lift(module, entry, arguments, block, alone=alone)
    if block is None and not _is_whole(found):
        found, threads = _of_any_block(module, entry, arguments, alone) or (found, threads)
    sizes = {f"nctaid.{axis}": _product(size) for axis, size in zip("xyz", grid, strict=False)}
    known = {name: size for name, size in sizes.items() if size is not None}
    handed = {a.name for a in arguments}
    met = dict.fromkeys(name for size in known.values() for name in sorted(names_in(size)))
    own = tuple(Argument(name, "int32", array=False) for name in met if name not in handed)
    return with_values(replace(found, arguments=(*arguments, *own)), known), threads


def _of_any_block(
    module: Module, entry: str, arguments: tuple[Argument, ...], alone: Sequence[str]
) -> tuple[Lifted, int] | None:
    """A lift that does not hang on the size of the block; else that of the only size that makes the
    kernel whole, as a source that counts its threads by a number is for that one alone."""
    tried = {n: lift(module, entry, arguments, (n,), alone=alone) for n in READ_AS}
    first = tried[THREADS]
    if all(lifted_text(each) == lifted_text(first) for each in tried.values()):
        return first, THREADS
    whole = {size: each for size, each in tried.items() if _is_whole(each)}
    return next(((each, size) for size, each in whole.items()), None) if len(whole) == 1 else None


def _product(size: str) -> Expr | None:
    """A number or a product of sizes as an expression; None for anything else."""
    with suppress(ExpressionError):
        return Number(evaluate_int(size, {}))
    factors = size.split(" * ")
    if not all(each.isidentifier() for each in factors):
        return None
    return product(*map(Name, factors))


def _is_whole(lifted: Lifted) -> bool:
    return not lifted.opaque and bool(facts_of(lifted).shapes)


def _arguments(data: Json) -> tuple[Argument, ...] | str:
    found = list[Argument]()
    for each in data["io"]["arguments"]:
        if each["dtype"] == OPEN:
            return f"the type of `{each['name']}` is not known"
        found.append(Argument(each["name"], each["dtype"], array=each["role"] != "scalar"))
    return tuple(found)


def _block(launch: Json) -> tuple[int, ...] | None:
    sizes = cast("list[object]", launch.get("block") or [])
    numbers = tuple(size for size in sizes if isinstance(size, int))
    return numbers if numbers and len(numbers) == len(sizes) else None


def _filled(data: Json, facts: Facts) -> Json:
    listed = [_argument(dict(each), facts) for each in data["io"]["arguments"]]
    io: Json = {**data["io"], "arguments": listed}
    if facts.flops and "flops" not in io:
        io["flops"] = facts.flops
    touched = [each for each in listed if each["name"] not in facts.untouched]
    if not facts.below and "bytes" not in io and (moved := _bytes(touched)):
        io["bytes"] = moved
    return {**data, "io": io}


def _argument(each: Json, facts: Facts) -> Json:
    name = each["name"]
    if each["role"] == "scalar":
        return each
    role, shape = facts.roles.get(name), facts.shapes.get(name)
    if role and (each["role"] == OPEN or (each["role"] == "inout" and role == "output")):
        each["role"] = role
        if role == "output":
            each.pop("init", None)
    if name in facts.untouched and each["shape"] == [OPEN]:
        each["shape"] = [1]
    if shape and each["shape"] == [OPEN]:
        each["shape"] = [int(size) if size.isdigit() else size for size in shape]
    if "init" not in each and each["role"] in ("input", "inout"):
        if name in facts.below:
            each["init"] = {"kind": "randint", "low": 0, "high": OPEN}
        elif name in facts.nonzero:
            each["init"] = dict(NEVER_ZERO)
    return each


def _bytes(listed: list[Json]) -> str:
    """What must be moved once at least: each input read, each output written."""
    sizes = dict[str, int]()
    for each in listed:
        if each["role"] == "scalar":
            continue
        if OPEN in (each["role"], each["dtype"], *each["shape"]):
            return ""
        size = " * ".join(_factor(part) for part in each["shape"])
        times = 2 if each["role"] == "inout" else 1
        sizes[size] = sizes.get(size, 0) + times * DTYPES[each["dtype"]].itemsize
    return " + ".join(f"{nbytes} * {size}" for size, nbytes in sizes.items())


def _factor(size: object) -> str:
    text = str(size)
    return f"({text})" if " " in text else text


def _launched(kernel: Json, found: _Read) -> Json:
    """A grid that is left open, where each thread along x has a place of one index space."""
    launch = cast("Mapping[str, Any]", kernel.get("launch") or {})
    block = list(cast("list[object]", launch.get("block") or ()))
    threads = block[0] if len(block) == 1 and isinstance(block[0], int) else found.threads
    is_open = [OPEN] == list(launch.get("grid") or ()) and block in ([OPEN], [threads])
    extents = [dim.extent for dim in found.lifted.dims]
    arguments = {a.name for a in found.lifted.arguments}
    known = all(names_in(each) <= arguments for each in extents)
    if not is_open or not extents or not known or (len(extents) > 1 and not found.along_x):
        return kernel
    places = _together(extents)
    if not places:
        return kernel
    return {
        **kernel,
        "launch": {
            **launch,
            "grid": [f"cdiv({places}, {threads})"],
            "block": [threads],
        },
    }


def _together(extents: Sequence[Expr]) -> str:
    """The product of sizes as a spec has it; empty where no expression of a spec tells it."""
    try:
        texts = [size_text(each) for each in extents]
    except Unreadable:
        return ""
    return texts[0] if len(texts) == 1 else " * ".join(map(_factor, texts))


def _covering(data: Json, found: _Read) -> tuple[Json, frozenset[str]]:
    """The spec with a grid along x that hangs on sizes which only the launcher has in terms of the
    kernel's own places, and those sizes, which are symbols no more: free ones would leave places
    out wherever they are not what the launcher makes them."""
    launch = cast("Mapping[str, Any]", data["kernel"].get("launch") or {})
    grid, block = ([*(launch.get(each) or [OPEN])] for each in ("grid", "block"))
    own = {a["name"] for a in data["io"]["arguments"] if a["role"] == "scalar"}
    words = set(re.findall(r"[A-Za-z_]\w*", str(grid[0]))) & set(data["symbols"])
    gone = frozenset(words - own - {str(block[0])})
    extents = [dim.extent for dim in found.lifted.dims]
    flat = {*grid[1:], *block[1:]} <= {1} and OPEN not in (grid[0], block[0]) and found.along_x
    if not (gone and flat and extents) or not all(names_in(each) <= own for each in extents):
        return data, frozenset()
    places = _together(extents)
    if not places:
        return data, frozenset()
    kernel = {**data["kernel"], "launch": {**launch, "grid": [f"cdiv({places}, {block[0]})"]}}
    workloads = [
        {**each, "symbols": {n: v for n, v in each["symbols"].items() if n not in gone}}
        for each in data["workloads"]
    ]
    symbols = {n: v for n, v in data["symbols"].items() if n not in gone}
    return {**data, "kernel": kernel, "workloads": workloads, "symbols": symbols}, gone


def _is_said(line: str, data: Json) -> bool:
    """Whether an open place is none any more."""
    place = line.partition(":")[0].split(".")
    if place[:2] == ["kernel", "launch"] and place[2] in ("grid", "block"):
        return OPEN not in cast("Json", data["kernel"].get("launch") or {}).get(place[2], [])
    if place[:2] == ["io", "arguments"] and place[-1] in ("role", "shape"):
        name = ".".join(place[2:-1])
        found = [a for a in data["io"]["arguments"] if a["name"] == name]
        return bool(found) and found[0].get(place[-1]) not in (OPEN, [OPEN])
    return False
