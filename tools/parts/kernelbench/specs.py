"""Specs of the kernels that a module was cut into: a folder for each, ready for a search."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from ....analysis.modules.lowering.cutting import Cut, Kernel
from ....analysis.modules.lowering.loops import (
    THREADS,
    Written,
    elements_of,
    operations_of,
    written,
)
from ....analysis.modules.lowering.reference import reference_text
from ....analysis.modules.lowering.rows import ROWS, FirstRows, first_rows
from ....runners.languages import language_of
from ....runners.modules.common.graphs import GraphNode
from ....runners.whole_files import write_whole

WORKLOAD = "problem"
PROBLEM: Mapping[str, Any] = {"name": WORKLOAD}
FILES = {"cpp": "kernel.cpp", "cuda": "kernel.cu"}
BLOCKS = (64, 128, 256, 512, 1024)
TRIVIAL = 1 << 12
"""steps: below them a search finds nothing that a clock can tell"""
ITEM = {"float32": 4, "int64": 8, "int32": 4, "bool": 1}


@dataclass(frozen=True)
class CutSpec:
    """A kernel of the module with its spec."""

    kernel: Kernel
    written: Written
    spec: Path
    operations: int
    """about how many steps it takes: what a budget is shared by"""
    rows: FirstRows | None = None
    """where the spec is of the first rows alone"""
    held: int = 0
    """bytes of the arrays of its spec"""

    @property
    def worth_a_search(self) -> bool:
        """Whether anything could be measured of it."""
        return self.operations >= TRIVIAL


def write_specs(cut: Cut, problem: str, language: str, folder: Path) -> tuple[CutSpec, ...]:
    """Write the spec, source and reference of every kernel of a module, each into its folder."""
    kernels = [step for step in cut.steps if isinstance(step, Kernel)]
    entries = [f"{entry_name(problem)}_{number}" for number in range(len(kernels))]
    return tuple(
        write_spec(cut, kernel, entry, language, folder / entry, rows=first_rows(cut, kernel))
        for kernel, entry in zip(kernels, entries, strict=True)
    )


def entry_name(problem: str) -> str:
    """A name that sources can have."""
    name = re.sub(r"\W+", "_", problem).strip("_").lower()[:40]
    return name if name and not name[0].isdigit() else f"problem_{name}"


def write_spec(
    cut: Cut,
    kernel: Kernel,
    entry: str,
    language: str,
    place: Path,
    workload: Mapping[str, Any] = PROBLEM,
    rows: FirstRows | None = None,
) -> CutSpec:
    """Write the spec, source and reference of a kernel into a folder. `workload`: its name, and its
    weight where it has one; `rows`: those that the spec is of, where it is not of all."""
    part = cut if rows is None else rows.cut
    made = written(part, kernel, entry, language, None if rows is None else ROWS)
    place.mkdir(parents=True, exist_ok=True)
    write_whole(place / FILES[language], made.source)
    write_whole(place / "reference.py", reference_text(part, (kernel.name,), made.reads))
    held = sum(bytes_of(part.nodes[name]) for name in (*made.reads, kernel.name))
    told = _spec(part, kernel, made, language, workload, rows)
    spec = write_whole(place / "spec.json", json.dumps(told, indent=1) + "\n")
    return CutSpec(kernel, made, spec, operations_of(cut, kernel), rows, held)


def _spec(
    cut: Cut,
    kernel: Kernel,
    made: Written,
    language: str,
    workload: Mapping[str, Any],
    rows: FirstRows | None,
) -> dict[str, Any]:
    arguments = [_argument(cut.nodes[name], name, "input") for name in made.reads]
    arguments.append(_argument(cut.nodes[kernel.name], "out", "output"))
    moved = sum(bytes_of(cut.nodes[name]) for name in (*made.reads, kernel.name))
    spec: dict[str, Any] = {
        "name": made.entry,
        "kernel": {
            "kernel_type": language,
            "source_path": FILES[language],
            "metadata": {"kernel_name": made.entry},
        },
        "io": {"arguments": arguments, "deterministic": True, "bytes": str(moved)},
        "workloads": [{**workload, "symbols": {}}],
        "reference": "reference.py",
    }
    elements: object = elements_of(cut, kernel)
    if rows is not None:
        spec["parameters"] = {ROWS: {"values": [rows.some], "default": rows.some}}
        elements = f"{ROWS} * {elements_of(cut, kernel) // rows.some}"
    if language_of(language).launch is not None:
        grid = f"cdiv({elements}, {THREADS})"
        spec["kernel"]["launch"] = {"grid": [grid], "block": [THREADS]}
        threads = {THREADS: {"values": list(BLOCKS), "default": 256}}
        spec["parameters"] = {**spec.get("parameters", {}), **threads}
    return spec


def bytes_of(node: GraphNode) -> int:
    """Of a value in memory."""
    return prod(node.shape or ()) * ITEM[node.dtype]


def _argument(node: GraphNode, name: str, role: str) -> dict[str, Any]:
    shape = [str(n) for n in node.shape or ()] or ["1"]
    made: dict[str, Any] = {"name": name, "role": role, "dtype": node.dtype, "shape": shape}
    if role == "input":
        made["init"] = _init(node)
    return made


def _init(node: GraphNode) -> dict[str, Any]:
    """Values like those that were seen: of one sign where they are, else with their mean and
    spread."""
    seen = node.values
    if node.dtype == "bool":
        return {"kind": "randint", "low": 0, "high": 2}
    if node.dtype != "float32":  # they may say places in another array
        low, high = (0, 99) if seen is None else (int(seen.low), int(seen.high))
        return {"kind": "randint", "low": low, "high": high + 1}
    if seen is None:
        return {"kind": "randn"}
    if seen.low == seen.high:
        return {"kind": "full", "value": seen.low}
    if seen.low >= 0 or seen.high <= 0:
        return {"kind": "uniform", "low": seen.low, "high": seen.high}
    return {"kind": "randn", "scale": seen.std or 1.0, "shift": seen.mean}
