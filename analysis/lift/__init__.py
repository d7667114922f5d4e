"""What a kernel computes, read from its PTX: parallel dimensions, stores of expressions, loops as
folds; as text, and executed by an interpreter that proves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..ptx import Module
from .accesses import Memory
from .expressions import Unreadable
from .reading import Reader
from .space import in_space
from .statements import Argument, Lifted, Opaque
from .text import lifted_text

__all__ = ["Argument", "Lifted", "lift", "lifted_text"]


def lift(
    module: Module, entry: str, arguments: Sequence[Argument], block: Sequence[int] | None = None
) -> Lifted:
    """A kernel of a module as what it computes.

    `arguments`: its parameters in order, as the contract calls them; `block`: threads of a block
    along x, y and z, where they are known. What is not understood is opaque in the result; a kernel
    whose parameters are others is opaque as a whole.
    """
    given = tuple(arguments)
    function = next((each for each in module.entries if each.name == entry), None)
    if function is None or len(function.parameters) != len(given):
        why = "no such kernel, or one with other parameters"
        return Lifted(entry, given, (), (Opaque(why),))
    first = Memory(given, frozenset())
    Reader(module, first).kernel(entry)
    memory = Memory(given, frozenset(first.stores), dict(first.shared))
    shared = tuple((name, kind, None) for name, kind in sorted(memory.shared.items()))
    threads = Lifted(entry, given, (), Reader(module, memory).kernel(entry), shared)
    try:
        return in_space(threads, block)
    except Unreadable as error:
        return replace(threads, body=(Opaque(str(error)), *threads.body))
