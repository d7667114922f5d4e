"""Constants in the source that read like tuning knobs: their values doubled, halved, and so on.

What is a knob: `knobs.py`, and the reader of each language beside it. What the spec's
parameters or defines set is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...runners.model import Candidate
from ...runners.specs.spec import KernelType
from .base import Move, NotApplicable, Proposals, State
from .knobs import Constant
from .knobs_cpp import cpp_knobs
from .knobs_python import python_knobs

FINDERS: Mapping[KernelType, Callable[[bytes], tuple[Constant, ...]]] = {
    "cpp": cpp_knobs,
    "cuda": cpp_knobs,
    "triton": python_knobs,
}
FACTORS = ((2, 1, 0.15), (1, 2, 0.15), (4, 1, 0.08), (1, 4, 0.08))  # times, over, prior
LARGEST = 1 << 20


def _write(state: State) -> Proposals:
    source = state.source.encode()
    taken = {*state.spec.parameters, *state.spec.kernel.defines}
    knobs = [k for k in FINDERS[state.kernel_type](source) if k.name not in taken]
    if not knobs:
        return NotApplicable("no constant in the source reads like a tuning knob")
    found = [_candidate(source, knob, *factor) for knob in knobs for factor in FACTORS]
    proposals = sorted((c for c in found if c is not None), key=lambda c: -c.prior)
    if not proposals:
        return NotApplicable("the constants in the source can be neither doubled nor halved")
    return tuple(proposals)


def _candidate(
    source: bytes, knob: Constant, times: int, over: int, prior: float
) -> Candidate | None:
    value, rest = divmod(knob.value * times, over)
    if rest or not 1 <= value <= LARGEST:
        return None
    literal = f"{value}{knob.suffix}".encode()
    return Candidate(
        method=MOVE.method,
        detail=f"{knob.name}: {knob.value} -> {value}",
        source=(source[: knob.start] + literal + source[knob.end :]).decode(),
        prior=prior,
    )


MOVE = Move(
    id="tune_constants",
    method="tune_constants",
    languages=("cpp", "cuda", "triton"),
    why="Doubles, halves, quadruples or quarters a constant of the source that reads like a "
    "tuning knob (#define TILE 32, constexpr int kUnroll = 4, BLOCK_SIZE=1024 of a launch). "
    "Pays where such a constant was never tuned; declare it as a parameter of the spec to have "
    "all its values searched.",
    write=_write,
)
