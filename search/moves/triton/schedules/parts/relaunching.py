"""The launch of a kernel that a schedule wrote: another grid, and what its parameters are given, in
the source where that launches it, else in a launch that takes the place of the spec's."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from ......runners.plans.launch_in_force import written
from ....shared.edits import Edit
from ....shared.lifted.c_expressions import Unwritable
from ...parts.kernels import Launch
from .grids import Tile, blocks_of, of_launch, of_spec, product_text
from .plain import Plain


def relaunched(
    plain: Plain, launch: Launch, tiles: Sequence[Tile], more: Sequence[str] = ()
) -> list[Edit]:
    """What changes where the source launches it: it is given its old numbers of programs as well,
    and `more`. Raises Unwritable."""
    given = [*handed_over(plain, launch), *more]
    _, start = launch.source.span(launch.call.func)
    _, end = launch.source.span(launch.call)
    grid = launch.regridded(grid_text(plain, launch, tiles))
    edits = [grid, Edit(start, end, f"({', '.join(given)})")]
    if plain.written_name != plain.kernel.name:
        assert isinstance(launch.call.func, ast.Subscript)
        edits.append(launch.source.replace(launch.call.func.value, plain.written_name))
    return edits


def grid_text(plain: Plain, launch: Launch, tiles: Sequence[Tile]) -> str:
    """A program a tile, in the words of the launch. Raises Unwritable."""
    return product_text(blocks_of(tiles, plain, of_launch(launch.meta or "meta")))


def handed_over(plain: Plain, launch: Launch) -> list[str]:
    """What a launch gives a kernel that takes what the old one took, and its old numbers of
    programs. Raises Unwritable."""
    given = _given(plain, launch)
    for name, axis in plain.programs.items():
        given.append(f"{name}={old_programs(launch, axis)}")
    return given


def old_programs(launch: Launch, axis: int) -> str:
    """How many programs there were along an axis. Raises Unwritable."""
    if axis >= len(launch.grid):
        raise Unwritable("its number of programs is needed, and the grid is not written as a tuple")
    size = launch.grid[axis]
    if any(isinstance(n, ast.Name) and n.id == launch.meta for n in ast.walk(size)):
        raise Unwritable("its number of programs is made of constants that it loses")
    return _argument(launch.source.text(size))


def _given(plain: Plain, launch: Launch) -> list[str]:
    """What a launch hands to the parameters that stay. Raises Unwritable."""
    bound, runtime = launch.bound(plain.kernel), plain.runtime
    if all(n in bound for n in runtime):
        return [_argument(launch.source.text(bound[n])) for n in runtime]
    named = {*launch.given}
    if plain.kernel.constexprs - named:
        raise Unwritable("the launch hands its constants over without their names")
    keywords = [k for k in launch.call.keywords if k.arg in runtime]
    return [_argument(launch.source.text(each)) for each in (*launch.call.args, *keywords)]


def _argument(text: str) -> str:
    """What a launch hands over, without the layout that it had."""
    return " ".join(text.split())


def launch_plan(plain: Plain, tiles: Sequence[Tile], programs: Sequence[str]) -> dict[str, Any]:
    """A launch in place of the spec's: a program a tile, all else as it was. `programs`: the old
    numbers of programs that the kernel is given."""
    assert plain.by_spec is not None
    handed = {name: plain.sizes[name] for name in programs}
    constants = {**_defaults(plain), **plain.by_spec.constexprs, **handed}
    grid = product_text(blocks_of(tiles, plain, of_spec(plain)))
    changed = {"grid": (grid, 1, 1), "constexprs": constants}
    return written(plain.by_spec.model_copy(update=changed))


def _defaults(plain: Plain) -> Mapping[str, int | float]:
    """Parameters that had their values in the old kernel alone: the new one has no defaults beside
    its constants."""
    spec, arguments = plain.spec, plain.kernel.function.args
    given = {*(a.name for a in spec.io.arguments), *spec.parameters, *spec.kernel.defines}
    names = [*arguments.posonlyargs, *arguments.args]
    pairs = zip(reversed(names), reversed(arguments.defaults), strict=False)
    return {
        name.arg: value.value
        for name, value in pairs
        if name.arg in plain.runtime and name.arg not in given
        if isinstance(value, ast.Constant) and isinstance(value.value, int | float)
    }
