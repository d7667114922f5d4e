"""What this machine has for building and timing kernels: probed once, told in lines."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import psutil

from ..runners.device.presence.probing import probe_devices
from ..runners.languages import LANGUAGES
from ..runners.processes.process import Limits, clean_environment, run_limited
from ..runners.processes.sandbox import capabilities
from ..runners.profiling import readers
from ..runners.profiling import running as profiling
from ..runners.profiling.permission import HOW, why_no_counters
from ..runners.sanitizer import running as sanitizer
from ..runners.toolchains import named_toolchain
from ..runners.toolchains.compilers import nvcc, nvrtc
from ..runners.toolchains.host_cpp import COMPILERS, DEFAULT_FLAGS
from ..runners.version import __version__
from ..runners.watched.running import tool_version
from .load import load_told

PACKAGE = "kernelwright"
TRIAL_S = 60.0
TRIAL = """\
#include <omp.h>
#include <cstdio>
int main() { std::printf("%d", omp_get_max_threads()); }
"""
WITHOUT_NVRTC = (
    "not installed: rules write no C++ and no CUDA anew from what a kernel computes, and nvcc "
    "alone builds CUDA, which takes longer: pip install 'kernelwright[host]' (no GPU is needed)"
)
WITHOUT_NVCC = "not found: CUDA sources that need the C++ standard library do not build"
GPU_PACKAGES = ("cuda-bindings", "triton", "torch", "cupy-cuda13x", "cupy-cuda12x", "ncu-report")
"""Extras, whose versions decide what can be built and run; importing them is left to children."""
HOME = Path(__file__).parents[1]
INSTALL_SELF = (
    f"{sys.executable} -m pip install {HOME}"
    if (HOME / "pyproject.toml").is_file()
    else f"{sys.executable} -m pip install WHEEL, with the wheel that it was copied from"
)
INSTALL_COMPILER = (
    "install g++ with OpenMP, for example: apt-get install g++ | dnf install gcc-c++ libgomp"
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the report. `present` is None for what is neither there nor missing."""

    name: str
    present: bool | None
    detail: str


@dataclass(frozen=True, slots=True)
class HostReport:
    """All that was probed. `advice`: what to install so that host C++ works; empty when it does."""

    machine: tuple[Fact, ...]
    compilers: tuple[Fact, ...]
    confinement: tuple[Fact, ...]
    gpu: tuple[Fact, ...]
    packages: tuple[Fact, ...]
    kernel_types: tuple[str, ...]
    """with a toolchain in this version, whether it is installed here or not"""
    advice: str

    @property
    def host_cpp_works(self) -> bool:
        """Whether a C++ program was built with the default flags and ran."""
        return not self.advice


def probe_host() -> HostReport:
    """Probe this machine; takes a second or two, most of it for a trial build."""
    trials = tuple(_compiler(name) for name in COMPILERS)
    # builds take the first compiler that is on PATH, so that is the one that must work
    first = next((fact for fact in trials if shutil.which(fact.name)), None)
    works = first is not None and first.present
    return HostReport(
        machine=_machine(),
        compilers=trials,
        confinement=tuple(Fact(c.name, c.available, c.detail) for c in capabilities()),
        gpu=(
            *_gpus(),
            *_toolchains(),
            *_cuda_compilers(),
            _profiler(),
            _sanitizer(),
            *_extras(),
        ),
        packages=_packages(),
        kernel_types=tuple(sorted(LANGUAGES)),
        advice="" if works else INSTALL_COMPILER,
    )


def _machine() -> tuple[Fact, ...]:
    usable, physical = len(os.sched_getaffinity(0)), psutil.cpu_count(logical=False)
    cores = f"{usable} usable" + ("" if physical is None else f", {physical} physical")
    memory = psutil.virtual_memory()
    return (
        Fact("system", None, f"{platform.system()} {platform.release()} {platform.machine()}"),
        Fact("cores", None, cores),
        Fact("load", *load_told()),
        Fact("memory", None, f"{memory.available >> 30} of {memory.total >> 30} GiB free"),
        Fact("python", None, f"{platform.python_version()} ({sys.executable})"),
    )


