"""Which parameters can change a variant at all: a rewrite may have left some without a use.

What changes nothing is built all the same, and a sweep over it spends a quarter of a budget.
"""

from __future__ import annotations

import re

from ....runners.errors import SpecError
from ....runners.inferring.found_parameters import find_parameters
from ....runners.plans.declared_plan import declared_plan
from ....runners.plans.launch_in_force import launch_in_force, names_used
from .base import State

BY_THE_COMPILER = frozenset({"num_warps", "num_ctas", "maxnreg"})
"""Triton's options; `num_stages` counts where there is a loop"""
AT_LAUNCH = re.compile(r'"(\w+)"\s*:\s*lambda\b')
"""what `triton.heuristics` works out from a launch's arguments"""


def live_parameters(state: State) -> frozenset[str]:
    """Declared and found parameters that the source or the launch has a use for.

    Not those that a Triton source works out anew at each launch: one value for all of them would
    undo what it does for other shapes.
    """
    names = frozenset(state.spec.parameters)
    if '#include "' in state.source:
        return names  # a file that nobody has read here may name any of them
    live = names & _words(state.source)
    language = state.language
    if language.launches_itself:
        launch = launch_in_force(state.spec.kernel, state.plan)
        named = names & names_used(launch) if launch is not None else live
        return _with_options(state, names, live | named)
    return live | _of_the_launch(state, names) if language.planned else live


def _with_options(state: State, names: frozenset[str], live: frozenset[str]) -> frozenset[str]:
    """With what the compiler takes beside the source, without what a launch works out."""
    loops = {"num_stages"} if re.search(r"\bfor\b|\bwhile\b", state.source) else set[str]()
    followed = {*AT_LAUNCH.findall(state.source)} - state.parameters.keys()
    return (live | (names & (BY_THE_COMPILER | loops))) - followed


def _of_the_launch(state: State, names: frozenset[str]) -> frozenset[str]:
    """Those that the plan computes with, and found sizes that stand in it as numbers."""
    try:
        plan = declared_plan(state.spec.kernel, state.plan)
    except SpecError:
        return names  # whoever builds it is told
    declared = names - state.found
    named = declared & _words(plan.model_dump_json())
    taken = {*state.spec.symbols, *declared, *(a.name for a in state.spec.io.arguments)}
    return named | (state.found & find_parameters(plan, state.source, 1, taken).parameters.keys())


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\b[A-Za-z_]\w*\b", text))
