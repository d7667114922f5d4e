"""The line that builds a variant outside of here, to be pasted: what its build said, and no more.

Without a part of it the speed that was told is another one: OpenMP off, a macro at its default.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..loading.files import LoadedKernel
from ..model import Variant
from .host_cpp import COMPILERS, DEFAULT_FLAGS


@dataclass(frozen=True, slots=True)
class BuildLine:
    """How to build and link a source in the folder where it lies."""

    compiler: str
    flags: tuple[str, ...]
    """all but macros and folders"""
    macros: tuple[str, ...]
    compile: str
    """makes an object beside the source"""
    link: str
    """what a program that calls it is linked with besides"""


def build_line(
    loaded: LoadedKernel, variant: Variant, *, source: str, files: str, compiler: str | None
) -> BuildLine | None:
    """The line for a variant whose `source` lies in a folder from which `files` leads to the
    kernel's further files. `compiler`: the one that built it, where that is known. None: what is
    launched with values of its launch (GPU kernels) is built by no single line."""
    make = _LINES.get(loaded.spec.kernel.language.toolchain)
    return None if make is None else make(loaded, variant, source, files, compiler)


def _host(
    loaded: LoadedKernel, variant: Variant, source: str, files: str, compiler: str | None
) -> BuildLine:
    kernel, options = loaded.spec.kernel, variant.options
    chosen = options.compiler or kernel.compiler or compiler or COMPILERS[0]
    flags = options.flags if options.flags is not None else kernel.flags
    flags = DEFAULT_FLAGS if flags is None else flags
    defines = {**kernel.defines, **variant.parameters}
    macros = tuple(f"-D{name}={value}" for name, value in sorted(defines.items()))
    folders = (*((files,) if loaded.files else ()), *loaded.include_dirs)
    words = [*flags, *macros, *(f"-I{folder}" for folder in folders)]
    made = source.rpartition(".")[0] + ".o"
    return BuildLine(
        compiler=chosen,
        flags=flags,
        macros=macros,
        compile=shlex.join([chosen, *words, "-c", source, "-o", made]),
        link=shlex.join([made, *(f for f in flags if f.startswith(("-fopenmp", "-pthread")))]),
    )


_LINES: Mapping[str, Callable[[LoadedKernel, Variant, str, str, str | None], BuildLine]] = {
    "host_cpp": _host
}
"""by toolchain"""


def script(line: BuildLine, environment: str, told: str) -> str:
    """The line as a script that `sh` runs anywhere; `told`: what speed it gives, on what."""
    return (
        "#!/bin/sh\n"
        f"# {told}\n"
        f"# OpenMP's variables while it was timed: {environment}\n"
        f"# link your program with: {line.link}\n"
        'cd "$(dirname "$0")" &&\n'
        f"{line.compile}\n"
    )
