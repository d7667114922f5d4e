"""Knobs of a candidate: the configurations that they span, and the candidate that each of them is.

A knob is a parameter of the kernel, a number that the candidate's plan defines, or a constant that
its source names. What a name is, is looked for in this order.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...runners.errors import SpecError
from ...runners.languages import Syntax
from ...runners.model import Candidate, ordered
from ..applying.apply import apply
from ..moves.shared.base import State, broken_constraints
from ..moves.shared.knobs import Constant
from ..moves.shared.knobs_cpp import cpp_constants
from ..moves.shared.knobs_python import named_integers
from ..sweep import Configuration, Space

CONSTANTS: Mapping[Syntax, Callable[[bytes], tuple[Constant, ...]]] = {
    "c": cpp_constants,
    "python": named_integers,
}


@dataclass(frozen=True)
class Tuning:
    """A candidate's knobs, found in the state that it leads to (`tuning_of`)."""

    candidate: Candidate
    before: State
    after: State
    """with the knobs as they stand"""
    plan: Mapping[str, Any]
    """of `after`; empty without one"""
    constants: Mapping[str, tuple[Constant, ...]]
    """of its source, by name: every place that gives it a value"""

    @property
    def knobs(self) -> Mapping[str, tuple[int, ...]]:
        """Values by name."""
        return self.candidate.knobs or {}

    @property
    def names(self) -> tuple[str, ...]:
        """What can be a knob here."""
        return (*self.after.spec.parameters, *self._defines, *self.constants)

    @property
    def space(self) -> Space:
        """Every configuration that the spec's constraints allow. Raises SpecError for none."""
        parameters = self.after.spec.parameters
        free = {n: v for n, v in self.after.assignment.items() if n not in self.knobs}

        def valid(configuration: Configuration) -> bool:
            chosen = {n: int(v) for n, v in configuration.items() if n in parameters}
            return not broken_constraints(self.after.spec, {**free, **chosen})

        return Space.where(self.knobs, valid)

    @property
    def start(self) -> dict[str, int]:
        """The values of the knobs before one is turned; they need not be in the space."""
        constants = {name: places[0].value for name, places in self.constants.items()}
        known = {**constants, **self._defines, **self.after.assignment}
        return {name: known[name] for name in self.knobs}

    def at(self, configuration: Mapping[str, int]) -> Candidate:
        """The candidate with its knobs at these values, and none left to turn."""
        left = dict(configuration)
        parameters = {n: left.pop(n) for n in configuration if n in self.after.spec.parameters}
        defines = {n: left.pop(n) for n in tuple(left) if n in self._defines}
        changes = [(place, value) for n, value in left.items() for place in self.constants[n]]
        source = _with_literals(self.after.source, changes)
        plan = {**self.plan, "defines": {**self._defines, **defines}}
        return self.candidate.model_copy(
            update={
                "knobs": None,
                "detail": f"{self.candidate.detail}: {ordered(configuration)}".removeprefix(": "),
                "source": None if source == self.before.source else source,
                "diff": None,
                "plan": plan if defines else self.candidate.plan,
                "parameters": {**(self.candidate.parameters or {}), **parameters} or None,
            }
        )

    @property
    def _defines(self) -> Mapping[str, int]:
        return self.plan.get("defines", {})


def tuning_of(candidate: Candidate, state: State) -> Tuning:
    """A candidate with knobs, applied to a state. Raises SpecError for a knob that is nowhere, a
    value that a parameter may not have, and what `apply` refuses."""
    after = apply(candidate.model_copy(update={"knobs": None}), state)
    found = Tuning(candidate, state, after, _plan(after), _constants(after))
    for name, values in found.knobs.items():
        if name not in found.names:
            raise _unknown(name, found.names)
        parameter = after.spec.parameters.get(name)
        if parameter is not None and (odd := set(values) - set(parameter.values)):
            raise SpecError(
                f"the knob {name} cannot be {min(odd)}",
                valid=", ".join(map(str, parameter.values)),
            )
    return found


def _plan(state: State) -> Mapping[str, Any]:
    own = state.spec.kernel.plan
    if state.plan is not None or own is None:
        return state.plan or {}
    return own.model_dump(mode="json", exclude_unset=True)


def _constants(state: State) -> dict[str, tuple[Constant, ...]]:
    found = dict[str, tuple[Constant, ...]]()
    find = CONSTANTS.get(state.language.syntax)
    for constant in () if find is None else find(state.source.encode()):
        found[constant.name] = (*found.get(constant.name, ()), constant)
    return found


def _with_literals(source: str, changes: Iterable[tuple[Constant, int]]) -> str:
    data = source.encode()
    for place, value in sorted(changes, key=lambda change: -change[0].start):
        data = data[: place.start] + f"{value}{place.suffix}".encode() + data[place.end :]
    return data.decode()


def _unknown(name: str, known: tuple[str, ...]) -> SpecError:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean `{close[0]}`?" if close else ""
    return SpecError(
        f"the knob `{name}` is no parameter, no number of the plan and no constant of the "
        f"source{hint}",
        valid=", ".join(known) or "none: no parameter, and no named constant",
        next_step="name it in the source: `#define TILE 32`, `constexpr int kUnroll = 4`, "
        "`BLOCK: tl.constexpr = 64`",
    )
