"""Triton: a candidate's launch or wrapper, captured without a GPU into cubins and launch plans.

The candidate's Python runs in confined forks (`triton_captures.py`); what they leave is data, and
is checked like any other artifact before it counts.
"""

from __future__ import annotations

import gc
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from ..capture.messages import CaptureRequest, CaptureResult
from ..errors import SpecError, ToolchainMissing
from ..machine_code.cubin import local_bytes, read_cubin
from ..model import BuildFacts, KernelFacts, ordered
from ..plans.launch_in_force import launch_fields
from ..plans.plan import Artifact, LaunchPlan, Module, PlanKernel, module_name
from ..processes import huge_pages
from ..processes.source_files import write_sources
from ..specs.devices import PROFILES, DeviceFacts
from ..specs.spec import Parameter
from .artifact_check import checked_artifact, read_module
from .base import BuildOutcome, BuildRequest, Stopwatch, Toolchain
from .launched import launched_kernels
from .triton_captures import CaptureFailed, Workplace, capture_all

SERIES = "3.6."
"""the Triton whose launches `capture` knows how to read"""
EXTRAS = 'pip install "kernelwright[triton,torch]"'
ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
SOURCE_TIME = 1_000_000_000
"""time of change of every source: it goes into line tables, and equal sources give equal files"""


class TritonJit:
    """Has Triton compile what launches ask for."""

    name = "triton_jit"

    def missing(self) -> str | None:
        """Why this machine cannot build Triton kernels, None when it can."""
        absent = [name for name in ("triton", "torch") if importlib.util.find_spec(name) is None]
        if absent:
            return f"{' and '.join(absent)} not installed: {EXTRAS} (no GPU is needed to build)"
        found = importlib.metadata.version("triton")
        if not found.startswith(SERIES):
            return f"Triton {found} is installed, {SERIES}x is needed: {EXTRAS}"
        return None

    def preload(self) -> None:
        """Torch and Triton. Raises ToolchainMissing."""
        preload()

    def build(self, request: BuildRequest, folder: Path) -> BuildOutcome:
        """Capture every shape; see `base.Toolchain`."""
        clock = Stopwatch()
        work, logs = folder / "work", folder / "logs"
        try:
            _check_request(request)
            for made in (work, logs):
                made.mkdir()
            _write_sources(request, work)
            place = Workplace(work, logs, clock.started + request.timeout_s, request.timeout_s)
            clock.lap("sources")
            results = capture_all(_capture_requests(request), place, clock)
            return _outcome(request, results, folder, work, clock)
        except CaptureFailed as failed:
            return failed.outcome.model_copy(update={"seconds": clock.seconds})
        except SpecError as error:
            return BuildOutcome(message=str(error), rejected=True)
        finally:
            shutil.rmtree(work, ignore_errors=True)


@cache
def preload() -> None:
    """Import torch and Triton, in the process whose forks build; it keeps its one thread.

    Once: to gather memory again that forks share would cost 0.2 s. Raises ToolchainMissing.
    """
    if why := TritonJit().missing():
        raise ToolchainMissing(why)
    os.environ |= dict.fromkeys(ONE_THREAD, "1")
    from ..capture.libraries import load
    from ..capture.libraries import preload as import_all

    import_all()
    load("triton.runtime.cache").triton_key()  # hashes all of Triton, 0.5 s, once a process
    load("triton.backends.nvidia.compiler").get_ptxas_version(PROFILES[0][0].capability)
    versions()
    _dependencies()
    gc.collect()
    gc.freeze()  # else every child walks through all of torch, and copies its pages as it goes
    huge_pages.collapse()


def _check_request(request: BuildRequest) -> None:
    variant = request.variant
    if variant.options.flags or variant.options.compiler:
        raise SpecError(
            "Triton takes no compiler and no flags",
            valid="parameters such as num_warps, num_stages and constexprs",
        )


def _write_sources(request: BuildRequest, work: Path) -> None:
    write_sources(work, request.sources)
    for name in request.sources:
        os.utime(work / name, (SOURCE_TIME, SOURCE_TIME))


def _capture_requests(request: BuildRequest) -> list[CaptureRequest]:
    spec = request.kernel.spec
    launch = launch_fields(spec.kernel, request.variant.plan)
    return [
        CaptureRequest(
            source_path=request.kernel.source_name,
            entry=spec.kernel.metadata.kernel_name,
            contract=spec.io,
            symbols=shape.symbols,
            label=shape.label,
            device=_device(request),
            parameters=request.variant.parameters,
            launch=launch,
            defines=spec.kernel.defines,
        )
        for shape in request.shapes
    ]


def _device(request: BuildRequest) -> DeviceFacts:
    return request.device or PROFILES[0][0]


