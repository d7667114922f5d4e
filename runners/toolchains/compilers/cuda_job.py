"""What a CUDA compiler is asked for, and what comes back; `nvrtc.py` and `nvcc.py` do it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...errors import SpecError
from ...processes.confined import Bounds, read_left
from ...processes.machine import memory_share
from .diagnostics import told_of
from .readable import Readable

MEMORY_BYTES = memory_share(8 << 30)
MAX_OUTPUT_BYTES = 256 << 20
PROCESSES = 32
_TOOLKIT_HEADER = re.compile(
    r"(?:cub|thrust|cuda|nv|cooperative_groups|crt)/|(?:cuda|curand|mma|cooperative_groups|nv)\w*\.h"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaJob:
    """One source file to compile for one GPU, in a folder that holds it and its headers."""

    folder: Path
    source: str
    """the file's name"""
    flags: tuple[str, ...]
    include_dirs: tuple[str, ...]
    arch: str
    entries: tuple[str, ...]
    """C++ names of the kernels that are launched; templates among them are instantiated"""
    symbols: tuple[str, ...]
    """C++ names of the variables that are set"""
    timeout_s: float

    @property
    def bounds(self) -> Bounds:
        """What a compiler may use."""
        return Bounds(wall_s=self.timeout_s, memory_bytes=MEMORY_BYTES, processes=PROCESSES)

    @property
    def read(self) -> list[Path]:
        """What a compiler reads beside the system and its own installation."""
        return [Path(folder) for folder in self.include_dirs]


def told(log: str, job: CudaJob) -> str:
    """What a compiler said, without what it quotes from files that are not the kernel's."""
    root = toolkit()
    installed = [] if root is None else [root]
    return told_of(log, Readable(job.folder, [*installed, *job.read]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """Machine code with the PTX it was assembled from, and the names in it."""

    cubin: bytes
    ptx: str
    log: str
    """warnings, and the text of ptxas -v"""
    compiler: str
    """name and version"""
    command: str
    versions: Mapping[str, str]
    entries: Mapping[str, str]
    """C++ name -> name in the machine code; likewise `symbols`"""
    symbols: Mapping[str, str]
    dependencies: tuple[str, ...] = ()
    """see `BuildOutcome`"""


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no machine code, for people."""

    message: str
    timed_out: bool = False
    missing_header: str = ""
    """as the source includes it"""


def left(path: Path) -> bytes:
    """A file that a compiler left. Raises SpecError when it is not there, or not a plain one."""
    try:
        return read_left(path, MAX_OUTPUT_BYTES)
    except ValueError as error:
        raise SpecError(f"the compiler's output is not as it should be: {error}") from error


def toolkit() -> Path | None:
    """The folder of a CUDA toolkit with headers, None where there is none."""
    return next((root for root in _roots() if _has_headers(root)), None)


def _roots() -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := os.environ.get(variable):
            yield Path(root)
    if compiler := shutil.which("nvcc"):
        yield Path(compiler).resolve().parents[1]
    yield Path("/usr/local/cuda")
    yield Path("/opt/cuda")
    for place in filter(None, sys.path):
        yield from sorted(Path(place).glob("nvidia/cu*"))


def _has_headers(root: Path) -> bool:
    return (root / "include" / "cuda_fp16.h").exists()


def no_header(name: str) -> str:
    """A header that a compiler does not find, and where it comes from."""
    where = (
        "the folder that holds it belongs into kernel.include_dirs, the file itself into "
        "kernel.files"
    )
    if re.fullmatch(r"[a-z_]+", name):
        where = (
            "it looks like one of the C++ standard library, which NVRTC does not have: install "
            f"nvcc and g++, or include <cuda/std/{name}>"
        )
    elif _TOOLKIT_HEADER.match(name):
        where = "it is one of the CUDA toolkit: install that, or name its folder in CUDA_HOME"
    return f"`{name}` was not found: {where}"


def no_instance(name: str, source: str, why: str) -> str:
    """A name of a plan that the source has nothing for."""
    return f"{source} has nothing for the plan's `{name.removeprefix('&')}`: {why}"
