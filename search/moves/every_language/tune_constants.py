"""Constants in the source that read like tuning knobs: their values doubled, halved, and so on.

What is a knob: `knobs.py`, and the reader of each language beside it; and every number that a CUDA
plan defines. What the spec's parameters or defines set is none, nor is a constant whose number the
launch is made of as well (a block of 256, and `#define THREADS 256`): both would have to change.
Values with which the launch is not legal any more, an assertion of the source fails, or shared
memory does not suffice are left out (`constant_ties.py`). A sweep keeps those: with others turned,
too, they may fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ....runners.languages import KERNEL_TYPES, Syntax
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.constant_ties import broken, launched_with
from ..shared.knobs import Constant
from ..shared.knobs_cpp import cpp_knobs
from ..shared.knobs_python import python_knobs

FINDERS: Mapping[Syntax, Callable[[bytes], tuple[Constant, ...]]] = {
    "c": cpp_knobs,
    "python": python_knobs,
}
FACTORS = ((2, 1, 0.15), (1, 2, 0.15), (4, 1, 0.08), (1, 4, 0.08))  # times, over, prior
LARGEST = 1 << 20


def knobs_of(state: State) -> list[Constant]:
    """Constants of the source that read like knobs, and that nothing beside the source sets."""
    taken = {*state.spec.parameters, *state.spec.kernel.defines, *defines_of(state)}
    sizes = launched_with(state) if state.language.planned else frozenset[int]()
    find = FINDERS.get(state.language.syntax)
    found = () if find is None else find(state.source.encode())
    return [k for k in found if k.name not in taken and k.value not in sizes]


def defines_of(state: State) -> Mapping[str, int]:
    """Numbers that the state's own CUDA plan defines: who wrote them there chose them."""
    return {} if state.plan is None else state.plan.get("defines", {})


def scaled(value: int, times: int, over: int) -> int | None:
    """The value times a factor, where that is a whole number in range."""
    found, rest = divmod(value * times, over)
    return None if rest or not 1 <= found <= LARGEST else found


def _write(state: State) -> Proposals:
    source, knobs, defines = state.source.encode(), knobs_of(state), defines_of(state)
    if not knobs and not defines:
        return NotApplicable("no constant in the source reads like a tuning knob")
    found = [_constant(source, knob, *factor) for knob in knobs for factor in FACTORS]
    found += [_define(state, name, *factor) for name in defines for factor in FACTORS]
    proposals = _fitting(state, [c for c in found if c is not None])
    if not proposals:
        return NotApplicable("the constants in the source can be neither doubled nor halved")
    return tuple(sorted(proposals, key=lambda c: -c.prior))


def _fitting(state: State, candidates: list[Candidate]) -> list[Candidate]:
    """Those of them that break nothing which held before."""
    if not state.language.planned or not candidates:
        return candidates
    before = broken(state)
    return [c for c in candidates if broken(_after(state, c)) <= before]


def _after(state: State, candidate: Candidate) -> State:
    plan = candidate.plan or state.plan
    return replace(state, source=candidate.source or state.source, plan=plan)


def _constant(
    source: bytes, knob: Constant, times: int, over: int, prior: float
) -> Candidate | None:
    value = scaled(knob.value, times, over)
    if value is None:
        return None
    literal = f"{value}{knob.suffix}".encode()
    return Candidate(
        method=MOVE.method,
        detail=f"{knob.name}: {knob.value} -> {value}",
        source=(source[: knob.start] + literal + source[knob.end :]).decode(),
        prior=prior,
    )


def _define(state: State, name: str, times: int, over: int, prior: float) -> Candidate | None:
    before = defines_of(state)
    value = scaled(before[name], times, over)
    if value is None or state.plan is None:
        return None
    return Candidate(
        method=MOVE.method,
        detail=f"{name}: {before[name]} -> {value}",
        plan={**state.plan, "defines": {**before, name: value}},
        prior=prior,
    )


MOVE = Move(
    id="tune_constants",
    method="tune_constants",
    languages=KERNEL_TYPES,
    why="Doubles, halves, quadruples or quarters a constant of the source that reads like a "
    "tuning knob (#define TILE 32, constexpr int kUnroll = 4, BLOCK_SIZE=1024 of a launch). "
    "Pays where such a constant was never tuned; declare it as a parameter of the spec to have "
    "all its values searched.",
    write=_write,
)
