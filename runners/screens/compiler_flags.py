"""Which flags of g++ and clang++ a kernel may be built with: an allow-list, by what they do.

A flag is safe when it changes how code is generated and nothing else: it reads and writes
no file, loads no plug-in, starts no program, instruments nothing, and does not reach the
assembler or the linker. The same flag is the same on a command line and in a pragma.
"""

from __future__ import annotations

import re

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
OPTIMISATION = re.compile(r"-f(?:no-)?(?P<name>[a-z][a-z0-9-]*)(?:=(?P<value>[A-Za-z0-9:_.-]+))?")
MACHINE = re.compile(r"-m(?:no-)?(?P<name>[a-z0-9][a-z0-9.-]*)(?:=[A-Za-z0-9_.+,:-]+)?")
LEVEL = re.compile(r"-O[0-3]")
VALUES = {
    # auto, jobserver and a number: as many processes as somebody else says
    "lto": ("full", "thin"),
    # a library by its name is for the linker
    "openmp": (),
}
"""the only values that these flags may have"""


def changes_results(flag: str) -> bool:
    """Whether a flag lets the compiler compute something else than the source says."""
    stem = flag.split("=", 1)[0]
    return stem in FAST_MATH or stem.startswith("-mlow-precision")


def generates_code(flag: str) -> bool:
    """Whether a flag says how code is generated, and nothing else: -O, -f and -m flags."""
    return bool(LEVEL.fullmatch(flag)) or _is_optimisation(flag) or _is_machine(flag)


def _is_optimisation(flag: str) -> bool:
    match = OPTIMISATION.fullmatch(flag)
    if match is None or match["name"] not in OPTIMISATIONS:
        return False
    values = VALUES.get(match["name"])
    return match["value"] is None or values is None or match["value"] in values


def _is_machine(flag: str) -> bool:
    """-m flags of the instruction set: one of ISA, or one of them with a version (-mavx2)."""
    match = MACHINE.fullmatch(flag)
    return match is not None and any(match["name"].startswith(name) for name in ISA)
