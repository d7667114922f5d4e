"""Which compiler flags a candidate may set: an allow-list, by the contract's math.

Flags of host compilers that generate code are listed in `runners/screens/compiler_flags.py`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping

from ...runners.errors import SpecError
from ...runners.languages import KernelType
from ...runners.model import BuildOptions
from ...runners.screens.compiler_flags import (
    FAST_MATH,
    ISA,
    OPTIMISATIONS,
    changes_results,
    generates_code,
)
from ...runners.toolchains.host_cpp import COMPILERS
from ..moves.shared.base import State

DEFINE = re.compile(r"-D(?P<name>[A-Za-z_]\w*)(?:=[\w.+-]*)?", re.ASCII)
PLAIN = re.compile(
    r"-pthread|-std=(?:c|gnu)\+\+\d[0-9a-z]"
    r"|-W[a-z][a-z0-9+-]+(?:=[a-z0-9]+)?|-w"
)
CUDA_COMPILERS = ("nvrtc", "nvcc")
CUDA_FLAG = re.compile(
    r"-O[0-3]|--?maxrregcount=\d{1,3}|--extra-device-vectorization|--fmad=true"
    r"|--ptxas-options=-(?:dlcm|dscm)=[a-z]{2}|--ptxas-options=-O[0-3]|--?std=c\+\+\d\d"
    r"|-D[A-Za-z_]\w*(?:=[\w.+-]*)?",
    re.ASCII,
)
CUDA_FAST_MATH = re.compile(r"--?use_fast_math|--(?:ftz=true|prec-div=false|prec-sqrt=false)")
CUDA_VALID = (
    "--maxrregcount=N, --ptxas-options=-dlcm=ca|cg, --extra-device-vectorization, -O0 to -O3, "
    "-std=c++NN, -DNAME=TOKEN; --use_fast_math where the contract says math `fast`"
)
VALID = (
    "-O0 to -O3, -march= -mtune= and other instruction-set flags, -f flags of optimisation, "
    "-std=c++NN, -DNAME or -DNAME=TOKEN, warnings; -Ofast, -ffast-math and its parts "
    "where the contract says math `fast`"
)


def check_options(options: BuildOptions, state: State) -> None:
    """Raises SpecError for the first option of a candidate that is not allowed.

    Flags and the compiler that the spec itself names are always allowed. A language without a list
    of its own takes no others.
    """
    CHECKS.get(state.kernel_type, _check_unchanged)(options, state)


def _check_unchanged(options: BuildOptions, state: State) -> None:
    if options != state.options:
        of_triton = " (num_warps and num_stages are two of them)"
        raise SpecError(
            f"build options for a {state.kernel_type} kernel",
            valid=f"parameters{of_triton if state.language.launches_itself else ''} and source",
        )


def _check_cpp(options: BuildOptions, state: State) -> None:
    kernel = state.spec.kernel
    compilers = {*COMPILERS, *((kernel.compiler,) if kernel.compiler else ())}
    if options.compiler is not None and options.compiler not in compilers:
        raise SpecError(
            f"compiler `{options.compiler}` is not one that may be called",
            valid=", ".join(sorted(compilers)),
            next_step="kernelwright doctor says which of them are on this machine",
        )
    for flag in options.flags or ():
        if flag not in (kernel.flags or ()):
            _check_flag(flag, state)


def _check_cuda(options: BuildOptions, state: State) -> None:
    kernel = state.spec.kernel
    if options.compiler not in (None, kernel.compiler, *CUDA_COMPILERS):
        raise SpecError(
            f"compiler `{options.compiler}` is not one that may be called",
            valid=", ".join(CUDA_COMPILERS),
        )
    for flag in options.flags or ():
        if flag in (kernel.flags or ()):
            continue
        if CUDA_FAST_MATH.fullmatch(flag):
            if state.spec.io.math != "fast":
                raise SpecError(
                    f"flag `{flag}` changes results, and the contract's math is "
                    f"`{state.spec.io.math}`",
                    valid=CUDA_VALID,
                )
        elif not CUDA_FLAG.fullmatch(flag):
            raise SpecError(f"flag `{flag}` is not allowed in a candidate", valid=CUDA_VALID)


CHECKS: Mapping[KernelType, Callable[[BuildOptions, State], None]] = {
    "cpp": _check_cpp,
    "cuda": _check_cuda,
}


def _check_flag(flag: str, state: State) -> None:
    if changes_results(flag):
        if state.spec.io.math != "fast":
            raise SpecError(
                f"flag `{flag}` changes results, and the contract's math is `{state.spec.io.math}`",
                valid=VALID,
            )
        return
    if (define := DEFINE.fullmatch(flag)) and define["name"] in state.spec.parameters:
        raise SpecError(
            f"flag `{flag}` sets a declared parameter",
            valid=f'parameters: {{"{define["name"]}": ...}}',
        )
    if not (define or PLAIN.fullmatch(flag) or generates_code(flag)):
        stem = flag.split("=", 1)[0]
        close = difflib.get_close_matches(stem, _spelled(), n=1, cutoff=0.8)
        hint = f"; did you mean `{close[0]}`?" if close and close[0] != stem else ""
        raise SpecError(f"flag `{flag}` is not allowed in a candidate{hint}", valid=VALID)


def _spelled() -> Iterable[str]:
    yield from (f"-f{name}" for name in OPTIMISATIONS)
    yield from (f"-fno-{name}" for name in OPTIMISATIONS)
    yield from (f"-m{name}" for name in ISA)
    yield from FAST_MATH
