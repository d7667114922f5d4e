"""The command that builds what was exported as the variant was built."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...runners.loading.files import LoadedKernel
    from ...runners.model import Variant

OWN_HEADER = re.compile(r'^\s*#\s*include\s*"', re.MULTILINE)


@dataclass(frozen=True)
class Compiling:
    """How a language is compiled by hand."""

    programs: tuple[str, ...]
    """the first one unless the variant or its spec names another of them"""
    defaults: tuple[str, ...]
    """flags where neither variant nor spec names any"""


def flags_for(
    loaded: LoadedKernel, variant: Variant, source: str, macros: Mapping[str, int]
) -> tuple[str, ...]:
    """What the compiler of an exported source must be told: the variant's flags, else the spec's,
    else the toolchain's; and macros as far as the source names them. `macros`: parameters without a
    place in the source. Headers of the kernel's own may name what the source does not: where it
    includes one, all are told. Empty where no compiler is called by hand."""
    kernel, how = loaded.spec.kernel, _compiling(loaded)
    if how is None:
        return ()
    flags = next(f for f in (variant.options.flags, kernel.flags, how.defaults) if f is not None)
    defines = {**kernel.defines, **macros, **(variant.plan or {}).get("defines", {})}
    every = OWN_HEADER.search(source) is not None
    told = (f"-D{n}={v}" for n, v in sorted(defines.items()) if every or _names(source, n))
    return (*flags, *told)


def build_line(
    loaded: LoadedKernel, variant: Variant, flags: tuple[str, ...], to: Path
) -> str | None:
    """`g++ -O3 -std=c++17 -DTILE=32 -c matmul.cpp`, in the file's folder; None where no compiler is
    called by hand."""
    how = _compiling(loaded)
    if how is None:
        return None
    wanted = variant.options.compiler or loaded.spec.kernel.compiler
    program = wanted if wanted in how.programs else how.programs[0]
    folders = [f"-I{folder}" for folder in loaded.include_dirs]
    return shlex.join([program, *flags, *folders, "-c", to.name])


def _names(source: str, macro: str) -> bool:
    return re.search(rf"\b{re.escape(macro)}\b", source) is not None


def _compiling(loaded: LoadedKernel) -> Compiling | None:
    """By kernel type; a language that is not listed is not compiled by hand."""
    from ...runners.toolchains import cuda_request, host_cpp

    return {
        "cpp": Compiling(host_cpp.COMPILERS, host_cpp.DEFAULT_FLAGS),
        "cuda": Compiling(("nvcc",), cuda_request.DEFAULT_FLAGS),
    }.get(loaded.spec.kernel.kernel_type)
