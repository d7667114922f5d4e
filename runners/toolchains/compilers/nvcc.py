"""CUDA C++ with nvcc: PTX first, then machine code from just that PTX, so that the two belong
together and listings point into it. No host code is linked or run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from ...processes.confined import ConfinedFork, Ended
from ...processes.process import clean_environment
from .cuda_job import (
    MEMORY_BYTES,
    Compiled,
    CudaJob,
    Failed,
    left,
    no_header,
    no_instance,
    told,
    toolkit,
)
from .diagnostics import cuda_words, errors, errors_by_line

ENTRIES = "kernelwright_entries.cu"
"""includes the source, and names every kernel and variable once: that instantiates templates,
and the PTX tells their names in machine code"""
PTX, CUBIN, DEPENDENCIES = "variant.ptx", "variant.cubin", "variant.d"
NAME = "kernelwright_name_"
_TOLD = re.compile(rf"^.*\.global .*\b{NAME}(\d+) = (?:generic\()?([\w$.]+)\)?;\n", re.MULTILINE)
_PTX_LINE = re.compile(rf"ptxas {PTX}, line (\d+); error")
_NO_HEADER = re.compile(r"fatal error: (\S+): No such file")


def executable() -> Path | None:
    """The nvcc of this machine: on PATH, else of the toolkit."""
    if found := shutil.which("nvcc"):
        return Path(found)
    root = toolkit()
    inside = None if root is None else root / "bin" / "nvcc"
    return inside if inside is not None and os.access(inside, os.X_OK) else None


def compile_cuda(job: CudaJob) -> Compiled | Failed:
    """Compile within the job's folder."""
    tool = executable()
    assert tool is not None
    names = (*job.entries, *(f"&{symbol}" for symbol in job.symbols))
    lines = [f"__device__ const void* {NAME}{n} = (const void*){x};" for n, x in enumerate(names)]
    text = "\n".join([f'#include "{job.source}"', *lines, ""])
    (job.folder / ENTRIES).write_text(text, encoding="utf-8")
    common = [str(tool), f"-arch={job.arch}", "-lineinfo", *job.flags]
    includes = ["-I.", *(f"-I{folder}" for folder in job.include_dirs)]
    first = [*common, *includes, "-ptx", "-MD", "-MF", DEPENDENCIES, ENTRIES, "-o", PTX]
    ended, log = _run(first, job, tool)
    if ended.returncode != 0:
        return _failed(ended, cuda_words(log), job, names)
    ptx, names_in_code = _without_names(left(job.folder / PTX).decode(), job.folder)
    (job.folder / PTX).write_text(ptx, encoding="utf-8")
    second = [*common, "-Xptxas", "-v", "-cubin", PTX, "-o", CUBIN]
    ended, assembler = _run(second, job, tool)
    if ended.returncode != 0:
        return _failed(ended, assembler, job, names)
    version = _version(tool)
    return Compiled(
        cubin=left(job.folder / CUBIN),
        ptx=ptx,
        log=f"{cuda_words(log)}\n{assembler}",
        compiler=f"nvcc {version}",
        command=" ".join(["nvcc", *first[1:]]),
        versions={"nvcc": version},
        entries={entry: names_in_code[n] for n, entry in enumerate(job.entries)},
        symbols={x: names_in_code[len(job.entries) + n] for n, x in enumerate(job.symbols)},
        dependencies=_dependencies(job, tool),
    )


def _run(argv: list[str], job: CudaJob, tool: Path) -> tuple[Ended, str]:
    """One command, confined, and what it said; for a process with one thread."""
    root = toolkit()
    log = job.folder / "nvcc.log"
    environment = clean_environment(job.folder, {"LC_ALL": "C"})
    installed = [tool.resolve().parents[1], *([] if root is None else [root.resolve()])]
    ended = ConfinedFork(
        lambda: os.execve(argv[0], argv, environment),
        folder=job.folder,
        log=log,
        bounds=job.bounds,
        read=[*installed, *job.read],
    ).wait()
    return ended, told(left(log).decode("utf-8", "replace"), job)


def _without_names(ptx: str, folder: Path) -> tuple[str, dict[int, str]]:
    """The PTX without the variables of `ENTRIES` and the build's folder, and what they told."""
    names = {int(found[1]): found[2] for found in _TOLD.finditer(ptx)}
    return _TOLD.sub("", ptx).replace(f'"{folder}/', '"'), names


def _failed(ended: Ended, log: str, job: CudaJob, names: tuple[str, ...]) -> Failed:
    if ended.over:
        return Failed(f"nvcc: {ended.over}", ended.timed_out)
    if re.search(r"(?m)^\S+: out of memory allocating", log):
        return Failed(
            f"nvcc needed more memory than the {MEMORY_BYTES / 2**30:.3g} GiB it may take"
        )
    if "Unsupported gpu architecture" in log:
        tool = executable()
        assert tool is not None
        known = ", ".join(_architectures(tool)) or "nvcc --list-gpu-code"
        return Failed(f"nvcc {_version(tool)} does not build for {job.arch} (known: {known})")
    unknown = errors_by_line(log, ENTRIES)
    own = errors(log, without=ENTRIES) if f"{ENTRIES}(" in log else errors(log)
    if unknown and f"{ENTRIES}(" in own:  # nothing was said of the reader's own lines
        own = ""
    said = [no_instance(names[n - 2], job.source, why) for n, why in unknown.items() if n > 1]
    said += _ptx_lines(log, job)
    missing = _NO_HEADER.search(log)
    header = "" if missing is None else missing[1].rstrip(":")
    said += [no_header(header)] * bool(header)
    return Failed("\n".join([*filter(None, [own]), *said]), missing_header=header)


def _ptx_lines(log: str, job: CudaJob) -> list[str]:
    """The lines of PTX that the assembler refuses: they come from `asm` in the source."""
    numbers = dict.fromkeys(int(found[1]) for found in _PTX_LINE.finditer(log))
    if not numbers:
        return []
    lines = left(job.folder / PTX).decode("utf-8", "replace").splitlines()
    return [f"line {n}: {lines[n - 1].strip()}" for n in numbers if n <= len(lines)][:5]


def _dependencies(job: CudaJob, tool: Path) -> tuple[str, ...]:
    """The compiler and all headers, as absolute paths; files of the job's own folder left out."""
    text = left(job.folder / DEPENDENCIES).decode("utf-8", "replace").replace("\\\n", " ")
    listed = {os.path.realpath(job.folder / word) for word in text.partition(" : ")[2].split()}
    root = toolkit()
    parts = ("bin/ptxas", "bin/cudafe++", "nvvm/bin/cicc")
    tools = [tool] if root is None else [tool, *(root / part for part in parts)]
    outside = [path for path in listed if not Path(path).is_relative_to(job.folder.resolve())]
    return tuple(sorted({*outside, *(os.path.realpath(t) for t in tools if t.exists())}))


@cache
def _version(tool: Path) -> str:
    done = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=20)
    found = re.search(r"\bV([\d.]+)", done.stdout)
    return found[1] if found else "of unknown version"


@cache
def _architectures(tool: Path) -> tuple[str, ...]:
    """What it builds machine code for, the oldest first; nothing where it does not tell."""
    asked = [tool, "--list-gpu-code"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=20, check=False)
    return tuple(re.findall(r"^sm_\d+$", done.stdout, re.MULTILINE))
