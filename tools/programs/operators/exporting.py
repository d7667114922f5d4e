"""A variant of an opened operator as a folder that `kernelwright.deploy` puts in its place."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....deploy.host_code import processor
from ....deploy.reading import FORMAT, OPERATOR_JSON
from ....runners.errors import SpecError
from ....runners.plans.plan import (
    Fill,
    Launch,
    LaunchPlan,
    PlanBuffer,
    PlanKernel,
    PointerParam,
    ScalarParam,
    SetSymbol,
)
from ....runners.recording.operators.seen import SeenOperator, operators_of
from ....runners.recording.recording import COUNT
from ....runners.whole_files import write_whole
from ....store.kernels import kernel_records
from ....store.variants import variant_record
from .opening import kernel_name

if TYPE_CHECKING:
    from ....search.session.workbench import Workbench

GIVEN, MADE = re.compile(r"x(\d+)"), "out"
FILLS = (1, 2, 4)


def export_operator(bench: Workbench, variant_id: str, seen: SeenOperator, to: Path) -> Path:
    """Write what runs a variant for the recorded calls of an operator. Returns the folder.

    Raises HandleUnknown, and SpecError for a variant of another kernel, one that does not build,
    and one that takes what the loader cannot do.
    """
    record = variant_record(bench.store, variant_id)
    spec = bench.evaluator.kernel(record.variant.kernel_id).spec
    language = spec.kernel.language
    built = bench.evaluator.build(record)
    if built.artifact is None:
        raise SpecError(f"{variant_id} does not build: {built.message}")
    plan = built.artifact.plans.get(seen.label)
    if plan is None or language.on_gpu != (seen.device == "cuda"):
        raise SpecError(
            f"{variant_id} is not of a kernel that was opened from {seen.label}",
            valid=", ".join(built.artifact.plans),
            next_step=f"open_recorded label {seen.label}, then open_kernel and search_step",
        )
    to.mkdir(parents=True, exist_ok=True, mode=0o700)
    suffix = "cubin" if language.on_gpu else "so"
    files = dict[str, str]()
    for kernel in plan.kernels:
        name = f"{kernel.sha256[:16]}.{suffix}"
        content = (bench.outdir / "modules" / f"{kernel.sha256}.{suffix}").read_bytes()
        write_whole(to / name, content)
        files[name] = hashlib.sha256(content).hexdigest()
    aligns = {each.name: each.align for each in spec.io.arguments}
    told = {
        "format": FORMAT,
        "operator": seen.operator,
        "device": seen.device,
        "target": built.artifact.target if language.on_gpu else processor(),
        "files": files,
        "cases": [_case(plan, seen, aligns, suffix)],
        "variant": variant_id,
    }
    write_whole(to / OPERATOR_JSON, json.dumps(told, indent=1) + "\n")
    return to


def export_winner(
    bench: Workbench, recording: Path, label: str, to: Path, variant_id: str = ""
) -> str:
    """The same by the label of a recording; without a variant the fastest of the kernel that was
    opened from it. Its id. Raises KernelwrightError."""
    seen = operators_of(recording / COUNT).labelled(label)
    chosen = variant_id or _fastest(bench, seen)
    export_operator(bench, chosen, seen, to)
    return chosen


def _fastest(bench: Workbench, seen: SeenOperator) -> str:
    for kernel in kernel_records(bench.store):
        spec = kernel.loaded.spec
        names = {each.name for each in spec.workloads}
        if names == {seen.label} and spec.name == kernel_name(seen):
            return kernel.incumbent
    raise SpecError(
        f"no kernel of this search was opened from {seen.label} ({seen.operator})",
        next_step=f"kernelwright program spec RECORDING {seen.label} --to FOLDER, then optimize it",
    )


def _case(
    plan: LaunchPlan, seen: SeenOperator, aligns: dict[str, int], suffix: str
) -> dict[str, Any]:
    if plan.setup:
        raise SpecError("a plan with a setup of its own is not put in an operator's place")
    kernels = {each.id: each for each in plan.kernels}
    return {
        "label": seen.label,
        "key": seen.key,
        "made": [
            {"dtype": m.dtype, "shape": list(m.shape), "strides": list(m.strides)}
            for m in seen.made
        ],
        "buffers": {b.name: _buffer(b, aligns) for b in plan.buffers},
        "steps": [_step(each, kernels, suffix) for each in plan.steps],
    }


def _buffer(buffer: PlanBuffer, aligns: dict[str, int]) -> dict[str, Any]:
    if buffer.role == "scratch":
        return {"kind": "scratch", "number": buffer.nbytes, "align": buffer.align}
    if buffer.role != "argument":
        raise SpecError(
            f"the plan's buffer `{buffer.name}` is {buffer.role}: a winner in an operator's place "
            "has arguments and scratch alone",
            valid="a variant without constants of its own",
        )
    found = GIVEN.fullmatch(buffer.name)
    kind, number = ("input", int(found[1])) if found else ("output", 0)
    if found is None and buffer.name != MADE:
        raise SpecError(f"`{buffer.name}` is no argument of the operator")
    return {"kind": kind, "number": number, "align": aligns.get(buffer.name, 1)}


def _step(
    step: Launch | Fill | SetSymbol, kernels: dict[str, PlanKernel], suffix: str
) -> dict[str, Any]:
    if isinstance(step, SetSymbol):
        raise SpecError(f"the plan sets the variable `{step.symbol}`, which the loader does not")
    if isinstance(step, Fill):
        pattern = bytes.fromhex(step.pattern)
        if len(pattern) not in FILLS:
            raise SpecError(f"the plan fills by {len(pattern)} bytes", valid="1, 2 or 4")
        target = {"buffer": step.fill, "offset": step.offset}
        return {"parameters": [target], "pattern": step.pattern, "nbytes": step.nbytes}
    kernel = kernels[step.launch]
    if kernel.cluster is not None or kernel.cooperative or kernel.pdl:
        raise SpecError(
            f"`{kernel.entry}` is launched in clusters, cooperatively or early, which the loader "
            "does not",
            valid="plain launches",
        )
    return {
        "file": f"{kernel.sha256[:16]}.{suffix}",
        "entry": kernel.entry,
        "parameters": [_parameter(each) for each in step.params],
        "grid": list(step.grid),
        "block": list(kernel.block),
        "shared": kernel.shared,
    }


def _parameter(parameter: Any) -> dict[str, Any]:
    if isinstance(parameter, PointerParam):
        return {"buffer": parameter.buffer or "", "offset": parameter.offset}
    if isinstance(parameter, ScalarParam):
        return {"dtype": parameter.type, "raw": parameter.raw}
    raise SpecError(
        f"`{parameter.arg}` is a {parameter.type}, which the loader does not make",
        valid="addresses and values",
    )
