"""What of a profiled variant is kept, so that its comparison can be repeated without a GPU."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from instruments_counts import counted, parameter_values, placed

from kernelwright.analysis.profile.shares import longest
from kernelwright.analysis.ptx import read_ptx
from kernelwright.analysis.regions import region_dag_of
from kernelwright.evaluation.evidence.kernel_code import Launched, file_of_variant, launched_kernels
from kernelwright.evaluation.evidence.profiles import FOLDER, kept_profile, workload_of
from kernelwright.runners.plans.plan import LaunchPlan
from kernelwright.runners.profiling.model import KernelProfile
from kernelwright.search.session.workbench import Workbench
from kernelwright.store.variants import artifact_record


@dataclass(frozen=True)
class Profiled:
    """A kernel with its longest launch."""

    kernel: Launched
    launch: KernelProfile
    plan: LaunchPlan


def compared(bench: Workbench, variant_id: str) -> dict[str, Any]:
    """Report against code, of the kernel that took longest: `samples` (`counts.placed`) and
    `opcodes` (`counts.counted`)."""
    found = max(_profiled(bench, variant_id), key=lambda each: each.launch.nanoseconds or 0.0)
    ptx = read_ptx(found.kernel.ptx)
    dag = region_dag_of(ptx, found.kernel.entry)
    source = file_of_variant(bench, variant_id, None).name
    return {
        "entry": found.kernel.entry,
        "samples": placed(found.launch, found.kernel.code(ptx), dag, source),
        "opcodes": counted(dag, found.launch, parameter_values(found.plan, found.launch)),
    }


def keep(bench: Workbench, variant_id: str, reports: Path, name: str) -> dict[str, Any]:
    """The report, the source, and of each kernel PTX and machine code, all but the source packed;
    what a test has to know beside them is returned. Nothing is profiled: where that failed, a
    report that nobody could read is kept, too."""
    variant = bench.evaluator.variant(variant_id).variant
    loaded = bench.evaluator.kernel(variant.kernel_id).loaded
    source = reports / f"{name}{Path(loaded.source_name).suffix}"
    source.write_text(variant.source, encoding="utf-8")
    workload = workload_of(bench, variant_id, None)
    plan = _plan(bench, variant_id, workload)
    kernels = launched_kernels(bench, variant_id, workload, None, listed=True)
    facts: dict[str, Any] = {
        "reports": keep_reports(bench, variant_id, reports, name),
        "source": source.name,
        "named": loaded.source_name,
        "parameters": variant.parameters,
        "workload": workload,
        "kernels": [_kept(each, reports, name) for each in kernels],
        "plan": plan.model_dump(mode="json", include={"kernels", "steps"}),
    }
    text = json.dumps(facts, indent=1) + "\n"
    (reports / f"{name}.kept.json").write_text(text, encoding="utf-8")
    return facts


def keep_reports(bench: Workbench, variant_id: str, reports: Path, name: str) -> list[str]:
    """Pack every report that was made of a variant, one a workload; their file names."""
    made = sorted((bench.outdir / FOLDER).glob(f"{variant_id}.*.ncu-rep"))
    suffixes = ["", *(f".{number}" for number in range(1, len(made)))]
    return [
        _pack(reports / f"{name}{suffix}.ncu-rep", report.read_bytes())
        for suffix, report in zip(suffixes, made, strict=False)
    ]


def _kept(kernel: Launched, reports: Path, name: str) -> dict[str, Any]:
    sha256 = hashlib.sha256(kernel.cubin).hexdigest()
    stem = f"{name}.{sha256[:12]}"
    return {
        "entry": kernel.entry,
        "ptx": _pack(reports / f"{stem}.ptx", kernel.ptx.encode()),
        "cubin": _pack(reports / f"{stem}.cubin", kernel.cubin),
        "cubin_sha256": sha256,
    }


def _profiled(bench: Workbench, variant_id: str) -> list[Profiled]:
    """The kernels of the kept profile. Raises RuntimeError without one."""
    workload = workload_of(bench, variant_id, None)
    profile = kept_profile(bench, variant_id, workload)
    plan = _plan(bench, variant_id, workload)
    found = list[Profiled]()
    for kernel in launched_kernels(bench, variant_id, workload, None, listed=True):
        launch = None if profile is None else longest(profile, kernel.entry)
        if launch is not None:
            found.append(Profiled(kernel, launch, plan))
    if not found:
        raise RuntimeError("no kernel of it has a launch in a kept profile")
    return found


def _plan(bench: Workbench, variant_id: str, workload: str) -> LaunchPlan:
    artifact = artifact_record(bench.store, variant_id).artifact
    return artifact.plans[workload]


def _pack(path: Path, content: bytes) -> str:
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(content, mtime=0))  # equal contents, equal files
    return packed.name
