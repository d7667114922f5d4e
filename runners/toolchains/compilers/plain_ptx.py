"""PTX of a CUDA source that is still like the source: for reading what a kernel computes.

NVRTC's fastest compilation makes registers of variables and stops there: types, templates, macros
and overloads are resolved, while loops are neither unrolled nor turned, and calls, those of the
mathematical library too, stay calls. Products and sums are not fused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from .cuda_job import Compiled, CudaJob, Failed
from .nvrtc import compile_cuda

FLAGS = ("-Ofc=max", "-fmad=false")
SOURCE = "plain.cu"


def plain_ptx(
    source: str,
    entry: str,
    folder: Path,
    *,
    defines: Mapping[str, object],
    flags: Sequence[str] = (),
    arch: str = "sm_90",
) -> tuple[str, str] | Failed:
    """(PTX, name of the entry in it) of a kernel by its C++ name, made within `folder`; for a
    process with one thread. `defines`: macros and their values; `flags`: more of the compiler's."""
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
