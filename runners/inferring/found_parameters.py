"""Launch sizes that can be tuned though nobody declared them: blocks and grids given as numbers.

Found parameters have no macro: they change the plan alone. Whether a kernel is right with
another block is for the gates to say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..specs.declared_fields import AXES
from ..specs.declared_plan_model import DeclaredPlan, LaunchStep
from ..specs.expressions import cdiv, names_in
from ..specs.part import Expression
from ..specs.spec import Parameter

LINEAR_BLOCKS = (32, 64, 128, 256, 512, 1024)
AXIS_BLOCKS = (1, 2, 4, 8, 16, 32, 64)
"""threads along one axis of a block with several"""
WAVES = (1, 2, 4, 8, 16)
"""blocks a multiprocessor, for grids that a loop in the kernel covers"""

FOUND_NAME = re.compile(r"(?:\w+_)?(?:block_[xyz]|grid_x)")
"""what a found parameter is called"""

Axes = tuple[Expression, Expression, Expression]


@dataclass(frozen=True, slots=True)
class TunableLaunch:
    """The found parameters of one launch, by axis; None: not tunable."""

    block: tuple[str | None, str | None, str | None]
    grid_x: str | None
    indexed: tuple[bool, bool, bool]
    """whether the kernel numbers its threads through the whole grid, by axis"""


@dataclass(frozen=True, slots=True)
class Found:
    """Found parameters, and for each launch of the plan, in order, where they stand."""

    parameters: Mapping[str, Parameter]
    launches: tuple[TunableLaunch, ...]


def find_parameters(
    plan: DeclaredPlan, source: str, sm_count: int, taken: Collection[str]
) -> Found:
    """Blocks given as numbers, and one-dimensional grids that a loop in the kernel covers.

    `taken`: names that mean something else already; a parameter that would have one is left out.
    """
    prefixes = _prefixes(plan)
    parameters = dict[str, Parameter]()
    launches = list[TunableLaunch]()
    for step in plan.launches:
        text = kernel_text(source, step.launch)
        own = {
            prefixes[_key(step)] + name: parameter
            for name, parameter in _sizes(step, text, sm_count).items()
        }
        own = {name: parameter for name, parameter in own.items() if name not in taken}
        parameters |= own
        names = {name.removeprefix(prefixes[_key(step)]): name for name in own}
        launches.append(
            TunableLaunch(
                block=(names.get("block_x"), names.get("block_y"), names.get("block_z")),
                grid_x=names.get("grid_x"),
                indexed=(_indexed(text, "x"), _indexed(text, "y"), _indexed(text, "z")),
            )
        )
    return Found(parameters, tuple(launches))


def _sizes(step: LaunchStep, text: str, sm_count: int) -> dict[str, Parameter]:
    """The sizes of a launch that are numbers and can be others: `block_x`, `grid_x` ..."""
    found = dict[str, Parameter]()
    if block := _numbers(step.block):
        choices = LINEAR_BLOCKS if block[1:] == (1, 1) else AXIS_BLOCKS
        for axis, size in zip(AXES, block, strict=True):
            if axis == "x" or size > 1:
                found[f"block_{axis}"] = _parameter(size, choices)
    grid = _numbers(step.grid)
    if grid and grid[1:] == (1, 1) and re.search(r"\bgridDim\s*\.\s*x\b", text):
        found["grid_x"] = _parameter(grid[0], tuple(sm_count * waves for waves in WAVES))
    return found


def _parameter(now: int, choices: tuple[int, ...]) -> Parameter:
    return Parameter(values=tuple(sorted({now, *choices})), default=now)


def _key(step: LaunchStep) -> tuple[object, ...]:
    return step.launch, step.block, step.grid


def _prefixes(plan: DeclaredPlan) -> dict[tuple[object, ...], str]:
    """What names begin with: nothing in a plan of one launch, else the kernel's name.

    Further launches of a kernel that differ in anything are counted: `sum_`, `sum_2_`.
    """
    keys = dict.fromkeys(map(_key, plan.launches))
    names = [base_name(str(key[0])) for key in keys]
    if len(plan.launches) == 1:
        return {key: "" for key in keys}
    prefixes = dict[tuple[object, ...], str]()
    for number, (key, name) in enumerate(zip(keys, names, strict=True)):
        count = 1 + names[:number].count(name)
        prefixes[key] = f"{name}_" if count == 1 else f"{name}_{count}_"
    return prefixes


def tuned(plan: DeclaredPlan, found: Found, values: Mapping[str, int]) -> DeclaredPlan:
    """The plan with found parameters at `values`.

    Where a kernel numbers its threads through the whole grid (`blockIdx.x * blockDim.x`), a grid
    that does not follow the block itself keeps the number of threads, rounded up.
    """
    places = iter(found.launches)
    steps = tuple(
        _tuned_launch(step, next(places), values) if isinstance(step, LaunchStep) else step
        for step in plan.steps
    )
    return plan.model_copy(update={"steps": steps})


def _tuned_launch(step: LaunchStep, place: TunableLaunch, values: Mapping[str, int]) -> LaunchStep:
    block, grid = list[Expression](step.block), list[Expression](step.grid)
    for axis, name in enumerate(place.block):
        if name is None or name not in values:
            continue
        before, after = step.block[axis], values[name]
        assert isinstance(before, int)
        block[axis] = after
        if place.indexed[axis] and not (axis == 0 and place.grid_x):
            grid[axis] = _rescaled(step.grid[axis], before, after, {name, f"block_{AXES[axis]}"})
    if place.grid_x is not None and place.grid_x in values:
        grid[0] = values[place.grid_x]
    return step.model_copy(update={"block": tuple(block), "grid": tuple(grid)})


def _rescaled(size: Expression, before: int, after: int, followed: set[str]) -> Expression:
    if before == after or names_in(size) & followed:
        return size
    if isinstance(size, int):
        return cdiv(size * before, after)
    return f"cdiv(({size}) * {before}, {after})"


def base_name(entry: str) -> str:
    """`reduce` for `ns::reduce<float, 8>`."""
    return entry.partition("<")[0].strip().rpartition("::")[2]


def kernel_text(source: str, entry: str) -> str:
    """From the kernel's `__global__` to the next one; the whole source when it is not found."""
    _, *kernels = source.split("__global__")
    named = re.compile(rf"\b{base_name(entry)}\s*\(")
    return next((text for text in kernels if named.search(text)), source)


def _indexed(text: str, axis: str) -> bool:
    block, dim = rf"\bblockIdx\s*\.\s*{axis}\b", rf"\bblockDim\s*\.\s*{axis}\b"
    between = r"[)\s]*(?:\*|,)[^;+]{0,40}?"  # `*` with casts, or the comma of __umul24(a, b)
    product = rf"{block}{between}{dim}|{dim}{between}{block}"
    return re.search(product, text) is not None or "this_grid" in text


def _numbers(axes: Axes) -> tuple[int, int, int] | None:
    x, y, z = axes
    if isinstance(x, int) and isinstance(y, int) and isinstance(z, int):
        return x, y, z
    return None
