"""A variant of an opened operator as a folder that `kernelwright.deploy` puts in its place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from ....runners.recording.operators.composition import Composition, Part, composition_of
from ....runners.recording.operators.seen import SeenOperator, operators_of
from ....runners.recording.recording import COUNT
from ....runners.whole_files import write_whole
from ....store.kernels import kernel_records
from ....store.variants import variant_record

if TYPE_CHECKING:
    from ....search.session.workbench import Workbench

MADE = "out"
"""what a kernel's own value is called among its arguments"""
FILLS = (1, 2, 4)


def export_winner(
    bench: Workbench, recording: Path, labels: Sequence[str], to: Path, variant_id: str = ""
) -> tuple[str, ...]:
    """Write what runs for the recorded calls of an operator, of one label or of several: for each
    the fastest variant of every kernel that it was opened as, or `variant_id` where it is one of
    that kernel. Returns their ids.

    Raises HandleUnknown, and SpecError for labels of several operators, a variant of another
    kernel, one that does not build, and one that takes what the loader cannot do.
    """
    found = operators_of(recording / COUNT)
    calls = [found.labelled(label) for label in labels]
    first = calls[0]
    if len({(each.operator, each.device) for each in calls}) > 1:
        raise SpecError(
            f"a winner is of one operator, and {', '.join(labels)} are of several",
            valid=", ".join(each.label for each in found.rows if each.operator == first.operator),
        )
    suffix = "cubin" if first.device == "cuda" else "so"
    cases, chosen, built = list[dict[str, Any]](), list[str](), list[_Built]()
    for seen in calls:
        whole = composition_of(recording, seen.label)
        ids = _chosen(bench, seen, whole, variant_id)
        made = [_built(bench, each, seen) for each in ids]
        cases.append(_case(seen, whole, made, suffix))
        chosen += ids
        built += made
    to.mkdir(parents=True, exist_ok=True, mode=0o700)
    told = {
        "format": FORMAT,
        "operator": first.operator,
        "device": first.device,
        "target": built[0].target if first.device == "cuda" else processor(),
        "files": _write_code(bench.outdir / "modules", built, suffix, to),
        "cases": cases,
        "variant": " ".join(chosen),
    }
    write_whole(to / OPERATOR_JSON, json.dumps(told, indent=1) + "\n")
    return tuple(chosen)


@dataclass(frozen=True, slots=True)
class _Built:
    """A variant as the loader will run it."""

    plan: LaunchPlan
    target: str
    aligns: Mapping[str, int]
    """by argument"""


def _chosen(
    bench: Workbench, seen: SeenOperator, whole: Composition, variant_id: str
) -> tuple[str, ...]:
    """A variant for each kernel. Raises SpecError for kernels that were not searched."""
    kernels = kernel_records(bench.store)
    of = variant_record(bench.store, variant_id).variant.kernel_id if variant_id else ""
    own = {
        each.loaded.spec.name: variant_id if each.kernel_id == of else each.incumbent
        for each in kernels
        if seen.label in {workload.name for workload in each.loaded.spec.workloads}
    }
    names = [part.kernel for part in whole.parts]
    if missing := [name for name in names if name not in own]:
        raise SpecError(
            f"no kernel `{missing[0]}` of this search was opened from {seen.label} "
            f"({seen.operator})",
            valid=", ".join(names),
            next_step=f"kernelwright program spec RECORDING {seen.label} --to FOLDER, then "
            "optimize all of its specs into one --outdir",
        )
    found = tuple(own[name] for name in names)
    if variant_id and variant_id not in found:
        raise SpecError(
            f"{variant_id} is not of a kernel that was opened from {seen.label}",
            valid=", ".join(found),
            next_step=f"open_recorded label {seen.label}, then open_kernel and search_step",
        )
    return found


def _built(bench: Workbench, variant_id: str, seen: SeenOperator) -> _Built:
    record = variant_record(bench.store, variant_id)
    spec = bench.evaluator.kernel(record.variant.kernel_id).spec
    built = bench.evaluator.build(record)
    if built.artifact is None:
        raise SpecError(f"{variant_id} does not build: {built.message}")
    if spec.kernel.language.on_gpu != (seen.device == "cuda"):
        raise SpecError(f"{variant_id} runs on another device than {seen.label} ({seen.device})")
    aligns = {each.name: each.align for each in spec.io.arguments}
    return _Built(built.artifact.plans[seen.label], built.artifact.target, aligns)


