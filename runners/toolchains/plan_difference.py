"""Where two captures of one wrapper differ, in words."""

from __future__ import annotations

from itertools import zip_longest
from typing import cast

from ..plans.plan import Launch, LaunchPlan, Param, ScalarParam, Step

Members = tuple[object, ...]


def plan_difference(one: LaunchPlan, other: LaunchPlan) -> str | None:
    """`step 3, argument a: 0.46 against 0.10`; None when the plans are equal."""
    if one == other:
        return None
    for (where, step), (_, twin) in zip(one.located, other.located, strict=False):
        if step != twin:
            return f"{where}, {_step_difference(step, twin)}"
    counts = (len(one.located), len(other.located))
    if counts[0] != counts[1]:
        return f"{counts[0]} steps against {counts[1]}"
    for field in LaunchPlan.model_fields:
        if getattr(one, field) != getattr(other, field):
            return f"{field}: {_first(getattr(one, field), getattr(other, field))}"
    raise AssertionError("unequal plans have an unequal field")


def _step_difference(step: Step, twin: Step) -> str:
    if not (isinstance(step, Launch) and isinstance(twin, Launch) and step.launch == twin.launch):
        return f"{_named(step)} against {_named(twin)}"
    if step.grid != twin.grid:
        return f"grid: {step.grid} against {twin.grid}"
    for param, other in zip(step.params, twin.params, strict=False):
        if param != other:
            return f"argument {param.arg}: {_shown(param)} against {_shown(other)}"
    return f"{len(step.params)} parameters against {len(twin.params)}"


def _named(step: Step) -> str:
    return f"a launch of {step.launch}" if isinstance(step, Launch) else str(step)


def _shown(param: Param) -> str:
    if isinstance(param, ScalarParam):
        return param.raw if param.value is None else f"{param.value:.6g}"
    place = f"{param.buffer}+{param.offset}"
    return place if param.type == "ptr" else f"tensor map of {place}"


def _first(one: object, other: object) -> str:
    """The first unequal members of two tuples, or the two values."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        pairs = zip_longest(cast(Members, one), cast(Members, other))
        one, other = next((a, b) for a, b in pairs if a != b)
    return f"{one} against {other}"
