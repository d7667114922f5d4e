"""What a kernel computes, read from its PTX: parallel dimensions, stores of expressions, loops as
folds. `text` writes it down, `interpreting` executes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..ptx import Module
from .accesses import Memory
from .conditions import settled
from .exchanging import seen_through
from .expressions import Name, Number, Unreadable, call
from .reading import Reader
from .rewriting import numbered
from .scattered import summed_over
from .space import covered, in_space
from .statements import Argument, Lifted, Opaque
from .warps import by_warps

READ_ONLY = ("const", "global")
"""where variables of a module lie that may be read as tables, as long as no kernel writes them"""

__all__ = ["Argument", "Lifted", "lift"]


def lift(
    module: Module,
    entry: str,
    arguments: Sequence[Argument],
    block: Sequence[int] | None = None,
    *,
    tables: bool = False,
    alone: Sequence[str] = (),
) -> Lifted:
    """A kernel of a module as what it computes.

    `arguments`: its parameters in order, as the contract calls them; `block`: threads of a block
    along x, y and z, where they are known. What is not understood is opaque in the result; a kernel
    whose parameters are others is opaque as a whole. `tables`: whether variables of the module hold
    what they began with, as nothing but the kernel's own code can reach them. `alone`: axes along
    which every launch has a single block.
    """
    given = tuple(arguments)
    function = next((each for each in module.entries if each.name == entry), None)
    if function is None or len(function.parameters) != len(given):
        why = "no such kernel, or one with other parameters"
        return Lifted(entry, given, (), (Opaque(why),))
    held = {v.name: v.initial for v in module.variables if tables and v.initial is not None}
    variables = {} if tables else {v.name: v for v in module.variables if v.space in READ_ONLY}
    first = Memory(given, frozenset(), tables=held, variables=variables)
    Reader(module, first, block).kernel(entry)
    memory = Memory(
        given, frozenset(first.stores), dict(first.shared), tables=held, variables=variables
    )
    shared = tuple((name, kind, None) for name, kind in sorted(memory.shared.items()))
    body = Reader(module, memory, block).kernel(entry)
    threads = Lifted(entry, given, (), body, shared, tuple(memory.read.values()))
    try:
        quiet = seen_through(threads, block)
        known = tuple(
            call("lt", Name(f"tid.{axis}"), Number(n), dtype="bool")
            for axis, n in zip("xyz", block or (), strict=False)
        )
        apart, shape = by_warps(replace(quiet, body=settled(quiet.body, known)), block)
        return _settled(in_space(apart, shape, alone))
    except Unreadable as error:
        return replace(threads, body=(Opaque(str(error)), *threads.body))


def _settled(lifted: Lifted) -> Lifted:
    """Without conditions that hold at every place."""
    facts = tuple(call("lt", Name(each.name), each.extent, dtype="bool") for each in lifted.dims)
    settled_there = replace(lifted, body=settled(lifted.body, facts))
    return numbered(summed_over(covered(settled_there)))