def _write_code(modules: Path, built: Sequence[_Built], suffix: str, to: Path) -> dict[str, str]:
    """Copy the machine code of all kernels; hashes by name."""
    files = dict[str, str]()
    for kernel in (kernel for each in built for kernel in each.plan.kernels):
        name = f"{kernel.sha256[:16]}.{suffix}"
        content = (modules / f"{kernel.sha256}.{suffix}").read_bytes()
        write_whole(to / name, content)
        files[name] = hashlib.sha256(content).hexdigest()
    return files


def _case(
    seen: SeenOperator, whole: Composition, built: Sequence[_Built], suffix: str
) -> dict[str, Any]:
    """One kind of call: its tensors, results and what lies between as buffers, and all steps."""
    buffers, steps = dict[str, dict[str, Any]](), list[dict[str, Any]]()
    for number, (part, one) in enumerate(zip(whole.parts, built, strict=True)):
        if one.plan.setup:
            raise SpecError("a plan with a setup of its own is not put in an operator's place")
        names = dict[str, str]()
        for each in one.plan.buffers:
            names[each.name], made = _buffer(each, number, part, whole, one.aligns)
            most = max(made["align"], buffers.get(names[each.name], made)["align"])
            buffers[names[each.name]] = {**made, "align": most}
        kernels = {each.id: each for each in one.plan.kernels}
        steps += [_step(each, kernels, suffix, names) for each in one.plan.steps]
    return {
        "label": seen.label,
        "key": seen.key,
        "made": [
            {"dtype": m.dtype, "shape": list(m.shape), "strides": list(m.strides)}
            for m in seen.made
        ],
        "buffers": buffers,
        "steps": steps,
    }


def _buffer(
    buffer: PlanBuffer, number: int, part: Part, whole: Composition, aligns: Mapping[str, int]
) -> tuple[str, dict[str, Any]]:
    """What a plan's buffer is in the whole operator, and what it is called there."""
    if buffer.role == "scratch":
        name = f"{number} {buffer.name}"
        return name, {"kind": "scratch", "number": buffer.nbytes, "align": buffer.align}
    if buffer.role != "argument":
        raise SpecError(
            f"the plan's buffer `{buffer.name}` is {buffer.role}: a winner in an operator's place "
            "has arguments and scratch alone",
            valid="a variant without constants of its own",
        )
    value = part.writes if buffer.name == MADE else buffer.name
    align = aligns.get(buffer.name, 1)
    if value in whole.given:
        return value, {"kind": "input", "number": whole.given[value], "align": align}
    if value in whole.made:
        return value, {"kind": "output", "number": whole.made.index(value), "align": align}
    if value not in whole.nbytes:
        raise SpecError(f"`{buffer.name}` is no value of the operator")
    return value, {"kind": "scratch", "number": whole.nbytes[value], "align": align}


def _step(
    step: Launch | Fill | SetSymbol,
    kernels: Mapping[str, PlanKernel],
    suffix: str,
    names: Mapping[str, str],
) -> dict[str, Any]:
    """`names`: of a plan's buffers in the whole operator."""
    if isinstance(step, SetSymbol):
        raise SpecError(f"the plan sets the variable `{step.symbol}`, which the loader does not")
    if isinstance(step, Fill):
        pattern = bytes.fromhex(step.pattern)
        if len(pattern) not in FILLS:
            raise SpecError(f"the plan fills by {len(pattern)} bytes", valid="1, 2 or 4")
        target = {"buffer": names[step.fill], "offset": step.offset}
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
        "parameters": [_parameter(each, names) for each in step.params],
        "grid": list(step.grid),
        "block": list(kernel.block),
        "shared": kernel.shared,
    }


def _parameter(parameter: Any, names: Mapping[str, str]) -> dict[str, Any]:
    if isinstance(parameter, PointerParam):
        return {"buffer": names.get(parameter.buffer or "", ""), "offset": parameter.offset}
    if isinstance(parameter, ScalarParam):
        return {"dtype": parameter.type, "raw": parameter.raw}
    raise SpecError(
        f"`{parameter.arg}` is a {parameter.type}, which the loader does not make",
        valid="addresses and values",
    )
