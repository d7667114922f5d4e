"""Which launch of a Triton kernel counts for a variant: its own, else the spec's.

A CUDA variant's is `declared_plan.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from ..errors import ExpressionError, SpecError
from ..specs.declared_plan_model import TRITON_OPTIONS, TritonLaunch, parse_launch
from ..specs.expressions import names_in
from ..specs.problems import explain_problems
from ..specs.spec import Kernel

VALID = (
    '{"grid": ["cdiv(n, BLOCK)"], "constexprs": {...}, "num_warps": 4, ...}: a whole kernel.launch '
    "in place of the spec's"
)


def launch_in_force(kernel: Kernel, plan: Mapping[str, Any] | None) -> TritonLaunch | None:
    """What launches a kernel of a variant with this plan; None: the source launches it itself.

    Raises SpecError for a plan that is no launch, or where the source launches.
    """
    own = kernel.launch if isinstance(kernel.launch, TritonLaunch) else None
    if plan is None:
        return own
    if own is None:
        raise SpecError(
            "a plan for a Triton kernel that its source launches: the plan is captured from there",
            valid="another source with another grid; a plan where the spec has kernel.launch",
        )
    return _parsed(kernel, plan)


def launch_fields(kernel: Kernel, plan: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The same as what a call of the source is asked with (`CaptureRequest.launch`)."""
    launch = launch_in_force(kernel, plan)
    return None if launch is None else written(launch)


def written(launch: TritonLaunch) -> dict[str, Any]:
    """As a spec or a plan writes it, without what is not set; axes at the end that are 1 left
    out."""
    fields = launch.model_dump(mode="json", exclude_none=True)
    grid = [*launch.grid]
    while len(grid) > 1 and grid[-1] == 1:
        grid.pop()
    return {name: value for name, value in fields.items() if value != {}} | {"grid": grid}


def names_used(launch: TritonLaunch) -> frozenset[str]:
    """What its expressions name, the grid's too."""
    options = (getattr(launch, name) for name in TRITON_OPTIONS)
    texts = (*launch.grid, *launch.constexprs.values(), *options)
    return frozenset[str]().union(*(names_in(each) for each in texts if each is not None))


def with_constants_of(launch: TritonLaunch, parameters: Collection[str]) -> TritonLaunch:
    """The launch for a kernel that has these parameters left: without constexprs of others, as far
    as its options are not made of them."""
    options = launch.model_copy(update={"grid": (1, 1, 1), "constexprs": {}})
    wanted = {*parameters, *names_used(options)}
    kept = {name: value for name, value in launch.constexprs.items() if name in wanted}
    return launch.model_copy(update={"constexprs": kept})


def _parsed(kernel: Kernel, plan: Mapping[str, Any]) -> TritonLaunch:
    try:
        found = parse_launch(dict(plan), kernel.kernel_type)
    except ValidationError as error:
        lines = "\n".join(f"  {line}" for line in explain_problems(error, TritonLaunch))
        raise SpecError(f"the plan is not valid:\n{lines}", valid=VALID) from error
    except ValueError as error:
        raise SpecError(f"the plan is not valid: {error}", valid=VALID) from error
    assert isinstance(found, TritonLaunch)
    try:
        names_used(found)
    except ExpressionError as error:
        raise SpecError(f"the plan is not valid: {error.message}", valid=VALID) from error
    return found
