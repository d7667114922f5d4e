"""PTX of a CUDA source that is still like the source: for reading what a kernel computes.

NVRTC's fastest compilation makes registers of variables and stops there: types, templates, macros
and overloads are resolved, while loops are neither unrolled nor turned, and calls, those of the
mathematical library too, stay calls. Products and sums are not fused.

NVRTC takes no code of the host, has no headers of the standard library, and includes nothing by
itself as nvcc does (`INFINITY`, `uint32_t`). A file that it refuses is read without its functions
of the host and without what the kernel does not need, and with `standard.h` in place of those
headers: what kernels use of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...c_source.device_part import device_part, included
from ...c_source.needed_part import needed_part
from .cuda_job import Compiled, CudaJob, Failed
from .nvrtc import compile_cuda, include_folders

FLAGS = ("-Ofc=max", "-fmad=false")
SOURCE = "plain.cu"
DEVICE = ("-default-device", "-std=c++17")
"""functions without a word for where they run are functions of the device"""
STANDARD = "kernelwright_standard.h"
HEADERS = (
    "algorithm", "array", "cassert", "assert.h", "cfloat", "float.h", "climits", "limits.h",
    "cmath", "math.h", "cstddef", "stddef.h", "cstdint", "stdint.h", "cstdio", "stdio.h",
    "cstdlib", "stdlib.h", "cstring", "string.h", "functional", "limits", "numeric", "omp.h",
    "type_traits", "utility",
    "bitset", "chrono", "complex", "cstdarg", "ctime", "exception", "fstream", "initializer_list",
    "iomanip", "iostream", "iterator", "map", "memory", "new", "optional", "ostream", "random",
    "set", "sstream", "stdbool.h", "stdexcept", "string", "string_view", "time.h", "tuple",
    "unordered_map", "unordered_set", "valarray", "vector",
)  # fmt: skip
"""that are there, as far as `standard.h` goes: of some, no more than their names"""
_STANDARD = Path(__file__).with_name("standard.h")
GROUPS = (
    "cooperative_groups.h", "cooperative_groups/reduce.h", "cub/cub.cuh",
    "cub/block/block_reduce.cuh", "cub/warp/warp_reduce.cuh",
)  # fmt: skip
"""in whose places `groups.h` is read, as far as it goes"""
_GROUPS = Path(__file__).with_name("groups.h")
_OF_THE_HOST = ("thrust/", "cub/cub.cuh", "cub/device/", "cublas", "cusparse", "cufft", "cudnn")
"""headers of the toolkit that only code of the host uses"""
_WITH_NARROW_FLOATS = ("cublas", "cudnn", "cusparse", "cufft", "cutensor")
_NARROW_FLOATS = ("cuda_fp16.h", "cuda_bf16.h")


def plain_ptx(
    source: str, entry: str, folder: Path, *, defines: Mapping[str, object]
) -> tuple[str, str] | Failed:
    """(PTX, name of the entry in it) of a kernel by its C++ name, made within `folder`; for a
    process with one thread. `defines`: macros and their values."""
    stood_in = included(source) & set(GROUPS)
    if stood_in:
        own = folder / "groups"
        for name in GROUPS:
            (own / name).parent.mkdir(parents=True, exist_ok=True)
            (own / name).write_bytes(_GROUPS.read_bytes())
        made = _read(source, entry, own, stood_in, defines=defines)
        if isinstance(made, tuple):
            return made
    return _read(source, entry, folder, frozenset(), defines=defines)


def _read(
    source: str,
    entry: str,
    folder: Path,
    stood_in: frozenset[str],
    *,
    defines: Mapping[str, object],
) -> tuple[str, str] | Failed:
    """As `plain_ptx`. `stood_in`: headers of the source that lie in the folder."""
    made = compiled(source, entry, folder, defines=defines)
    if isinstance(made, tuple):
        return made
    there = _there(source) | stood_in
    with_standard_headers(folder)
    brought = _brought(source, there)
    toolkit = ("-DKERNELWRIGHT_WITH_TOOLKIT",) * bool({*there, *brought} - {*HEADERS})
    first = (STANDARD, *brought)
    flags = (*DEVICE, *(f"--pre-include={name}" for name in first), *toolkit)
    needed = needed_part(source, entry.partition("<")[0].rpartition("::")[2].strip(), there)
    made = compiled(needed, entry, folder, defines=defines, flags=flags)
    if isinstance(made, tuple):
        return made
    alone = device_part(source, there)
    more = compiled(alone, entry, folder, defines=defines, flags=flags)
    return more if isinstance(more, tuple) else made


def _there(source: str) -> frozenset[str]:
    """Headers of a source that NVRTC takes: those of the toolkit, and of `HEADERS`."""
    folders = include_folders()
    asked = {name for name in included(source) if not name.startswith(_OF_THE_HOST)}
    found = {name for name in asked if any((folder / name).is_file() for folder in folders)}
    return frozenset(found | (asked & set(HEADERS)))


def _brought(source: str, there: frozenset[str]) -> tuple[str, ...]:
    """Headers of types that a library of the host brings, which is left out or not installed."""
    libraries = any(name.startswith(_WITH_NARROW_FLOATS) for name in included(source))
    folders = include_folders() if libraries else []
    return tuple(
        name
        for name in _NARROW_FLOATS
        if name not in there and any((folder / name).is_file() for folder in folders)
    )


def with_standard_headers(folder: Path) -> None:
    """Put the headers that sources may include into the folder where they are compiled."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STANDARD).write_bytes(_STANDARD.read_bytes())
    for name in HEADERS:
        (folder / name).write_text(f'#include "{STANDARD}"\n', encoding="utf-8")


def compiled(
    source: str,
    entry: str,
    folder: Path,
    *,
    defines: Mapping[str, object],
    flags: Sequence[str] = (),
    arch: str = "compute_90",
) -> tuple[str, str] | Failed:
    """As `plain_ptx`, of exactly this source; `flags`: more of the compiler's. `arch`: a
    virtual one, for which nothing is assembled."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SOURCE).write_text(source, encoding="utf-8")
    job = CudaJob(
        folder=folder,
        source=SOURCE,
        flags=(*FLAGS, *flags, *(f"-D{name}={value}" for name, value in defines.items())),
        include_dirs=(),
        arch=arch,
        entries=(entry,),
        symbols=(),
        timeout_s=60,
    )
    made = compile_cuda(job)
    return (made.ptx, made.entries[entry]) if isinstance(made, Compiled) else made
