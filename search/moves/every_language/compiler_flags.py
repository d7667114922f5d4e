"""Other compiler flags for host C++, one small family at a time, and the other compiler."""

from __future__ import annotations

import platform
import re
import shutil
from dataclasses import dataclass

from ....runners.model import BuildOptions, Candidate
from ....runners.toolchains.host_cpp import COMPILERS, DEFAULT_FLAGS
from ..shared.base import Move, NotApplicable, Proposals, State


@dataclass(frozen=True)
class Family:
    """Flags that belong together; they replace present flags that begin with `instead_of`."""

    flags: tuple[str, ...]
    prior: float
    instead_of: str | None = None
    x86: bool = False
    fast_math: bool = False
    of_math_functions: bool = False
    """without a call of math.h it changes no code"""


FAMILIES = (
    Family(("-ffast-math",), 0.25, fast_math=True),
    Family(
        # gcc ignores -fassociative-math without the other two
        ("-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math"),
        0.15,
        fast_math=True,
    ),
    Family(("-fno-math-errno",), 0.12, of_math_functions=True),
    Family(("-mprefer-vector-width=512",), 0.12, "-mprefer-vector-width=", x86=True),
    Family(("-funroll-loops",), 0.1),
    Family(("-fno-trapping-math",), 0.1),
    Family(("-mprefer-vector-width=256",), 0.08, "-mprefer-vector-width=", x86=True),
    Family(("-O2",), 0.05, "-O"),
)
ORDER = {f: n for n, f in enumerate(dict.fromkeys(f for family in FAMILIES for f in family.flags))}
OF_FAMILIES = frozenset(ORDER)
COMPILER_PRIOR = 0.1
SETS_ERRNO = re.compile(
    r"\b(?:__builtin_)?(?:a?cos|a?sin|a?tan|atan2|a?cosh|a?sinh|a?tanh|exp|exp2|exp10|expm1|log|log2"
    r"|log10|log1p|logb|ilogb|pow|sqrt|cbrt|hypot|erf|erfc|[lt]gamma|fmod|remainder|remquo|fdim|fma"
    r"|ldexp|scalbl?n|nearbyint|l?lrint|l?lround|nextafter|nexttoward|norm|abs|polar|complex)[fl]?\b"
)
"""functions of math.h that may set errno (C17 7.12, and glibc's), and what of <complex> calls them;
one that is called under another name by a header of the system is not seen"""


def effective_flags(state: State) -> tuple[str, ...]:
    """The flags that the state is built with: its own, else the spec's, else the default."""
    for flags in (state.options.flags, state.spec.kernel.flags):
        if flags is not None:
            return flags
    return DEFAULT_FLAGS


def _write(state: State) -> Proposals:
    found = [*_families(state), *_compilers(state)]
    if not found:
        return NotApplicable(
            "every flag that the contract allows and this code can heed is set already"
        )
    return tuple(sorted(found, key=lambda c: -c.prior))


def _families(state: State) -> list[Candidate]:
    flags = effective_flags(state)
    first = state.spec.kernel.flags or DEFAULT_FLAGS
    x86 = platform.machine() in ("x86_64", "AMD64")
    fast = state.spec.io.math == "fast"
    errno = any(SETS_ERRNO.search(text) for text in (state.source, *state.files.values()))
    return [
        Candidate(
            method=MOVE.method,
            detail=" ".join(family.flags),
            options=BuildOptions(
                compiler=state.options.compiler, flags=_with(flags, family, first)
            ),
            prior=family.prior,
        )
        for family in FAMILIES
        if not set(family.flags) <= set(flags)
        and (x86 or not family.x86)
        and (fast or not family.fast_math)
        and (errno or not family.of_math_functions)
    ]


def _with(flags: tuple[str, ...], family: Family, first: tuple[str, ...]) -> tuple[str, ...]:
    """The flags with a family's: the `first` of a kernel keep their places, those of families come
    behind in the order of FAMILIES. Whatever way led there, it is the same variant."""
    gone = family.instead_of
    kept = [f for f in flags if gone is None or not f.startswith(gone)]
    added = (OF_FAMILIES.intersection(kept) - set(first)) | set(family.flags)
    return (*(f for f in kept if f not in added), *sorted(added, key=ORDER.__getitem__))


def _compilers(state: State) -> list[Candidate]:
    here = [c for c in COMPILERS if shutil.which(c)]
    now = state.options.compiler or state.spec.kernel.compiler or (here[0] if here else None)
    return [
        Candidate(
            method=MOVE.method,
            detail=f"{now} -> {other}",
            options=BuildOptions(compiler=other, flags=effective_flags(state)),
            prior=COMPILER_PRIOR,
        )
        for other in here
        if other != now
    ]


MOVE = Move(
    id="compiler_flags",
    method="compiler_flags",
    languages=("cpp",),
    why="Sets flags that the contract's math allows: unrolling, no errno, no floating-point traps, "
    "vector width, -O2, the other compiler; fast math only where the contract says so. Pays "
    "where a hot loop did not vectorize, or wide vectors lower the clock.",
    write=_write,
)
