"""Loops that add up into scalars: `for j { T sum = 0; for k sum += ...; C[j] = sum; }`, read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .....runners.c_source.nodes import inside, text_of
from .effects import effects_of
from .program import Loop, Program, loop_of
from .rewrite import nest_from
from .scope import Scope

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, eq=False)
class Accumulator:
    """A scalar that begins with a value and is changed by each inner iteration."""

    name: str
    kind: str
    declaration: Node
    first: Node
    """what it begins with"""


@dataclass(frozen=True, eq=False)
class Accumulation:
    """The body of `around`, part by part."""

    around: Loop
    constants: tuple[Node, ...]
    """declarations of values that stay"""
    accumulators: tuple[Accumulator, ...]
    loops: tuple[Loop, ...]
    """the inner loops, each the whole body of the one before"""
    after: tuple[Node, ...]
    """what is done with the sums"""

    @property
    def terms(self) -> tuple[Node, ...]:
        """What the innermost iteration does."""
        return self.loops[-1].statements


def read_accumulation(around: Loop, scope: Scope, program: Program) -> Accumulation | str:
    """The body of a loop as an accumulation, or what is different about it."""
    where = f"the loop over {around.variable}"
    body = around.statements
    inner = [n for n in body if any(loop_of(each) for each in inside(n))]
    if len(inner) != 1 or loop_of(inner[0]) is None:
        return f"{where} does not hold exactly one inner loop"
    loop = loop_of(inner[0])
    assert loop is not None
    at = body.index(inner[0])
    before, after = body[:at], body[at + 1 :]
    if any(n.type != "declaration" for n in before):
        return f"{where} does more than declare values before its inner loop"
    loops = nest_from(loop)
    changed = effects_of(loop.body, scope, program).scalars
    accumulators = [a for n in before for a in _accumulators(n, frozenset(changed))]
    constants = tuple(n for n in before if not _declares(n, {a.name for a in accumulators}))
    if {a.name for a in accumulators} != set(changed):
        return f"the inner loop of {where} changes a variable that is not declared right before it"
    if not accumulators:
        return f"the inner loop of {where} adds up into no scalar"
    if len(constants) + len({a.declaration.id for a in accumulators}) != len(before):
        return f"{where} declares a sum and another value in one line"
    return Accumulation(around, constants, tuple(accumulators), loops, after)


def _declares(declaration: Node, names: set[str]) -> bool:
    return any(
        text_of(d.child_by_field_name("declarator")) in names
        for d in declaration.children_by_field_name("declarator")
    )


def _accumulators(declaration: Node, changed: frozenset[str]) -> list[Accumulator]:
    found: list[Accumulator] = []
    declared = declaration.children_by_field_name("declarator")
    for each in declared:
        name, first = (
            text_of(each.child_by_field_name("declarator")),
            each.child_by_field_name("value"),
        )
        if name in changed and first is not None and first.type != "initializer_list":
            kind = text_of(declaration.child_by_field_name("type"))
            found.append(Accumulator(name, kind, declaration, first))
    return found if len(found) == len(declared) else []
