"""Inductor's kernels of a module as specs: source, launch, and a reference from the graph."""

from __future__ import annotations

import ast
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....analysis.modules.inductor import InductorKernel, inductor_kernels
from ....analysis.modules.lowering.cutting import operands
from ....analysis.modules.lowering.reference import line
from ....runners.errors import SpecError
from ....runners.modules.common.graphs import GraphNode, InductorCode
from ....runners.modules.common.messages import ModuleJob, ModuleSource, PhaseFailed
from ....runners.modules.running import run_job
from ....runners.recording.opening.triton_cut import cut_source
from ....runners.recording.opening.triton_spec import short_name
from ....runners.whole_files import write_whole
from ...parts.models.asked import gpu_uuid

TIMEOUT_S = 900.0
KNOWN = ("aten.", "prims.", "python.getitem")
OUTER, OF_ROWS, INNER = (64, 128, 256, 512, 1024), (1, 2, 4, 8, 16), (64, 128, 256, 512, 1024)
"""tiles: of kernels without sums, of those with sums, and of the sums"""
WARPS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class InductorSpec:
    """A kernel's spec, or why there is none."""

    name: str
    spec: Path | None
    why: str = ""


def write_inductor_specs(
    source: ModuleSource, device: str, to: Path, gpus: tuple[str, ...] = ()
) -> tuple[InductorSpec, ...]:
    """Write a folder with a spec for every kernel that Inductor writes for a module. Nothing of it
    is compiled or run: a machine without a GPU will do. Raises KernelwrightError."""
    found = inductor_of(source, gpu_uuid(device, gpus, to))
    nodes = {each.name: each for each in found.graph.nodes}
    kernels = inductor_kernels(found.code)
    if not kernels:
        raise SpecError(
            "Inductor writes no kernel of Triton for this module that a spec can say",
            next_step="products and convolutions are libraries' kernels",
        )
    return tuple(_written(each, nodes, to) for each in kernels)


def inductor_of(source: ModuleSource, uuid: str | None) -> InductorCode:
    """What Inductor makes of a module, in a confined process. Raises KernelwrightError."""
    scratch = Path(tempfile.mkdtemp(prefix="kernelwright-module-"))
    path = Path(source.path).resolve()
    try:
        job = ModuleJob(
            source=source.model_copy(update={"path": str(path)}),
            device="cpu" if uuid is None else "cuda",
            phases=("inductor",),
            scratch=str(scratch),
            readable=(str(path.parent),),
        )
        found = run_job(job, uuid=uuid, timeout_s=TIMEOUT_S)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    code, failed = found.one(InductorCode), found.one(PhaseFailed)
    if code is None:
        raise SpecError(failed.words if failed else f"Inductor's code was not told {found.lost}")
    return code


def _written(kernel: InductorKernel, nodes: Mapping[str, GraphNode], to: Path) -> InductorSpec:
    name = short_name(kernel.name)
    try:
        reference = reference_of(kernel, nodes)
        spec = spec_of(kernel, nodes)
        source = cut_source(kernel.source, _decorated(kernel), kernel.name, name)
    except SpecError as error:
        return InductorSpec(kernel.name, None, error.message)
    home = to / name
    home.mkdir(parents=True, exist_ok=True)
    write_whole(home / "kernel.py", source)
    write_whole(home / "reference.py", reference)
    return InductorSpec(
        kernel.name, write_whole(home / "spec.json", json.dumps(spec, indent=1) + "\n")
    )


def reference_of(kernel: InductorKernel, nodes: Mapping[str, GraphNode]) -> str:
    """`reference(in_ptr0)`: the operators of the graph between what a kernel reads and what it
    writes. Raises SpecError where they cannot be called."""
    reads = {p.reads: p.name for p in kernel.pointers if p.reads is not None}
    writes = {p.writes: p.name for p in kernel.pointers if p.writes is not None}
    wanted, waiting = set[str](), list(writes)
    while waiting:
        name = waiting.pop()
        if name in wanted or (name in reads and name not in writes):
            continue
        node = nodes.get(name)
        if node is None or not node.op.startswith(KNOWN):
            raise SpecError(
                f"it computes from {name}, which is no operator of ATen nor given to it"
            )
        wanted.add(name)
        waiting += operands(node)
    floats = [p.name for p in kernel.pointers if p.reads and nodes[p.reads].dtype == "float32"]
    like = floats[0] if floats else None
    lines = [f"{value} = {name}" for value, name in reads.items()]
    lines += [line(node, like) for node in nodes.values() if node.name in wanted]
    results = ", ".join(writes)
    text = [
        '"""The operators of the graph that this kernel of Inductor\'s computes."""',
        "",
        "import torch",
        "",
        "",
        f"def reference({', '.join((*reads.values(), *kernel.numbers))}):",
        *(f"    {each}" for each in lines),
        f"    return {results}" if len(writes) == 1 else f"    return ({results})",
    ]
    return "\n".join(text) + "\n"


def spec_of(kernel: InductorKernel, nodes: Mapping[str, GraphNode]) -> dict[str, Any]:
    """The spec as JSON. Raises SpecError for arrays that do not lie row by row."""
    pointers = {p.name: p for p in kernel.pointers}
    arguments = list[dict[str, Any]]()
    for name in kernel.order:
        if name in kernel.numbers:
            value = kernel.numbers[name]
            arguments.append({"name": name, "role": "scalar", "dtype": "int32", "value": value})
            continue
        pointer = pointers[name]
        node = nodes.get(pointer.reads or pointer.writes or "")
        if node is None or node.shape is None or not node.contiguous:
            raise SpecError(f"`{name}` is no array that lies row by row")
        shape = [str(n) for n in node.shape] or ["1"]
        made: dict[str, Any] = {"name": name, "dtype": node.dtype, "shape": shape}
        made |= {"role": "output"} if pointer.reads is None else {"role": "input", "init": "randn"}
        arguments.append(made)
    rows = any(n.startswith("r0_") for n in kernel.numbers)
    tiles = {n: _tile(n, rows) for n in kernel.tiles}
    return {
        "name": short_name(kernel.name),
        "kernel": {
            "kernel_type": "triton",
            "source_path": "kernel.py",
            "metadata": {"kernel_name": short_name(kernel.name)},
            "launch": {"grid": list(_grid(kernel))},
        },
        "io": {"arguments": arguments, "deterministic": True},
        "workloads": [{"name": "module", "symbols": {}}],
        "parameters": {**tiles, "num_warps": {"values": list(WARPS), "default": 4}},
        "reference": "reference.py",
    }


def _grid(kernel: InductorKernel) -> tuple[str, ...]:
    """With numbers in the place of their names."""
    found = list[str]()
    for each in kernel.grid:
        for name, value in kernel.numbers.items():
            each = each.replace(f"({name},", f"({value},")
        found.append(each)
    return tuple(found)


def _tile(name: str, rows: bool) -> dict[str, Any]:
    if name.startswith("R"):
        return {"values": list(INNER), "default": 256}
    return {"values": list(OF_ROWS if rows else OUTER), "default": 4 if rows else 256}


def _decorated(kernel: InductorKernel) -> str:
    """The function with its decorators, as it stands in its module."""
    lines = kernel.source.splitlines(keepends=True)
    for node in ast.parse(kernel.source).body:
        if isinstance(node, ast.FunctionDef) and node.name == kernel.name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return "".join(lines[first - 1 : node.end_lineno])
    raise SpecError(f"there is no {kernel.name} in what Inductor wrote")
