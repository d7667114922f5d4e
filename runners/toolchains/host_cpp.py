"""Host C++ with g++ or clang++: a shared object whose one visible function calls the entry.

The candidate's source is included by a generated shim, so that the compiler itself checks
the entry's parameter list against the contract. Nothing of the candidate runs here.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import time
from functools import lru_cache
from pathlib import Path

from ..dtypes import DTYPES
from ..errors import SpecError
from ..machine_code.elf import code_hash
from ..model import BuildFacts, content_hash
from ..plans.plan import (
    ONE,
    Artifact,
    Launch,
    LaunchPlan,
    Module,
    Param,
    PlanKernel,
    PointerParam,
    argument_buffers,
    contract_outputs,
    pack_scalar,
    without_names,
)
from ..plans.plan_check import check_plan
from ..processes.confined import PROGRAMS, Bounds, ConfinedFork, Ended, read_left, run_all
from ..processes.disk_room import FULL_WORDS, full
from ..processes.killed import KILLED, compiler_killed
from ..processes.process import clean_environment
from ..processes.source_files import write_sources
from ..specs.contract import BoundContract, bind
from ..specs.io_contract import Contract
from .base import BuildOutcome, BuildRequest, Toolchain
from .compilers.diagnostics import told_of, warnings
from .compilers.readable import Readable
from .host_expansion import EXPANSION_LOG, expansion, refused_flags, wants_expansion
from .host_messages import MEMORY_BYTES, OUTPUT_BYTES, SHIM, explain

COMPILERS = ("g++", "clang++")
DEFAULT_FLAGS = ("-O3", "-march=native", "-fopenmp", "-std=c++17")
ALWAYS = (
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    "-fdiagnostics-color=never",
    "-Werror=date-time",  # what is exported is built again, and must be what was measured
    "-Wl,--build-id=none",  # it would tell apart what differs in debug data alone
)
MODULE = "variant.so"
LOG, LOG_BYTES = "compiler.log", 64 << 20
JOBSERVER = re.compile(r"-flto=jobserver")
SYMBOL = "kernelwright_call"
HEADER = """\
#include <cstdint>
#include "{source}"

