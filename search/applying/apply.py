"""A candidate and a state give the next state, or an error that says what is valid."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path

from ...runners.errors import SpecError
from ...runners.loading.files import MAX_SOURCE
from ...runners.model import Candidate, ordered
from ...runners.plans.launch_in_force import launch_in_force
from ...runners.specs.declared_plan_model import TRITON_OPTIONS
from ...runners.wording import cut
from ..moves.shared.base import State, broken_constraints
from ..moves.shared.knobs_python import named_integers
from .diffs import apply_diff
from .flags import check_options
from .left_out import require_whole


def apply(candidate: Candidate, state: State, scratch: Path | None = None) -> State:
    """The state that a candidate leads to; nothing is built or run.

    `scratch`: folder for temporary files of the diff appliers; None: the system's.
    Raises SpecError for a diff that does not fit, a source that is empty, over 1 MiB or has words
    in place of code,
    parameters that are unknown, not listed or against a constraint, compiler flags outside
    the allow-list, a plan for a kernel that has none, and one that is no launch of a Triton kernel.
    """
    _check_plan(candidate, state)
    if candidate.options is not None:
        check_options(candidate.options, state)
    source = _source(candidate, state, scratch)
    return replace(
        state,
        source=source,
        parameters=_parameters(candidate, state, source),
        options=candidate.options or state.options,
        plan=candidate.plan if candidate.plan is not None else state.plan,
    )


def _check_plan(candidate: Candidate, state: State) -> None:
    language = state.language
    if candidate.plan is None or language.planned:
        return
    if language.launch is None:
        raise SpecError(
            f"a launch plan for a {state.kernel_type} kernel",
            valid="source, diff, options and parameters; plans belong to kernels that are launched",
        )
    launch_in_force(state.spec.kernel, candidate.plan)


def _source(candidate: Candidate, state: State, scratch: Path | None) -> str:
    if candidate.source is not None:
        source = candidate.source
    elif candidate.diff is not None:
        source = apply_diff(state.source, candidate.diff, scratch)
        if source.rstrip("\n") == state.source.rstrip("\n"):
            raise SpecError("the diff changes nothing", valid="lines that begin with - or +")
    else:
        return state.source
    size, entry = len(source.encode()), state.spec.kernel.metadata.kernel_name
    if size > MAX_SOURCE:
        raise SpecError(f"the source holds {size} bytes", valid="up to 1 MiB")
    require_whole(source, state.source)
    if len(source.split()) == 1:
        raise SpecError(
            f"`{cut(source.strip(), 80)}` is one word, as a path would be, and no source",
            valid="the text of the whole file itself",
        )
    if entry not in source:
        raise SpecError(
            f"the entry function `{entry}` does not occur in the source",
            valid="the whole file, with the entry under its old name",
        )
    return source


def _parameters(candidate: Candidate, state: State, source: str) -> dict[str, int]:
    declared = state.spec.parameters
    for name, value in (candidate.parameters or {}).items():
        if name not in declared:
            close = difflib.get_close_matches(name, declared, n=1)
            hint = f"; did you mean `{close[0]}`?" if close else ""
            raise SpecError(
                f"`{name}` is not a parameter of this kernel{hint}",
                valid=", ".join(declared) or "none: the spec declares no parameters",
            )
        if value not in declared[name].values:
            raise SpecError(
                f"{name}={value} is not among the values that it may have",
                valid=", ".join(map(str, declared[name].values)),
            )
    own = _chosen_anew(candidate, state, source)
    kept = {n: v for n, v in state.chosen.items() if n not in own}
    merged = kept | (candidate.parameters or {})
    full = state.assignment | merged
    if candidate.parameters and (broken := broken_constraints(state.spec, full)):
        raise SpecError(
            f"{ordered(full)} does not meet the constraint `{broken[0]}`",
            valid="; ".join(state.spec.constraints),
            next_step="change the parameters named in it together",
        )
    return merged


def _chosen_anew(candidate: Candidate, state: State, source: str) -> frozenset[str]:
    """Found parameters that a new source or launch gives other values of its own (`num_warps=8`):
    those count then, and not what was tuned before."""
    if not state.language.launches_itself:
        return frozenset() if candidate.plan is None else state.found
    by_source = frozenset[str]()
    if source != state.source:
        before, after = (_values(text) for text in (state.source, source))
        by_source = frozenset(n for n in state.found if before.get(n) != after.get(n))
    return by_source | _launched_anew(candidate, state)


def _launched_anew(candidate: Candidate, state: State) -> frozenset[str]:
    if candidate.plan is None:
        return frozenset()
    kernel = state.spec.kernel
    before, after = (launch_in_force(kernel, plan) for plan in (state.plan, candidate.plan))
    options = state.found & {*TRITON_OPTIONS}
    return frozenset(n for n in options if getattr(before, n) != getattr(after, n))


def _values(source: str) -> dict[str, list[int]]:
    found = dict[str, list[int]]()
    for place in named_integers(source.encode()):
        found.setdefault(place.name, []).append(place.value)
    return found
