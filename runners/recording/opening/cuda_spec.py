"""The spec of a recorded CUDA kernel whose source is known.

The source says names, types and, where it can be read, sizes; the recording says which instance was
launched, how, on which data and how often. An expression of the source is taken where it gives what
was recorded in every launch; else the recorded number stands there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ...c_source.functions import CppFunction
from ...c_source.types import Element
from ...device.cuda_driver.launches import CLUSTER, COOPERATIVE
from ...errors import SpecError
from ...inferring.cpp_inference import Surroundings, cpp_kernel
from ...inferring.signature import ArrayArgument, SourceKernel, symbol_for
from ...specs.part import Expression
from ..names import readable_names
from ..recorded import Size3
from .arguments import Arguments, arguments_of
from .comparable import comparable, is_integer, value_of
from .observed import Observed, Opened, Taken
from .signatures import Instance, entry_function, instance_of, taken_parameters
from .sizes import Sizes
from .variables import variables_set
from .workloads import workloads_of


@dataclass(frozen=True, slots=True)
class CudaSource:
    """A source file as it lies beside the spec."""

    name: str
    text: str
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """others that it includes, by name"""
    entry: str = ""
    """the kernel in it; empty: named as the recorded one"""


def cuda_spec(source: CudaSource, launches: Sequence[Observed], most_bytes: int) -> Opened:
    """A spec of the first launch's kernel; the others are of the same machine code.

    Raises SpecError, in a sentence, for what a spec cannot say. `most_bytes`: of all arrays that
    lie beside it.
    """
    first = launches[0].kept
    readable = readable_names([first.name]).get(first.name, first.name)
    instance = instance_of(readable)
    function = entry_function(source.text, instance, source.entry)
    places = [(offset, len(raw)) for offset, raw in first.params]
    taken = taken_parameters(function, instance, places)
    chosen, others = comparable(launches, taken)
    symbols = {
        symbol_for(t.name): [int(value_of(o.kept, t)) for o in chosen]
        for t in taken
        if is_integer(t)
    }
    sizes = Sizes(len(chosen), symbols)
    read = _read(function, taken, Surroundings(source.text, given=frozenset(symbols)))
    made = arguments_of(chosen, taken, sizes, _shapes(read), most_bytes)
    launch = _launch(chosen, sizes, read, made, _entry(function.name, instance, function.template))
    kernel: dict[str, Any] = {
        "kernel_type": "cuda",
        "source_path": source.name,
        "metadata": {"kernel_name": function.name},
    }
    if source.files:
        kernel["files"] = list(source.files)
    setup = variables_set(chosen[0].kept, function, (source.text, *source.files.values()))
    kernel |= {"plan": _plan(launch, setup, function.name)} if setup else {"launch": launch}
    deterministic = read.deterministic and not any(o.noise for o in chosen)
    io: dict[str, Any] = {"arguments": list(made.listed)}
    data: dict[str, Any] = {
        "name": re.sub(r"\W", "_", f"{function.name}_{first.label}")[:64],
        "kernel": kernel,
        "io": io if deterministic else io | {"deterministic": False},
        "symbols": dict.fromkeys(sizes.symbols),
        "workloads": workloads_of(chosen, sizes),
        "reference": "baseline",
        "device_profile": {"arch": "native"},
    }
    apart = [f"{label} differs in more than integers: a spec of its own" for label in others]
    return Opened(data, made.arrays, (*made.notes, *apart))


def _entry(name: str, instance: Instance, is_template: bool) -> str | None:
    """The instance as a C++ name, where the source's name alone does not say which."""
    if instance.base != name:
        if is_template:
            raise SpecError(
                f"`{name}` is a template, and the recorded kernel `{instance.name}` is none of it",
                next_step="name the source of the recorded kernel",
            )
        return None
    return instance.name if instance.name != name else None


def _read(function: CppFunction, taken: Sequence[Taken], known: Surroundings) -> SourceKernel:
    """What the source says of the instance: its own types in the place of a template's."""
    typed = tuple(
        replace(p, element=Element(t.dtype, t.lanes) if t.dtype else None, pointers=t.pointers)
        for p, t in zip(function.parameters, taken, strict=True)
    )
    return cpp_kernel(replace(function, parameters=typed), cuda=True, known=known)


def _shapes(read: SourceKernel) -> Mapping[str, tuple[Expression, ...]]:
    return {a.name: a.shape for a in read.arguments if isinstance(a, ArrayArgument) and a.shape}


def _launch(
    launches: Sequence[Observed],
    sizes: Sizes,
    read: SourceKernel,
    made: Arguments,
    entry: str | None,
) -> dict[str, Any]:
    first = launches[0].kept
    block = _without_ones(first.block)
    launch: dict[str, Any] = {"entry": entry} if entry else {}
    launch |= {"grid": _grid(launches, sizes, read.launch or {}), "block": block}
    if shared := sizes.number("shared", [o.kept.shared for o in launches]):
        launch["shared"] = shared
    for number, *values in first.attributes:
        if number == CLUSTER:
            launch["cluster"] = values[:3]
        if number == COOPERATIVE and values[0]:
            launch["cooperative"] = True
    if made.passed is not None:
        launch["args"] = list(made.passed)
    return launch


def _grid(
    launches: Sequence[Observed], sizes: Sizes, inferred: Mapping[str, object]
) -> list[Expression]:
    """By axis: the source's expression, also with the recorded block in the place of its own."""
    proposed, blocks = _axes(inferred.get("grid")), _axes(inferred.get("block"))
    block: Size3 = launches[0].kept.block
    own = {f"block_{axis}": size for axis, size in zip("xyz", block, strict=True)}
    found = list[Expression]()
    for index, axis in enumerate("xyz"):
        recorded = [o.kept.grid[index] for o in launches]
        given = proposed[index : index + 1]
        given += [_with_block(g, blocks[index : index + 1], block[index]) for g in given]
        found.append(sizes.number(f"grid_{axis}", recorded, given, own))
    return _without_ones(found)


def _with_block(size: Expression, own: Sequence[Expression], block: int) -> Expression:
    if not own or not isinstance(own[0], int) or not isinstance(size, str):
        return size
    return re.sub(rf"\b{own[0]}\b", str(block), size)


def _axes(given: object) -> list[Expression]:
    listed = list(cast(Sequence[object], given)) if isinstance(given, list | tuple) else []
    return [each for each in listed if isinstance(each, int | str) and each != "?"]


def _without_ones(sizes: Sequence[Expression]) -> list[Expression]:
    kept = list(sizes)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return kept


def _plan(
    launch: Mapping[str, Any], setup: Sequence[Mapping[str, Any]], name: str
) -> dict[str, Any]:
    rest = {key: value for key, value in launch.items() if key != "entry"}
    return {"setup": list(setup), "steps": [{"launch": launch.get("entry", name), **rest}]}
