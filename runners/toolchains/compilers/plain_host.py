"""Host C++ by the door by which CUDA kernels are read: as device code of one thread, so that NVRTC
resolves its types, templates, macros and helpers, and its PTX has the loops as the source has them.

NVRTC has no headers of the standard library and takes those of no host compiler; `standard.h`
says what kernels use of them. A source that needs more does not compile for reading, which is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...c_source.functions import CppFunction, functions_named
from ...c_source.nodes import text_of
from .cuda_job import Failed
from .plain_ptx import DEVICE, compiled, with_standard_headers

ENTRY = "kernelwright_read"


def plain_host_ptx(
    source: str, entry: str, folder: Path, *, defines: Mapping[str, object]
) -> tuple[str, str] | Failed:
    """(PTX, name of the entry in it) of a host function that a contract calls, made within
    `folder`; for a process with one thread."""
    found = functions_named(source, entry, cuda=False)
    if len(found) != 1 or found[0].template:
        return Failed(f"the source has no single function {entry} that takes arrays")
    with_standard_headers(folder)
    text = f"{source}\n{_called(found[0])}"
    return compiled(text, ENTRY, folder, defines=defines, flags=DEVICE)


def _called(function: CppFunction) -> str:
    """The kernel of one thread that calls the function."""
    listed = ", ".join(text_of(each.node) for each in function.parameters)
    handed = ", ".join(each.name for each in function.parameters)
    return f'extern "C" __global__ void {ENTRY}({listed}) {{ {function.name}({handed}); }}\n'
