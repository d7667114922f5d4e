"""Which iterations of a loop can be done in any order, or side by side.

An array that a loop writes is divided into slabs: with indices c * i + rest, all rests of all
accesses less than c apart, each value of i has elements of its own (`x[i * n + k]` and, for k from
1, `x[i * n + k - 1]`). So has each (i, j) when i's slabs are divided by j again, whichever of the
two loops is the outer one. Arguments of one call never overlap (the contract).
"""

from __future__ import annotations

import re

from .....runners.c_source.nodes import text_of
from ...shared.affine import Form
from .bounds import bounds
from .effects import Access, Effects, effects_of, loops_around
from .program import Loop, Program
from .scope import Scope


def iterations_meet(loop: Loop, scope: Scope, program: Program) -> str | None:
    """Why iterations of the loop depend on each other, or may; None when they surely do not."""
    effects = effects_of(loop.body, scope, program)
    return carried_scalar(loop, effects) or carried_by_arrays(loop, effects, scope)


def carried_scalar(loop: Loop, effects: Effects) -> str | None:
    """Trouble, a way out of the loop, or a variable that one iteration hands to the next."""
    if effects.trouble:
        return effects.trouble[0]
    if effects.jumps:
        return f"the loop over {loop.variable} has a jump in it"
    if effects.scalars:
        name = next(iter(effects.scalars))
        return f"every iteration over {loop.variable} writes `{name}`"
    return None


def carried_by_arrays(loop: Loop, effects: Effects, scope: Scope) -> str | None:
    """An array of which two iterations may touch one element, at least one writing it."""
    for array in shared_arrays(loop, effects, scope):
        return (
            f"iterations over {loop.variable} may touch the same elements of `{array}`, "
            "as far as its indices tell"
        )
    return None


def shared_arrays(loop: Loop, effects: Effects, scope: Scope) -> list[str]:
    """The arrays that it writes of which two iterations may touch one element."""
    return [
        array
        for array in sorted(effects.written)
        if not _in_slabs(effects.of(array), loop, scope)
        and not _one_each(array, loop, effects, scope)
    ]


def _one_each(array: str, loop: Loop, effects: Effects, scope: Scope) -> bool:
    """Whether every iteration of the loops from this one inwards has an element of its own."""
    index = same_element(effects, array)
    around = {loops_around(access.node, loop.node) for access in effects.of(array)}
    nodes = {tuple(each.node.id for each in loops) for loops in around}
    if index is None or len(nodes) != 1 or loop.variable not in index.names:
        return False
    loops = (loop, *next(iter(around)))
    return divided(index, [each for each in loops if each.variable in index.names], scope)


def divided(index: Form, loops: list[Loop], scope: Scope) -> bool:
    """Whether no two values of the loops' variables give one index.

    True when some variable has slabs in which the others stay, and the others divide a slab.
    """
    if not loops:
        return True
    names = {loop.variable for loop in loops}
    for loop in loops:
        others = [each for each in loops if each is not loop]
        factor, limits = index.coefficient(loop.variable), bounds(loop, scope)
        if factor is None or limits is None or factor.names & names:
            continue
        if _fits(index, factor, others, names, scope):
            return divided(index, others, scope)
    return False


def _fits(index: Form, size: Form, loops: list[Loop], names: set[str], scope: Scope) -> bool:
    """Whether the loops' part of the index stays in 0 .. size - 1."""
    found = _range(index, loops, names, scope)
    if found is None:
        return False
    low, high = found
    return low.at_least(0, scope.lowest) and (size - high).at_least(1, scope.lowest)


def _range(
    index: Form, loops: list[Loop], names: set[str], scope: Scope
) -> tuple[Form, Form] | None:
    """The least and the greatest value of the loops' part of the index; None: not known."""
    low = high = Form()
    for loop in loops:
        by, limits = index.coefficient(loop.variable), bounds(loop, scope)
        if by is None or limits is None or by.names & names or not by.at_least(0, scope.lowest):
            return None
        first, end = limits
        if (first.names | end.names) & names:
            return None
        low, high = low + by * first, high + by * (end - Form.number(1))
    return low, high


def _in_slabs(accesses: list[Access], loop: Loop, scope: Scope) -> bool:
    """Whether, in some dimension, what two values of the loop's variable touch is always apart."""
    dimensions = min(len(access.place.index) for access in accesses)
    return any(_apart(accesses, dimension, loop, scope) for dimension in range(dimensions))


def _apart(accesses: list[Access], dimension: int, loop: Loop, scope: Scope) -> bool:
    windows = [_window(access, dimension, loop, scope) for access in accesses]
    known = [window for window in windows if window is not None]
    if len(known) < len(windows) or len({size for size, _, _ in known}) != 1:
        return False
    size = known[0][0]
    return all(
        (size - (high - low)).at_least(1, scope.lowest)
        for low in {low for _, low, _ in known}
        for high in {high for _, _, high in known}
    )


def _window(
    access: Access, dimension: int, loop: Loop, scope: Scope
) -> tuple[Form, Form, Form] | None:
    """What the variable is multiplied by in an access's index, and between which values the rest of
    the index is."""
    index = access.place.index[dimension]
    size = None if index is None else index.coefficient(loop.variable)
    if index is None or size is None or not size.terms:
        return None
    inner = loops_around(access.node, loop.node)
    names = {each.variable for each in inner} | {loop.variable}
    if size.names & names:
        return None
    used = [each for each in inner if each.variable in index.names]
    found = _range(index, used, names, scope)
    rest = index.without(*names)
    return None if found is None else (size, rest + found[0], rest + found[1])


def same_element(effects: Effects, array: str) -> Form | None:
    """The one index that all accesses of an array have; None where they differ."""
    indices = {access.place.index for access in effects.of(array)}
    if len(indices) != 1:
        return None
    (index,) = indices
    return index[0] if len(index) == 1 else None


def any_order_meets(loops: tuple[Loop, ...], effects: Effects, scope: Scope) -> str | None:
    """Why loops of a perfect nest cannot be put in another order; None when they can.

    They can when an iteration touches elements of its own, or touches one element again in
    iterations of a loop that its index does not name: their order stays as it is.
    """
    why = carried_scalar(loops[0], effects)
    if why is not None:
        return why
    names = {loop.variable for loop in loops}
    for loop in loops:
        limits = (text_of(loop.lower), text_of(loop.bound))
        if any(name in _words(limit) for limit in limits for name in names):
            return f"the bounds of the loop over {loop.variable} name another loop's variable"
        if bounds(loop, scope) is None:
            return f"the bounds of the loop over {loop.variable} are no sizes of the contract"
    for array in sorted(effects.written):
        index = same_element(effects, array)
        if index is None:
            return f"`{array}` is written and used at more than one index, or at an unknown one"
        if not divided(index, [loop for loop in loops if loop.variable in index.names], scope):
            return f"iterations may touch the same elements of `{array}`, as far as its index tells"
    return None


def _words(code: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", code))
