"""Flags of the CUDA compiler that change how code is generated, within the contract's math.

They are spelled so that NVRTC and nvcc both take them.
"""

from __future__ import annotations

from ....runners.model import BuildOptions, Candidate
from ..shared.base import Move, NotApplicable, Proposals, State

REGISTERS = "--maxrregcount="
LOADS = "--ptxas-options=-dlcm="
CHOICES = (
    # what a flag replaces, its prior
    (f"{REGISTERS}64", REGISTERS, 0.12),
    (f"{REGISTERS}32", REGISTERS, 0.12),
    (f"{REGISTERS}128", REGISTERS, 0.08),
    (f"{LOADS}cg", LOADS, 0.08),
    ("--extra-device-vectorization", "", 0.06),
    ("--use_fast_math", "", 0.25),
)


def _write(state: State) -> Proposals:
    kernel = state.spec.kernel
    flags = kernel.flags if state.options.flags is None else state.options.flags
    now, fast = tuple(flags or ()), state.spec.io.math == "fast"
    found = [
        Candidate(
            method=MOVE.method,
            detail=flag,
            options=BuildOptions(
                compiler=state.options.compiler,
                flags=(*(f for f in now if not (family and f.startswith(family))), flag),
            ),
            prior=prior,
        )
        for flag, family, prior in CHOICES
        if flag not in now and (fast or flag != "--use_fast_math")
    ]
    if not found:
        return NotApplicable("every flag that the contract allows is set already")
    return tuple(sorted(found, key=lambda c: -c.prior))


MOVE = Move(
    id="cuda_flags",
    method="cuda_flags",
    languages=("cuda",),
    why="Caps registers, so that more blocks are resident; lets loads bypass L1; fast math only "
    "where the contract says so. Pays where occupancy hides latency, and costs spills elsewhere.",
    write=_write,
)
