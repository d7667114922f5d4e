"""All of a request for CUDA code that can be said before a compiler is asked."""

from __future__ import annotations

import difflib
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import SpecError
from ..inferring.found_parameters import FOUND_NAME, Found, base_name, find_parameters, tuned
from ..plans.declared_plan import declared_plan, resolve
from ..plans.plan import LaunchPlan, SetSymbol
from ..specs.contract import bind
from ..specs.declared_plan_model import DeclaredPlan
from ..specs.devices import DeviceFacts
from .base import BuildRequest
from .compilers import nvcc, nvrtc
from .compilers.cuda_job import CudaJob

DEFAULT_FLAGS = ("-O3", "-std=c++17")
FAST_MATH = re.compile(r"use_fast_math|ftz[= ]true|prec-(?:div|sqrt)[= ]false")
OURS = re.compile(
    r"--?(?:arch|gpu-architecture|gencode|generate-code|code|gpu-code|o|output-file|c|dc|dw|dlink"
    r"|rdc|relocatable-device-code|ptx|cubin|fatbin|run|lineinfo|E|M\w*|G|device-debug)(?:=.*)?"
)
_KERNELS = re.compile(r"__global__[^;{(]*?(?:__launch_bounds__\s*\([^)]*\)[^;{(]*?)?\b(\w+)\s*\(")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that is legal: the plans with numbers in them, and the work for a compiler."""

    device: DeviceFacts
    found: Found
    plans: Mapping[str, LaunchPlan]
    job: CudaJob
    compilers: tuple[str, ...]
    notes: tuple[str, ...]


def present() -> tuple[str, ...]:
    """The CUDA compilers of this machine, in the order in which they are tried."""
    here = [("nvrtc", nvrtc.library()), ("nvcc", shutil.which("g++") and nvcc.executable())]
    return tuple(name for name, place in here if place)


def prepare(request: BuildRequest, folder: Path) -> Prepared:
    """Resolve plans and options. Raises SpecError for whatever of the request is not legal."""
    if request.device is None:
        raise SpecError(
            "no GPU is named to build for", valid='device_profile {"gpu_name": ..., "arch": ...}'
        )
    spec, variant = request.kernel.spec, request.variant
    declared = declared_plan(spec.kernel, variant.plan)
    for step in declared.launches:
        _check_entry(step.launch, request)
    found = _found(request, declared, variant.source, request.device)
    values, notes = _values(request, found, _inherited(request, request.device))
    declared = tuned(declared, found, values)
    plans = {
        shape.label: resolve(declared, bind(spec.io, shape.symbols, shape.label), values)
        for shape in request.shapes
    }
    job = CudaJob(
        folder=folder,
        source=request.kernel.source_name,
        flags=_flags(request, declared.defines),
        include_dirs=request.kernel.include_dirs,
        arch=request.device.arch,
        entries=tuple(dict.fromkeys(k.entry for p in plans.values() for k in p.kernels)),
        symbols=tuple(
            dict.fromkeys(
                step.symbol
                for plan in plans.values()
                for _, step in plan.located
                if isinstance(step, SetSymbol)
            )
        ),
        timeout_s=request.timeout_s,
    )
    return Prepared(request.device, found, plans, job, _compilers(request), notes)


def _check_entry(entry: str, request: BuildRequest) -> None:
    name = base_name(entry)
    if re.search(
        rf"\b{name}\b", "\n".join([request.variant.source, *request.kernel.files.values()])
    ):
        return
    kernels = sorted(set(_KERNELS.findall(request.variant.source)))
    close = difflib.get_close_matches(name, kernels, n=1)
    hint = f"did you mean `{close[0]}`?" if close else ", ".join(kernels) or "it has no kernel"
    raise SpecError(
        f"the plan launches `{entry}`: {request.kernel.source_name} has none", valid=hint
    )


def _found(
    request: BuildRequest, declared: DeclaredPlan, source: str, device: DeviceFacts
) -> Found:
    spec = request.kernel.spec
    taken = {*spec.symbols, *spec.parameters, *(a.name for a in spec.io.arguments)}
    return find_parameters(declared, source, device.sm_count, taken)


def _inherited(request: BuildRequest, device: DeviceFacts) -> dict[str, int]:
    """The sizes of the spec's own plan: every variant brings them along as parameters."""
    kernel = request.kernel.spec.kernel
    if kernel.plan is None and kernel.launch is None:
        return {}
    found = _found(request, declared_plan(kernel), request.kernel.source, device)
    return {name: parameter.start for name, parameter in found.parameters.items()}


def _values(
    request: BuildRequest, found: Found, inherited: Mapping[str, int]
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Parameters of the spec and found ones by name, and notes on values without a meaning.

    A size of the spec's plan that a variant merely brought along gives way to its own plan's.
    """
    own = request.kernel.spec.parameters
    values = {name: p.start for name, p in {**own, **found.parameters}.items()}
    notes = list[str]()
    for name, value in request.variant.parameters.items():
        known = found.parameters.get(name)
        if known is not None and value == inherited.get(name) != known.start:
            notes.append(f"{name}={value} is the spec's; {known.start} of this plan counts")
            continue
        if known is not None and value not in known.values:
            raise SpecError(f"{name}={value}", valid=", ".join(map(str, known.values)))
        if name in values:
            values[name] = value
        elif FOUND_NAME.fullmatch(name):
            notes.append(f"{name}={value} means nothing in this plan")
        else:
            close = difflib.get_close_matches(name, values, n=1)
            meant = f"did you mean `{close[0]}`? " if close else ""
            listed = ", ".join(values) or "there are none"
            raise SpecError(f"`{name}` is not a parameter", valid=f"{meant}{listed}")
    return values, tuple(notes)


def _flags(request: BuildRequest, own: Mapping[str, int]) -> tuple[str, ...]:
    """`own`: macros that the plan brings along."""
    spec, variant = request.kernel.spec, request.variant
    flags = variant.options.flags
    if flags is None:
        flags = DEFAULT_FLAGS if spec.kernel.flags is None else spec.kernel.flags
    if spec.io.math != "fast" and (fast := FAST_MATH.search(" ".join(flags))):
        raise SpecError(
            f"flag `{fast[0]}` changes results, and the contract's math is `{spec.io.math}`",
            valid="flags of fast math where io.math is `fast`",
        )
    for flag in flags:
        if OURS.fullmatch(flag):
            raise SpecError(
                f"flag `{flag}`: the device, the kind of output and line tables are set already",
                valid="flags of optimisation; the GPU is named in device_profile",
            )
    macros = {name: variant.parameters.get(name, p.start) for name, p in spec.parameters.items()}
    defines = sorted({**spec.kernel.defines, **macros, **own}.items())
    return (*flags, *(f"-D{name}={value}" for name, value in defines))


def _compilers(request: BuildRequest) -> tuple[str, ...]:
    wanted = request.variant.options.compiler or request.kernel.spec.kernel.compiler
    here = present()
    if wanted is None:
        return here
    if wanted not in here:
        raise SpecError(f"compiler `{wanted}` is not here", valid=", ".join(here))
    return (wanted,)