def _compiler(name: str) -> Fact:
    """Whether a compiler builds a program with the default flags that then runs."""
    if shutil.which(name) is None:
        return Fact(name, False, "not on PATH")
    version = _first_line([name, "--version"])
    with tempfile.TemporaryDirectory(prefix="kernelwright-doctor-") as folder:
        scratch = Path(folder)
        (scratch / "trial.cpp").write_text(TRIAL, encoding="utf-8")
        for command in ([name, *DEFAULT_FLAGS, "trial.cpp", "-o", "trial"], ["./trial"]):
            done = run_limited(
                command,
                scratch=scratch,
                environment=clean_environment(scratch, {"LC_ALL": "C"}),
                limits=Limits(wall_s=TRIAL_S),
            )
            if done.returncode != 0:
                said = (done.stderr.strip().splitlines() or [done.ending])[0]
                return Fact(name, False, f"{version}; a trial with OpenMP fails: {said}")
    return Fact(name, True, version)


def _gpus() -> tuple[Fact, ...]:
    with tempfile.TemporaryDirectory(prefix="kernelwright-doctor-") as folder:
        found = probe_devices(Path(folder))
    if not found.devices:
        return (Fact("GPU", False, f"GPU kernels are built, not run: {found.why_none}"),)
    return tuple(
        Fact(
            f"GPU {index}",
            True,
            f"{d.name}, {d.arch}, {d.sm_count} multiprocessors, {d.memory_bytes >> 30} GiB, "
            f"{d.uuid}",
        )
        for index, d in enumerate(found.devices)
    )


def _toolchains() -> tuple[Fact, ...]:
    missing = {
        kernel_type: named_toolchain(kernel_type).missing() for kernel_type in sorted(LANGUAGES)
    }
    return tuple(
        Fact(f"{kernel_type} builds", why is None, why or "ready")
        for kernel_type, why in missing.items()
    )


def _cuda_compilers() -> tuple[Fact, ...]:
    """Either builds CUDA kernels: what is lost without the other."""
    library, program = nvrtc.library(), nvcc.executable()
    return (
        Fact("nvrtc", library is not None, str(library or WITHOUT_NVRTC)),
        Fact("nvcc", program is not None, str(program or WITHOUT_NVCC)),
    )


def _extras() -> tuple[Fact, ...]:
    found = list[Fact]()
    for name in GPU_PACKAGES:
        try:
            found.append(Fact(name, None, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return tuple(found)


def _profiler() -> Fact:
    found = readers.program()
    if found is None:
        return Fact(readers.PROGRAM, False, f"not found: no profiles are made; {profiling.INSTALL}")
    known = tool_version(found)
    if not known:
        return Fact(readers.PROGRAM, False, f"{found} does not start")
    refused = why_no_counters()
    told = f"Nsight Compute {known}: {found}" + (f"; {refused}: {HOW}" if refused else "")
    return Fact(readers.PROGRAM, not refused, told)


def _sanitizer() -> Fact:
    found = sanitizer.program()
    if found is None:
        without = f"not found: its checks are left out; {sanitizer.INSTALL}"
        return Fact(sanitizer.PROGRAM, False, without)
    known = tool_version(found)
    told = f"NVIDIA's memory checker {known}: {found}" if known else f"{found} does not start"
    return Fact(sanitizer.PROGRAM, bool(known), told)


def _packages() -> tuple[Fact, ...]:
    """Ourselves and what we need; a copy that was never installed does not know that of itself."""
    try:
        required = metadata.requires(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return (Fact(PACKAGE, None, f"{__version__}, not installed: {INSTALL_SELF}"),)
    names = [
        re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in required if "extra ==" not in line
    ]
    return (Fact(PACKAGE, None, __version__), *map(_package, sorted(names)))


def _package(name: str) -> Fact:
    try:
        return Fact(name, None, metadata.version(name))
    except metadata.PackageNotFoundError:
        return Fact(name, False, f"missing: {sys.executable} -m pip install {name}")


def _first_line(command: Sequence[str]) -> str:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=30
    )
    return (done.stdout.splitlines() or ["unknown version"])[0]
