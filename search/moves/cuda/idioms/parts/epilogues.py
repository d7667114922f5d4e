"""What a kernel does with its sum before it stores it, carried over as it stands in the source."""

from __future__ import annotations

from dataclasses import dataclass

from ....shared.affine import Form
from .facts import Facts, Unfit
from .scope import Scope
from .syntax import (
    Assign,
    Call,
    Declare,
    Expr,
    If,
    Name,
    Opaque,
    Statement,
    all_statements,
    expressions,
    names_in,
    within,
)


@dataclass(frozen=True)
class Epilogue:
    """A function of the sum, the row and the column of an element."""

    accumulator: str
    """parameter names, as the source calls them"""
    value: str
    """C++ for what is stored"""
    before: tuple[str, ...]
    """statements before it"""
    element: str
    """C++ type of the output's elements"""
    row: str = "row"
    column: str = "column"

    @property
    def function(self) -> str:
        """A lambda `epilogue(sum, row, column)` for the body of a kernel."""
        lines = "".join(f"        {text}\n" for text in self.before)
        return (
            f"auto epilogue = [&](float {self.accumulator}, int {self.row}, int {self.column}) "
            f"-> {self.element} {{\n{lines}        return {self.value};\n    }};"
        )

    @property
    def plain(self) -> bool:
        """Whether the sum is stored as it is, but for a conversion."""
        return not self.before and self.value == self.accumulator


def read_epilogue(
    facts: Facts,
    scope: Scope,
    accumulator: str,
    carried: tuple[Statement, ...],
    store: Assign,
    row: Form,
    column: Form,
) -> Epilogue:
    """The statements after the loop and the stored value. Raises Unfit for what depends on more."""
    names = {n: p for n, p in scope.integers.items() if p in (row, column)}
    rows = next((n for n, p in names.items() if p == row), "row")
    columns = next((n for n, p in names.items() if p == column), "column")
    declared = {s.name for s in carried if isinstance(s, Declare)}
    parameters = {p.name for p in facts.kernel.function.parameters}
    allowed = {accumulator, *names, *declared, *parameters, *facts.sizes}
    stored = [store.value] if store.operator == "=" else [store.value, store.target]
    parts = [e for s in carried for e in _expressions(s)] + stored
    for expr in parts:
        for name in names_in(expr) - allowed:
            raise Unfit(f"what follows the sum uses `{name}`, which the new kernel does not have")
        if any(isinstance(e, Opaque) for e in within(expr)):
            raise Unfit("what follows the sum is not understood")
    if len(names) > len({rows, columns} & set(names)):
        raise Unfit("row or column have two names each")
    return Epilogue(
        accumulator=accumulator,
        value=_value(facts, store),
        before=tuple(dict.fromkeys(facts.source[s.span[0] : s.span[1]].decode() for s in carried)),
        element=next(
            p.type for p in facts.kernel.function.parameters
            if p.name == _array(scope, store.target)
        ),
        row=rows,
        column=columns,
    )  # fmt: skip


def _array(scope: Scope, target: Expr) -> str:
    place = scope.place(target)
    assert place is not None
    return place.array


def _value(facts: Facts, store: Assign) -> str:
    text = facts.source[store.value.span[0] : store.value.span[1]].decode()
    if store.operator == "=":
        return text
    target = facts.source[store.target.span[0] : store.target.span[1]].decode()
    return f"{target} {store.operator[:-1]} ({text})"


def _expressions(statement: Statement) -> tuple[Expr, ...]:
    """The expressions of a statement that may be carried over: scalars alone change."""
    for inner in all_statements((statement,)):
        match inner:
            case Declare(sizes=(), shared=False, pointer=False) | If():
                pass
            case Assign(target=Name()):
                pass
            case _:
                raise Unfit("what follows the sum does more than change numbers")
    found = [e for s in all_statements((statement,)) for e in expressions(s)]
    if any(
        isinstance(e, Call) and e.name.startswith(("__sync", "atomic"))
        for f in found
        for e in within(f)
    ):
        raise Unfit("what follows the sum synchronises threads")
    return tuple(found)
