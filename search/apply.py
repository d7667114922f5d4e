"""A candidate and a state give the next state, or an error that says what is valid."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path

from ..runners.errors import SpecError
from ..runners.found_parameters import FOUND_NAME
from ..runners.model import Candidate, ordered
from ..runners.spec_files import MAX_SOURCE
from .diffs import apply_diff
from .flags import check_options
from .moves.base import State, broken_constraints


def apply(candidate: Candidate, state: State, scratch: Path | None = None) -> State:
    """The state that a candidate leads to; nothing is built or run.

    `scratch`: folder for temporary files of the diff appliers; None: the system's.
    Raises SpecError for a diff that does not fit, a source that is empty or over 1 MiB,
    parameters that are unknown, not listed or against a constraint, compiler flags outside
    the allow-list, a plan for a kernel that has none.
    """
    if candidate.plan is not None and state.kernel_type != "cuda":
        raise SpecError(
            f"a launch plan for a {state.kernel_type} kernel",
            valid="source, diff, options and parameters; plans belong to CUDA kernels",
        )
    if candidate.options is not None:
        check_options(candidate.options, state)
    return replace(
        state,
        source=_source(candidate, state, scratch),
        parameters=_parameters(candidate, state),
        options=candidate.options or state.options,
        plan=candidate.plan if candidate.plan is not None else state.plan,
    )


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
    if entry not in source:
        raise SpecError(
            f"the entry function `{entry}` does not occur in the source",
            valid="the whole file, with the entry under its old name",
        )
    return source


def _parameters(candidate: Candidate, state: State) -> dict[str, int]:
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
                f"{name}={value} is not among the values that the spec lists",
                valid=", ".join(map(str, declared[name].values)),
            )
    merged = state.assignment
    if candidate.plan is not None:  # its own sizes count, not those tuned for another plan
        merged |= {n: p.start for n, p in declared.items() if FOUND_NAME.fullmatch(n)}
    merged |= candidate.parameters or {}
    if candidate.parameters and (broken := broken_constraints(state.spec, merged)):
        raise SpecError(
            f"{ordered(merged)} does not meet the constraint `{broken[0]}`",
            valid="; ".join(state.spec.constraints),
            next_step="change the parameters named in it together",
        )
    return merged
