"""CUDA C++ with NVRTC, in the build itself: some 0.1 s, where nvcc takes three times as long.

NVRTC has no C++ standard library and not every flag of nvcc; what it refuses, nvcc may take.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ...processes.confined import ConfinedFork, python_folders
from .cuda_job import Compiled, CudaJob, Failed, left, no_header, no_instance, told, toolkit
from .diagnostics import errors

RESULT, CUBIN, PTX, LOG = "nvrtc.json", "nvrtc.cubin", "nvrtc.ptx", "nvrtc.log"
NAMES = "__nv_name_map"
"""the file in which NVRTC reports a name expression that it cannot resolve"""
_NO_HEADER = re.compile(r'cannot open source file "([^"]+)"')
_UNKNOWN = re.compile(
    rf"^{NAMES}\(\d+\): error: (.*)\n\s*#pragma nv_mangled_name &?(.*)$", re.MULTILINE
)
_INCLUDE = re.compile(r"^\s*#\s*include\b", re.MULTILINE)


UNREAD = (
    "NVRTC, by which kernels are read, is not installed, so that rules write nothing anew from "
    "what a kernel computes; it needs no GPU: pip install 'kernelwright[host]'"
)
"""what is lost for kernels in C++ and CUDA where `library` finds nothing"""


def library() -> Path | None:
    """The libnvrtc that cuda.bindings will find, None where either is missing; loads nothing."""
    # the package `cuda` itself may be missing, too: to look inside it would raise
    if not all(map(importlib.util.find_spec, ("cuda", "cuda.bindings"))):
        return None
    return next(_libraries(), None)


def _libraries() -> Iterator[Path]:
    for place in filter(None, sys.path):
        yield from sorted(Path(place).glob("nvidia/c*/lib/libnvrtc.so.*"))
    root = toolkit()
    if root is not None:
        for folder in ("lib64", "lib"):
            yield from sorted((root / folder).glob("libnvrtc.so.*"))


@cache
def preload() -> None:
    """Load the library where there is one, in the process whose forks compile; it starts no thread.

    A fork that loads it itself takes 160 ms of processor time in place of 110.
    """
    if library() is not None:
        _checked(_binding().nvrtcVersion())


def _binding() -> Any:
    """No stubs: everything of the binding is Any, and stays within this module."""
    return importlib.import_module("cuda.bindings.nvrtc")


def compile_cuda(job: CudaJob) -> Compiled | Failed:
    """Compile within the job's folder, in a confined fork; for a process with one thread."""
    options = _options(job)
    logged = job.folder / LOG
    ended = ConfinedFork(
        lambda: _compile(job, options),
        folder=job.folder,
        log=logged,
        bounds=job.bounds,
        read=[*python_folders(), *include_folders(), *job.read],
    ).wait()
    if ended.returncode != 0:
        said = left(logged).decode("utf-8", "replace").strip().splitlines()
        return Failed(f"NVRTC: {ended.words}" + (f": {said[-1]}" if said else ""), ended.timed_out)
    result = json.loads(left(job.folder / RESULT))
    if not result["done"]:
        log = told(str(result["log"]), job)
        missing = _NO_HEADER.search(log)
        header = "" if missing is None else missing[1]
        return Failed(_explained(log, job, result), missing_header=header)
    version = str(result["version"])
    return Compiled(
        cubin=left(job.folder / CUBIN),
        ptx=left(job.folder / PTX).decode().replace(f'"{job.folder}/', '"'),
        log=told(str(result["log"]), job),
        compiler=f"NVRTC {version}",
        command=" ".join(["nvrtc", *options, job.source]),
        versions={"nvrtc": version},
        entries={entry: result["names"][entry] for entry in job.entries},
        symbols={symbol: result["names"][f"&{symbol}"] for symbol in job.symbols},
        dependencies=_dependencies(job),
    )