def _outcome(
    request: BuildRequest,
    results: Sequence[CaptureResult],
    folder: Path,
    work: Path,
    clock: Stopwatch,
) -> BuildOutcome:
    plans = {r.plan.label: r.plan for r in results if r.plan is not None}
    found = {m.sha256: m for r in results for m in r.modules}
    for module in found.values():
        content = read_module(work / module_name(module), module)
        (folder / module_name(module)).write_bytes(content)
    cubins = [m for m in found.values() if m.kind == "cubin"]
    draft = Artifact(
        variant_id=request.variant.variant_id,
        toolchain=TritonJit.name,
        target=_device(request).arch,
        modules=tuple(found.values()),
        plans=plans,
        code_hash="",
    )
    artifact = checked_artifact(request, draft, folder, request.kernel.spec.kernel.language.tier)
    kernels = _kernels(artifact.plans, folder)
    clock.lap("checks and facts")
    return BuildOutcome(
        artifact=artifact,
        facts=_facts(request, results, kernels, cubins, clock),
        parameters=_tunables(request, results),
        configurations=results[0].configurations,
        dependencies=_dependencies(),
        seconds=clock.seconds,
    )


def _tunables(request: BuildRequest, results: Sequence[CaptureResult]) -> dict[str, Parameter]:
    """What was found beside the spec's own parameters; the first shape's where shapes differ."""
    found = dict[str, Parameter]()
    for result in results:
        for name, parameter in result.parameters.items():
            if name not in request.kernel.spec.parameters:
                found.setdefault(name, parameter)
    return found


def _kernels(plans: Mapping[str, LaunchPlan], folder: Path) -> tuple[KernelFacts, ...]:
    """Facts of every kernel, from its machine code; one that shapes specialise comes several times.

    Spills are the bytes that its instructions store to and load from local memory.
    """

    def told(kernel: PlanKernel) -> KernelFacts:
        cubin = (folder / f"{kernel.sha256}.cubin").read_bytes()
        entry = read_cubin(cubin).entries[kernel.entry]
        return KernelFacts(
            entry=kernel.entry,
            registers=entry.registers,
            spill_bytes=local_bytes(cubin).get(kernel.entry),
            stack_bytes=entry.stack,
            static_shared=entry.static_shared,
            instructions=entry.instructions,
        )

    return launched_kernels(plans, told)


def _facts(
    request: BuildRequest,
    results: Sequence[CaptureResult],
    kernels: tuple[KernelFacts, ...],
    cubins: Sequence[Module],
    clock: Stopwatch,
) -> BuildFacts:
    known = versions()
    entry = request.kernel.spec.kernel.metadata.kernel_name
    values = ordered(request.variant.parameters)
    left_out = [f"{key}: {why}" for key, why in results[0].tried.items() if why != "fits"]
    return BuildFacts(
        compiler=f"Triton {known['triton']}, ptxas {known['ptxas']}",
        command=f"capture {entry} for {_device(request).arch} {values}".strip(),
        seconds=round(clock.seconds, 4),
        warnings=tuple(dict.fromkeys([*left_out, *(w for r in results for w in r.warnings)])),
        code_bytes=sum(m.nbytes for m in cubins),
        registers=max((k.registers for k in kernels if k.registers is not None), default=None),
        spill_bytes=max(
            (k.spill_bytes for k in kernels if k.spill_bytes is not None), default=None
        ),
        shared_bytes=max(
            (k.dynamic_shared + (k.static_shared or 0) for k in kernels), default=None
        ),
        kernels=kernels,
        versions=known,
        stages=clock.laps,
    )


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Of everything that has a part in a build."""
    assembler = _ptxas()
    done = subprocess.run([str(assembler), "--version"], capture_output=True, text=True, timeout=30)
    words = done.stdout.replace(",", " ").split()
    return {
        "triton": importlib.metadata.version("triton"),
        "torch": importlib.metadata.version("torch"),
        "python": platform.python_version(),
        "ptxas": next((w[1:] for w in words if w.startswith("V")), "unknown"),
    }


def _ptxas() -> Path:
    found = importlib.util.find_spec("triton")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "backends" / "nvidia" / "bin" / "ptxas"


@lru_cache(maxsize=1)
def _dependencies() -> tuple[str, ...]:
    """The interpreter, the assembler, and what pip wrote down of each file of torch and Triton."""
    files = [Path(sys.executable).resolve(), _ptxas()]
    for name in ("triton", "torch"):
        listed = importlib.metadata.distribution(name).files or []
        files += [Path(str(f.locate())) for f in listed if f.name == "RECORD"]
    return tuple(map(str, files))


TOOLCHAIN: Toolchain = TritonJit()
