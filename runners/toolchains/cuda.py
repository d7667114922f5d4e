"""CUDA C++: cubin and PTX of one source file, and the declared plan with numbers in it.

Only device code is taken from what is built: the host code of a candidate never runs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from ..c_source.device_part import device_part, included
from ..errors import SpecError
from ..machine_code.cubin import read_cubin
from ..machine_code.cubin_check import check_cubin
from ..machine_code.cubin_hash import device_code_hash
from ..model import BuildFacts, KernelFacts
from ..plans.declared_plan import with_code
from ..plans.plan import Artifact, Module, PlanKernel
from ..processes.source_files import write_sources
from .base import BuildOutcome, BuildRequest, Stopwatch, Toolchain
from .compilers import nvcc, nvrtc
from .compilers.cuda_job import Compiled, CudaJob, Failed
from .compilers.diagnostics import warnings
from .compilers.ptxas_log import kernel_facts, ptxas_warnings
from .cuda_request import Prepared, prepare, present
from .launched import launched_kernels

OF_FRAMEWORKS = re.compile(r"(torch|ATen|c10|caffe2|pybind11)/|Python\.h$|helper_\w+\.h$")
"""headers that only host code needs: PyTorch's, its bindings', and those of NVIDIA's samples"""
COMPILERS: Mapping[str, Callable[[CudaJob], Compiled | Failed]] = {
    "nvrtc": nvrtc.compile_cuda,
    "nvcc": nvcc.compile_cuda,
}


class Cuda:
    """Compiles CUDA C++ with NVRTC or nvcc."""

    name = "cuda"

    def missing(self) -> str | None:
        """Why this machine cannot build CUDA, None when it can."""
        if present():
            return None
        return (
            "no CUDA compiler found: NVRTC comes with `pip install cuda-bindings "
            "nvidia-cuda-nvrtc`; nvcc with the CUDA toolkit (on PATH or in CUDA_HOME, with g++)"
        )

    def preload(self) -> None:
        """NVRTC; nvcc is a program."""
        nvrtc.preload()

    def build(self, request: BuildRequest, folder: Path) -> BuildOutcome:
        """Compile the variant into `folder`; see `base.Toolchain`."""
        clock = Stopwatch()
        try:
            prepared = prepare(request, folder)
            write_sources(folder, request.sources)
        except SpecError as error:
            return BuildOutcome(message=str(error), rejected=True)
        clock.lap("plans and sources")
        compiled, notes = _compile(prepared)
        clock.lap("compiler")
        parameters = dict(prepared.found.parameters)
        if isinstance(compiled, Failed):
            return BuildOutcome(
                message=compiled.message,
                timed_out=compiled.timed_out,
                parameters=parameters,
                seconds=clock.seconds,
            )
        try:
            artifact, kernels = _artifact(request, prepared, compiled, folder)
        except SpecError as error:
            return BuildOutcome(
                message=str(error),
                rejected=True,
                parameters=parameters,
                seconds=clock.seconds,
            )
        clock.lap("checks and facts")
        said = (*prepared.notes, *notes, *warnings(compiled.log), *ptxas_warnings(compiled.log))
        return BuildOutcome(
            artifact=artifact,
            facts=_facts(compiled, kernels, said, clock),
            parameters=parameters,
            dependencies=compiled.dependencies,
            seconds=clock.seconds,
        )


def _compile(prepared: Prepared) -> tuple[Compiled | Failed, tuple[str, ...]]:
    """With the first compiler that takes the source; notes say which one did not, and what of the
    source was built."""
    result, notes = _first_that_takes(prepared)
    if isinstance(result, Failed) and result.missing_header:
        again = _of_the_device(prepared, result.missing_header)
        if again is not None:
            return again
    return result, notes