def _options(job: CudaJob) -> list[str]:
    own = [flag for flag in job.flags if not re.fullmatch(r"-O[0-3]", flag)]  # nvcc's alone
    includes = [".", *job.include_dirs, *map(str, include_folders())]
    return [
        f"--gpu-architecture={job.arch}",
        "-lineinfo",
        "--ptxas-options=-v",
        *own,
        *(f"-I{folder}" for folder in includes),
    ]


def include_folders() -> list[Path]:
    """Those of the toolkit's headers, which every source may include; none without a toolkit."""
    root = toolkit()
    if root is None:
        return []
    folders = (root / "include", root / "include" / "cccl")
    return [folder.resolve() for folder in folders if folder.exists()]


def _compile(job: CudaJob, options: list[str]) -> None:
    """In the fork: compile, and leave the results as files."""
    binding = _binding()
    source = (job.folder / job.source).read_bytes()
    _, program = _checked(binding.nvrtcCreateProgram(source, job.source.encode(), 0, None, None))
    names = [*job.entries, *(f"&{symbol}" for symbol in job.symbols)]
    for name in names:
        _checked(binding.nvrtcAddNameExpression(program, name.encode()))
    encoded = [option.encode() for option in options]
    (status,) = binding.nvrtcCompileProgram(program, len(encoded), encoded)
    log = room(_checked(binding.nvrtcGetProgramLogSize(program))[1])
    _checked(binding.nvrtcGetProgramLog(program, log))
    _, major, minor = _checked(binding.nvrtcVersion())
    result: dict[str, Any] = {
        "done": int(status) == 0,
        "log": log.replace(b"\0", b"").strip().decode("utf-8", "replace"),
        "version": f"{major}.{minor}",
        "archs": [f"sm_{number}" for number in _checked(binding.nvrtcGetSupportedArchs())[1]],
    }
    if result["done"]:
        result["names"] = {
            name: _checked(binding.nvrtcGetLoweredName(program, name.encode()))[1].decode()
            for name in names
        }
        size = _checked(binding.nvrtcGetCUBINSize(program))[1]
        cubin = room(size)
        _checked(binding.nvrtcGetCUBIN(program, cubin))
        ptx = room(_checked(binding.nvrtcGetPTXSize(program))[1])
        _checked(binding.nvrtcGetPTX(program, ptx))
        Path(CUBIN).write_bytes(cubin[:size])
        Path(PTX).write_bytes(ptx.rstrip(b"\0"))
    Path(RESULT).write_text(json.dumps(result), encoding="utf-8")


def room(size: int) -> bytes:
    """Zero bytes that NVRTC may write into: one more than `size`, as Python has a single object for
    each single byte, and an empty log of size 1 would be written into that of all."""
    return bytes(size + 1)


def _checked(answer: Any) -> Any:
    """What a call gave, its status first. Raises RuntimeError for a status that is no success."""
    if int(answer[0]) != 0:
        raise RuntimeError(f"NVRTC answered {answer[0]}")
    return answer


def _explained(log: str, job: CudaJob, result: dict[str, Any]) -> str:
    if "--gpu-architecture" in log:
        known = ", ".join(result["archs"])
        return f"NVRTC {result['version']} does not build for {job.arch} (known: {known})"
    unknown = dict[str, str]()
    for found in _UNKNOWN.finditer(log):
        unknown.setdefault(found[2].strip(), found[1])
    only_names = bool(unknown) and log.count("error:") == log.count(f"{NAMES}(")
    own = "" if only_names else errors(log, without=NAMES)
    said = [no_instance(name, job.source, why) for name, why in unknown.items()]
    if missing := _NO_HEADER.search(log):
        said.append(no_header(missing[1]))
    return "\n".join([*filter(None, [own]), *said])


def _dependencies(job: CudaJob) -> tuple[str, ...]:
    """The library, where the source includes nothing; NVRTC does not tell which headers it read."""
    found = library()
    if found is None or _INCLUDE.search((job.folder / job.source).read_text(encoding="utf-8")):
        return ()
    beside = [*found.parent.glob("libnvrtc.so.*"), *found.parent.glob("libnvrtc-builtins.so.*")]
    return tuple(sorted(str(path.resolve()) for path in beside))
