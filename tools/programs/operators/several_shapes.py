"""Calls of one operator with several shapes as one kernel: sizes are symbols, shapes workloads.

The kernel is written for each shape, and its texts become one where they differ in sizes alone
(`lowering.sizes`). Whether that one is the kernel of other shapes too is seen at a shape that no
call had, for which it is written as well: that shape is the spec's held-out workload.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ....analysis.modules.lowering.cutting import Cut, Kernel
from ....analysis.modules.lowering.loops import THREADS, elements_of, written
from ....analysis.modules.lowering.reference import reference_text
from ....analysis.modules.lowering.sizes import (
    Symbols,
    another,
    one_text,
    step_of,
    symbols_of,
    value_of,
    with_values,
)
from ....analysis.programs.operator_module import form_of, shapes_as_they_lie
from ....runners.errors import SpecError
from ....runners.recording.operators.seen import SeenOperator, SeenOperators
from ....runners.whole_files import write_whole
from ...parts.kernelbench.specs import FILES, ITEM, CutSpec

MOST_SHAPES = 8
HELD_OUT = "other_shape"
CutAt = Callable[[SeenOperator, Sequence[Sequence[int]]], Cut]
"""an operator cut at given shapes of its tensors"""


@dataclass(frozen=True)
class Shapes:
    """Calls that one kernel is written for, each with its cut, and one that nobody made."""

    calls: tuple[SeenOperator, ...]
    cuts: tuple[Cut, ...]
    symbols: Symbols
    held: Mapping[str, int]
    held_cut: Cut


def several_shapes(
    seen: SeenOperator, parts: Cut, found: SeenOperators, cut_at: CutAt
) -> Shapes | None:
    """Calls like this one but for the sizes of their tensors; None where there are none, or where
    their cuts are others."""
    calls = [seen, *(each for each in found.rows if each is not seen and _is_like(each, seen))]
    calls = calls[:MOST_SHAPES]
    shapes = [shapes_as_they_lie(each) for each in calls]
    symbols = symbols_of(shapes)
    if len(calls) < 2 or symbols is None:
        return None
    cuts = [parts, *(cut_at(e, s) for e, s in zip(calls[1:], shapes[1:], strict=True))]
    held = another(symbols)
    told = [
        tuple(_size(symbols, sizes, held) for sizes in zip(*tensors, strict=True))
        for tensors in zip(*shapes, strict=True)
    ]
    held_cut = cut_at(seen, told)
    if len({(each.steps, each.outputs) for each in (*cuts, held_cut)}) != 1:
        return None
    return Shapes(tuple(calls), tuple(cuts), symbols, held, held_cut)


def _size(symbols: Symbols, sizes: Sequence[int], held: Mapping[str, int]) -> int:
    return value_of(symbols.expression(sizes) or "", held)


def _is_like(one: SeenOperator, other: SeenOperator) -> bool:
    if one.why_not or one.kept is None or one.operator != other.operator:
        return False
    try:
        return form_of(one) == form_of(other)
    except SpecError:  # it has gaps: no kernel is written for it
        return False


def write_for_all(made: CutSpec, kernel: Kernel, language: str, shapes: Shapes) -> bool:
    """Write a kernel's source, reference and spec anew for all shapes; whether there is one of all.
    `made`: what was written for the first shape."""
    symbols, cuts = shapes.symbols, (*shapes.cuts, shapes.held_cut)
    entry = made.written.entry
    sources = [written(each, kernel, entry, language) for each in cuts]
    reads = made.written.reads
    truths = [reference_text(each, (kernel.name,), reads) for each in cuts]
    source = one_text([each.source for each in sources[:-1]], symbols)
    truth = one_text(truths[:-1], symbols, python=True)
    told = _spec(json.loads(made.spec.read_text("utf-8")), kernel, shapes, (*reads, kernel.name))
    if source is None or truth is None or told is None:
        return False
    if any(each.reads != reads for each in sources):
        return False
    at_held = (with_values(source, shapes.held), with_values(truth, shapes.held))
    if at_held != (sources[-1].source, truths[-1]):
        return False
    names = symbols.named_in(source, truth, json.dumps(told["io"]))
    place = made.spec.parent
    parameters = "".join(f", int {name}" for name in names)
    source = source.replace("* out)", f"* out{parameters})", 1)
    given = ", ".join((*reads, *names))
    truth = truth.replace(f"def reference({', '.join(reads)}):", f"def reference({given}):", 1)
    write_whole(place / FILES[language], source)
    write_whole(place / "reference.py", truth)
    write_whole(made.spec, json.dumps(_with_symbols(told, names, shapes), indent=1) + "\n")
    return True


def _spec(
    told: dict[str, Any], kernel: Kernel, shapes: Shapes, values: Sequence[str]
) -> dict[str, Any] | None:
    """The spec of one shape with expressions for its sizes; None where a size has none."""
    symbols, cuts = shapes.symbols, shapes.cuts
    moved = list[str]()
    for argument, name in zip(told["io"]["arguments"], values, strict=True):
        sizes = zip(*(each.shape(name) or (1,) for each in cuts), strict=True)
        shape = [symbols.expression(each) for each in sizes]
        counts = symbols.expression([prod(each.shape(name)) for each in cuts])
        if counts is None or None in shape:
            return None
        argument["shape"] = shape
        moved.append(f"{ITEM[argument['dtype']]} * {counts}")
    told["io"]["bytes"] = " + ".join(moved)
    elements = symbols.expression([elements_of(each, kernel) for each in cuts])
    if elements is None:
        return None
    if "launch" in told["kernel"]:
        told["kernel"]["launch"]["grid"] = [f"cdiv({elements}, {THREADS})"]
    return told


def _with_symbols(told: dict[str, Any], names: Sequence[str], shapes: Shapes) -> dict[str, Any]:
    """With its symbols as arguments, what sizes are legal, and a workload for each call."""
    told["io"]["arguments"] += [
        {"name": name, "role": "scalar", "dtype": "int32", "value": name} for name in names
    ]
    told["symbols"] = {
        name: _legal([*shapes.symbols.values[name], shapes.held[name]]) for name in names
    }
    told["workloads"] = [
        {
            "name": each.label,
            "weight": float(each.count),
            "symbols": {name: shapes.symbols.values[name][number] for name in names},
        }
        for number, each in enumerate(shapes.calls)
    ]
    held = {name: shapes.held[name] for name in names}
    told["workloads"].append({"name": HELD_OUT, "symbols": held, "held_out": True})
    return told


def _legal(values: Sequence[int]) -> dict[str, int]:
    return {"min": min(values), "max": max(values), "multiple_of": step_of(values)}