def _first_that_takes(prepared: Prepared) -> tuple[Compiled | Failed, tuple[str, ...]]:
    notes = list[str]()
    result: Compiled | Failed = Failed("no compiler was asked")
    for name in prepared.compilers:
        result = COMPILERS[name](prepared.job)
        if isinstance(result, Compiled) or result.timed_out:
            break
        notes.append(f"{name} did not take it: {result.message.splitlines()[0][:200]}")
    return result, tuple(notes)


def _of_the_device(prepared: Prepared, header: str) -> tuple[Compiled, tuple[str, ...]] | None:
    """What the code of the device alone makes, without its host code and headers that are not
    there; None where it needs those.

    A file is often part of an extension, whose framework is not here, and nothing but device code
    is taken from it anyway. Of other headers nobody knows what they would have changed in a kernel.
    """
    job, missing = prepared.job, [header]
    file = job.folder / job.source
    source = file.read_text(encoding="utf-8")
    asked = included(source)
    while missing[-1] in asked and OF_FRAMEWORKS.match(missing[-1]):
        file.write_text(device_part(source, asked - {*missing}), encoding="utf-8")
        made, _ = _first_that_takes(prepared)
        if isinstance(made, Compiled):
            left_out = ", ".join(f"`{each}`" for each in missing)
            return made, (f"built of its device code alone: {left_out} not found",)
        if not made.missing_header or made.missing_header in missing:
            break
        missing.append(made.missing_header)
    file.write_text(source, encoding="utf-8")
    return None


def _artifact(
    request: BuildRequest, prepared: Prepared, compiled: Compiled, folder: Path
) -> tuple[Artifact, tuple[KernelFacts, ...]]:
    """Raises SpecError where plan and machine code do not fit each other, or the device."""
    sha256 = hashlib.sha256(compiled.cubin).hexdigest()
    info = read_cubin(compiled.cubin)
    plans = {
        label: with_code(plan, sha256, compiled.entries, compiled.symbols)
        for label, plan in prepared.plans.items()
    }
    for plan in plans.values():
        check_cubin(plan, {sha256: info}, prepared.device)
    cubin = _module(compiled.cubin, "cubin", folder)
    ptx = _module(compiled.ptx.encode(), "ptx", folder, of=sha256)
    artifact = Artifact(
        variant_id=request.variant.variant_id,
        toolchain=Cuda.name,
        target=prepared.device.arch,
        modules=(cubin, ptx),
        plans=plans,
        code_hash=device_code_hash(plans, {sha256: compiled.cubin}),
    )
    told = kernel_facts(compiled.log)

    def facts(kernel: PlanKernel) -> KernelFacts:
        """What ptxas said, with the registers and instructions of the cubin."""
        entry = info.entries[kernel.entry]
        return told.get(kernel.entry, KernelFacts(entry=kernel.entry)).model_copy(
            update={"registers": entry.registers, "instructions": entry.instructions}
        )

    return artifact, launched_kernels(plans, facts)


def _module(content: bytes, kind: str, folder: Path, of: str | None = None) -> Module:
    sha256 = hashlib.sha256(content).hexdigest()
    (folder / f"{sha256}.{kind}").write_bytes(content)
    return Module.model_validate({"sha256": sha256, "kind": kind, "nbytes": len(content), "of": of})


def _facts(
    compiled: Compiled,
    kernels: tuple[KernelFacts, ...],
    said: tuple[str, ...],
    clock: Stopwatch,
) -> BuildFacts:
    return BuildFacts(
        compiler=compiled.compiler,
        command=compiled.command,
        seconds=round(clock.seconds, 4),
        warnings=tuple(dict.fromkeys(said)),
        code_bytes=len(compiled.cubin),
        registers=max((k.registers or 0 for k in kernels), default=None),
        spill_bytes=max((k.spill_bytes or 0 for k in kernels), default=None),
        shared_bytes=max(
            ((k.static_shared or 0) + k.dynamic_shared for k in kernels), default=None
        ),
        kernels=kernels,
        versions=dict(compiled.versions),
        stages=clock.laps,
    )


TOOLCHAIN: Toolchain = Cuda()
