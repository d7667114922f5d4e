"""What a spec says against itself and against this machine, before anything is allocated or run."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterable, Mapping

from ..runners.errors import ExpressionError, SpecError
from ..runners.plans.plan import pack
from ..runners.specs.contract import bind
from ..runners.specs.expressions import evaluate
from ..runners.specs.spec import KernelSpec

FUNCTION = "reference"
COPIES = 3
"""What a shape takes at least beside its arrays: inputs of a seed kept apart, and the reference's
own in float64, which is twice as long as float32."""


def check_memory(spec: KernelSpec, total_bytes: int) -> None:
    """Raises SpecError for a workload that a machine with so much memory cannot hold."""
    for workload in spec.workloads:
        arrays = bind(spec.io, workload.symbols, workload.name).arrays
        wanted = COPIES * sum(array.nbytes for array in arrays)
        if wanted > total_bytes:
            raise SpecError(
                f"workload `{workload.name}` is too large for this machine: its arrays, and what a "
                f"check of them needs, take {wanted / 2**30:.3g} GiB of {total_bytes / 2**30:.3g}",
                next_step="give it smaller symbols, or run it on a machine with more memory",
            )


def check_scalars(spec: KernelSpec) -> None:
    """Raises SpecError for a legal size that the type of a scalar cannot hold: at the workloads and
    at both ends of all domains."""
    domains = {name: d for name, d in spec.symbols.items() if d is not None}
    first = spec.workloads[0].symbols
    ends = (
        {**first, **{name: d.max - d.max % d.multiple_of for name, d in domains.items()}},
        {**first, **{name: d.min + -d.min % d.multiple_of for name, d in domains.items()}},
    )
    for symbols in (*(w.symbols for w in spec.workloads), *ends):
        for argument in spec.io.arguments:
            if argument.role == "scalar" and argument.value is not None:
                _fits(argument.name, argument.dtype, argument.value, symbols)


def _fits(name: str, dtype: str, value: str | int | float, symbols: Mapping[str, int]) -> None:
    try:
        pack(name, dtype, evaluate(value, symbols) if isinstance(value, str) else value)
    except (SpecError, ExpressionError) as error:
        at = ", ".join(f"{symbol} = {size}" for symbol, size in symbols.items())
        raise SpecError(
            f"io.arguments.{name}: {error.message} (at {at}, which the spec calls legal)",
            next_step="give it a wider dtype, or narrow the domains in `symbols`",
        ) from error


def check_reference(source: str, spec: KernelSpec) -> None:
    """Raises SpecError for a reference that does not parse, lacks its function, or cannot be called
    with the contract's arguments. Nothing of it runs."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise SpecError(
            f"the reference does not parse, line {error.lineno}: {error.msg}"
        ) from error
    given = [a.name for a in spec.io.arguments if a.role != "output"]
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == FUNCTION]
    if not functions:
        if _names_it(tree.body):  # imported or assigned: it is what it is
            return
        raise SpecError(
            f"the reference has no function `{FUNCTION}`",
            valid=f"def {FUNCTION}({', '.join(given)}): return the outputs in order",
        )
    problem = _unbound(functions[-1].args, given)
    if problem:
        raise SpecError(
            f"the reference, line {functions[-1].lineno}: {problem}",
            valid=f"def {FUNCTION}({_parameters(given)})",
        )


def _parameters(given: Iterable[str]) -> str:
    """Of a function that takes them all; `in` and its like are no names in Python."""
    names = list(given)
    plain = [name for name in names if not keyword.iskeyword(name)]
    return ", ".join(plain if len(plain) == len(names) else [*plain, "**others"])


def _unbound(taken: ast.arguments, given: list[str]) -> str:
    """Why a call with these names cannot be made; empty: it can."""
    named = [a.arg for a in (*taken.args, *taken.kwonlyargs)]
    if taken.posonlyargs:
        return f"`{taken.posonlyargs[0].arg}` cannot be given by its name"
    if taken.kwarg is None:
        for name in given:
            if name in named:
                continue
            if keyword.iskeyword(name):
                return (
                    f"`{name}` is a word of Python and can be no parameter: take **others and read "
                    f'others["{name}"], or name the argument otherwise in the spec'
                )
            return f"it takes no `{name}`, which the contract gives it"
    defaults = len(taken.defaults)
    free = [a.arg for a in (taken.args[:-defaults] if defaults else taken.args)]
    free += [a.arg for a, d in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if d is None]
    missing = [name for name in free if name not in given]
    return (
        f"it wants `{missing[0]}`, which is no input or scalar of the contract" if missing else ""
    )


def _names_it(body: list[ast.stmt]) -> bool:
    for node in body:
        for inner in ast.walk(node):
            if isinstance(inner, ast.alias) and (inner.asname or inner.name) in (FUNCTION, "*"):
                return True
            if isinstance(inner, ast.Name) and inner.id == FUNCTION:
                return True
    return False
