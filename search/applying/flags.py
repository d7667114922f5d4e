"""Which compiler flags a candidate may set: an allow-list, by the contract's math.

A flag is safe when it changes how code is generated and nothing else: it reads and writes
no file, loads no plug-in, starts no program, instruments nothing, and does not reach the
assembler or the linker.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping

from ...runners.errors import SpecError
from ...runners.languages import KernelType
from ...runners.model import BuildOptions
from ...runners.toolchains.host_cpp import COMPILERS
from ..moves.shared.base import State

# fmt: off
OPTIMISATIONS = (
    "aggressive-loop-optimizations", "align-functions", "align-jumps", "align-labels",
    "align-loops", "allow-store-data-races", "branch-count-reg", "builtin", "caller-saves",
    "code-hoisting", "combine-stack-adjustments", "conserve-stack", "cprop-registers",
    "crossjumping", "cse-follow-jumps", "dce", "delete-null-pointer-checks",
    "devirtualize", "dse", "exceptions", "expensive-optimizations", "finite-loops",
    "forward-propagate", "fp-contract", "function-sections", "gcse", "gcse-after-reload",
    "gcse-las", "gcse-lm", "gcse-sm", "graphite", "graphite-identity", "hoist-adjacent-loads",
    "if-conversion", "if-conversion2", "inline", "inline-functions",
    "inline-functions-called-once", "inline-limit", "inline-small-functions", "ipa-cp",
    "ipa-cp-clone", "ipa-icf", "ipa-modref", "ipa-pta", "ipa-ra", "ipa-sra", "ira-algorithm",
    "ira-hoist-pressure", "ira-loop-pressure", "ira-region", "isolate-erroneous-paths-dereference",
    "ivopts", "jump-tables", "live-range-shrinkage", "loop-block", "loop-interchange",
    "loop-nest-optimize", "loop-parallelize-all", "loop-strip-mine", "loop-unroll-and-jam", "lto",
    "math-errno", "merge-all-constants", "merge-constants", "modulo-sched",
    "modulo-sched-allow-regmoves", "move-loop-invariants", "move-loop-stores",
    "omit-frame-pointer", "openmp", "openmp-simd", "partial-inlining", "peel-loops", "peephole",
    "peephole2", "plt", "predictive-commoning", "prefetch-loop-arrays", "ree",
    "rename-registers", "reorder-blocks", "reorder-blocks-algorithm",
    "reorder-blocks-and-partition", "reorder-functions", "rerun-cse-after-loop",
    "reschedule-modulo-scheduled-loops", "rtti", "sched-interblock", "sched-pressure",
    "sched-spec", "sched-spec-load", "sched2-use-superblocks", "schedule-fusion",
    "schedule-insns", "schedule-insns2", "section-anchors", "sel-sched-pipelining",
    "selective-scheduling", "selective-scheduling2", "semantic-interposition", "shrink-wrap",
    "simd-cost-model", "slp-vectorize", "split-ivs-in-unroller", "split-loops", "split-paths",
    "split-wide-types", "ssa-phiopt", "stdarg-opt", "store-merging", "strict-aliasing",
    "strict-enums", "strict-overflow", "thread-jumps", "threadsafe-statics", "tracer",
    "trapping-math", "tree-builtin-call-dce", "tree-ccp", "tree-ch", "tree-coalesce-vars",
    "tree-dce", "tree-dominator-opts", "tree-dse", "tree-fre", "tree-loop-distribute-patterns",
    "tree-loop-distribution", "tree-loop-im", "tree-loop-ivcanon", "tree-loop-optimize",
    "tree-loop-vectorize", "tree-parallelize-loops", "tree-partial-pre", "tree-phiprop",
    "tree-pre", "tree-pta", "tree-reassoc", "tree-scev-cprop", "tree-sink",
    "tree-slp-vectorize", "tree-slsr", "tree-sra", "tree-switch-conversion", "tree-ter",
    "tree-vectorize", "tree-vrp", "unconstrained-commons", "unroll-all-loops", "unroll-loops",
    "unswitch-loops", "variable-expansion-in-unroller", "vect-cost-model", "vectorize",
    "version-loops-for-strides", "web", "whole-program", "wrapv",
)
FAST_MATH = (
    "-Ofast", "-fapprox-func", "-fassociative-math", "-fcx-fortran-rules", "-fcx-limited-range",
    "-fcx-method", "-fdenormal-fp-math", "-fdenormal-fp-math-f32", "-ffast-math",
    "-ffinite-math-only", "-ffp-model", "-fno-honor-infinities",
    "-fno-honor-nans", "-fno-signed-zeros", "-freciprocal-math", "-fsingle-precision-constant",
    "-funsafe-math-optimizations", "-mdaz-ftz", "-mno-ieee-fp", "-mrecip",
)
ISA = (
    "3dnow", "abm", "adx", "aes", "amx", "arch", "avx", "bmi", "branch-cost", "cldemote",
    "clflushopt", "clwb", "cpu", "crc32", "cx16", "f16c", "fma", "fpmath", "fsgsbase", "gather",
    "general-regs-only", "gfni", "inline-all-stringops", "lzcnt", "memcpy-strategy",
    "memset-strategy", "mmx", "move-max", "movbe", "movdir", "omit-leaf-frame-pointer",
    "outline-atomics", "partial-vector-fp-math", "pclmul", "popcnt", "prefer-vector-width",
    "prefetch", "prfchw", "rdrnd", "red-zone", "sahf", "scatter", "sha", "sse", "ssse",
    "store-max", "stringop-strategy", "sve-vector-bits", "tune", "vaes", "vect8-ret-in-mem",
    "vpclmulqdq", "vzeroupper", "xop", "xsave",
)
# fmt: on
OPTIMISATION = re.compile(r"-f(?:no-)?(?P<name>[a-z][a-z0-9-]*)(?:=[A-Za-z0-9:_.-]+)?")
MACHINE = re.compile(r"-m(?:no-)?(?P<name>[a-z0-9][a-z0-9.-]*)(?:=[A-Za-z0-9_.+,:-]+)?")
DEFINE = re.compile(r"-D(?P<name>[A-Za-z_]\w*)(?:=[\w.+-]*)?", re.ASCII)
PLAIN = re.compile(
    r"-O[0-3]|-pthread|-std=(?:c|gnu)\+\+\d[0-9a-z]"
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
    stem = flag.split("=", 1)[0]
    if stem in FAST_MATH or stem.startswith("-mlow-precision"):
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
    if not (define or PLAIN.fullmatch(flag) or _is_optimisation(flag) or _is_machine(flag)):
        close = difflib.get_close_matches(stem, _spelled(), n=1, cutoff=0.8)
        hint = f"; did you mean `{close[0]}`?" if close and close[0] != stem else ""
        raise SpecError(f"flag `{flag}` is not allowed in a candidate{hint}", valid=VALID)


def _is_optimisation(flag: str) -> bool:
    match = OPTIMISATION.fullmatch(flag)
    return match is not None and match["name"] in OPTIMISATIONS


def _is_machine(flag: str) -> bool:
    """-m flags of the instruction set: one of ISA, or one of them with a version (-mavx2)."""
    match = MACHINE.fullmatch(flag)
    return match is not None and any(match["name"].startswith(name) for name in ISA)


def _spelled() -> Iterable[str]:
    yield from (f"-f{name}" for name in OPTIMISATIONS)
    yield from (f"-fno-{name}" for name in OPTIMISATIONS)
    yield from (f"-m{name}" for name in ISA)
    yield from FAST_MATH