extern "C" __attribute__((visibility("default"))) void {symbol}(void** p) {{
  {entry}({arguments});
}}
"""


class HostCpp:
    """Compiles host C++ with g++ or clang++."""

    name = "host_cpp"

    def missing(self) -> str | None:
        """Why this machine cannot build host C++, None when it can."""
        if any(shutil.which(c) for c in COMPILERS):
            return None
        return "no C++ compiler found (looked for g++ and clang++ on PATH)"

    def preload(self) -> None:
        """What the compilers say of themselves, or each build asks its own."""
        for compiler in filter(None, map(shutil.which, COMPILERS)):
            _version(compiler, _changed(compiler))

    def build(self, request: BuildRequest, folder: Path) -> BuildOutcome:
        """Compile the variant into `folder`; see `base.Toolchain`."""
        started = time.monotonic()
        try:
            command = self._command(request)
            contracts = [bind(request.kernel.spec.io, s.symbols, s.label) for s in request.shapes]
            _write_sources(request, folder)
        except SpecError as error:
            return BuildOutcome(message=str(error), rejected=True)
        ended, log, refused = _compile(command, request, folder)
        seconds = time.monotonic() - started
        if why := _disturbed(ended, log, folder):
            return BuildOutcome(message=why, lost=True, seconds=seconds)
        if ended.timed_out:
            return BuildOutcome(
                message=f"the compiler did not end within {request.timeout_s:g} s",
                timed_out=True,
                seconds=seconds,
            )
        if ended.over:
            return BuildOutcome(message=f"the compiler: {ended.over}", seconds=seconds)
        if ended.returncode != 0:
            return BuildOutcome(message=explain(request, log), seconds=seconds)
        if refused:
            return BuildOutcome(message=refused, rejected=True, seconds=seconds)
        try:
            image = read_left(folder / MODULE, OUTPUT_BYTES)
            artifact = _artifact(request, folder, contracts, image)
        except ValueError as error:
            why = f"the compiler left no shared object ({error}); do its flags ask for one?"
            return BuildOutcome(message=why, seconds=seconds)
        compiler = shutil.which(command[0]) or command[0]
        facts = BuildFacts(
            compiler=_version(compiler, _changed(compiler)),
            command=" ".join(command),
            seconds=round(seconds, 4),
            warnings=warnings(log),
            code_bytes=len(image),
        )
        return BuildOutcome(artifact=artifact, facts=facts, seconds=seconds)

    def _command(self, request: BuildRequest) -> list[str]:
        variant, kernel = request.variant, request.kernel.spec.kernel
        wanted = variant.options.compiler or kernel.compiler
        compiler = wanted or next((c for c in COMPILERS if shutil.which(c)), COMPILERS[0])
        if compiler not in COMPILERS or shutil.which(compiler) is None:
            here = [c for c in COMPILERS if shutil.which(c)]
            raise SpecError(f"compiler `{compiler}` is not here", valid=", ".join(here))
        flags = variant.options.flags
        if flags is None:
            flags = DEFAULT_FLAGS if kernel.flags is None else kernel.flags
        if any(JOBSERVER.match(flag) for flag in flags):
            raise SpecError(
                "flag `-flto=jobserver` talks to a make that is not here", valid="-flto"
            )
        defines = {**kernel.defines, **variant.parameters}
        errors_at_most = "-fmax-errors=5" if compiler == "g++" else "-ferror-limit=5"
        return [
            compiler,
            *flags,
            *(f"-D{name}={value}" for name, value in sorted(defines.items())),
            *ALWAYS,
            errors_at_most,
            "-I.",
            *(f"-I{d}" for d in request.kernel.include_dirs),
            SHIM,
            "-o",
            MODULE,
        ]


def _compile(command: list[str], request: BuildRequest, folder: Path) -> tuple[Ended, str, str]:
    """Run the compiler, confined: how it ended, what it said, and what the source may not set.
    `#include` and `.incbin` name any file, and what is not the system's or the kernel's own is
    nobody's to read. For a process with one thread.

    Raises SpecError for what says more than anybody reads.
    """
    compiler = Path(shutil.which(command[0]) or command[0])
    environment = clean_environment(folder, {"LC_ALL": "C", "CCACHE_DISABLE": "1"})

    def start(words: list[str], log: str) -> ConfinedFork:
        return ConfinedFork(
            lambda: os.execve(compiler, words, environment),
            folder=folder,
            log=folder / log,
            bounds=Bounds(
                wall_s=request.timeout_s, memory_bytes=MEMORY_BYTES, file_bytes=OUTPUT_BYTES
            ),
            read=[compiler.resolve().parents[1], *map(Path, request.kernel.include_dirs)],
            system=PROGRAMS,
        )

    # equal in every folder
    starts = [lambda: start([*command, f"-ffile-prefix-map={folder.resolve()}=."], LOG)]
    if asks := wants_expansion(request):
        starts.append(lambda: start(expansion(command), EXPANSION_LOG))
    ended, *expanded = run_all(starts)
    try:
        log = read_left(folder / LOG, LOG_BYTES).decode("utf-8", "replace")
        prefix = compiler.resolve().parents[1]
        own = (prefix / "include", prefix / "lib" / "gcc")
        readable = Readable(folder, (*own, *map(Path, request.kernel.include_dirs)))
        told = told_of(log.replace(f"{folder}/", ""), readable)
    except ValueError as error:
        raise SpecError(f"what the compiler says cannot be told: {error}") from error
    worked = asks and ended.returncode == 0
    return ended, told, refused_flags(request, folder, expanded[0]) if worked else ""


def _write_sources(request: BuildRequest, folder: Path) -> None:
    write_sources(folder, request.sources)
    spec = request.kernel.spec
    shim = HEADER.format(
        source=request.kernel.source_name,
        symbol=SYMBOL,
        entry=spec.kernel.metadata.kernel_name,
        arguments=", ".join(_cast(spec.io)),
    )
    (folder / SHIM).write_text(shim, encoding="utf-8")


def _cast(contract: Contract) -> list[str]:
    """How the shim reads each argument from the array of pointers to parameter values."""
    casts = list[str]()
    for index, argument in enumerate(contract.arguments):
        cpp = DTYPES[argument.dtype].cpp
        if cpp is None:
            raise SpecError(
                f"`{argument.name}` is {argument.dtype}, which C++ has no portable type for",
                valid="declare it as uint16 or uint8 and convert in the kernel",
            )
        pointer = "" if argument.role == "scalar" else "*"
        casts.append(f"*static_cast<{cpp}{pointer}*>(p[{index}])")
    return casts


def _disturbed(ended: Ended, log: str, folder: Path) -> str:
    """What somebody else did to the compiler; empty: it ended on its own account."""
    if ended.over or ended.returncode == 0:
        return ""
    if compiler_killed(ended.returncode, log):
        return f"the compiler {KILLED}"
    if any(words in log for words in FULL_WORDS):
        return str(full(folder, "what the compiler writes"))
    return ""


def _artifact(
    request: BuildRequest, folder: Path, contracts: list[BoundContract], image: bytes
) -> Artifact:
    """The artifact of a shared object. Raises ValueError for an image that is none."""
    machine_code, sha256 = code_hash(image), hashlib.sha256(image).hexdigest()
    (folder / MODULE).rename(folder / f"{sha256}.so")
    plans = {c.label: _plan(c, sha256) for c in contracts}
    code = {"code": machine_code, "plans": [without_names(p) for p in plans.values()]}
    return Artifact(
        variant_id=request.variant.variant_id,
        toolchain=HostCpp.name,
        target=platform.machine(),
        modules=(Module(sha256=sha256, kind="so", nbytes=len(image)),),
        plans=plans,
        code_hash=content_hash(code, 16),
    )


def _plan(contract: BoundContract, sha256: str) -> LaunchPlan:
    params: list[Param] = [
        pack_scalar(a) if a.argument.role == "scalar" else PointerParam(arg=a.name, buffer=a.name)
        for a in contract.arguments
    ]
    plan = LaunchPlan(
        label=contract.label,
        kernels=(PlanKernel(id="k0", entry=SYMBOL, sha256=sha256),),
        buffers=argument_buffers(contract),
        steps=(Launch(launch="k0", grid=ONE, params=tuple(params)),),
        outputs=contract_outputs(contract),
    )
    check_plan(plan, contract)
    return plan


@lru_cache
def _version(compiler: str, changed: int) -> str:
    """What a compiler says of itself. `changed`: when, as one may be replaced while we run."""
    del changed
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=10)
    return done.stdout.splitlines()[0] if done.stdout else compiler


def _changed(compiler: str) -> int:
    """When the program of a compiler was written (mtime, nanoseconds)."""
    return Path(compiler).stat().st_mtime_ns


TOOLCHAIN: Toolchain = HostCpp()
