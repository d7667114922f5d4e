"""The contract of a Triton entry as its source tells it: a wrapper, or a kernel with a launch."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from ..errors import SpecError
from .signature import ArrayArgument, ScalarArgument, SourceKernel, is_size, symbol_for
from .triton_pointers import POINTER_LIKE, PointerUse, pointer_uses
from .triton_signature import (
    BLOCK_LIKE,
    JitFunction,
    JitParameter,
    choices,
    jit_functions,
    scalar_dtype,
)
from .triton_wrapper import array_argument, launches, wrapper_kernel, wrappers


def triton_entries(source: str) -> tuple[str, ...]:
    """Functions that could be the entry: wrappers, else kernels that no other kernel calls.

    Raises SpecError for text that is not Python.
    """
    tree = _parsed(source)
    jits = jit_functions(tree)
    around = wrappers(tree, jits)
    launched = {f.name for node in around.values() for _, f in launches(node, jits)}
    called = {name for f in jits.values() for name in f.calls if name != f.name}
    return (*around, *(n for n in jits if n not in launched | called))


def triton_kernel(source: str, name: str) -> SourceKernel | None:
    """The entry of that name as its source describes it; None: there is none.

    A wrapper, or any jit function, also one that a wrapper launches.
    """
    tree = _parsed(source)
    jits = jit_functions(tree)
    around = wrappers(tree, jits)
    if name in around:
        return _with_a_result(wrapper_kernel(around[name], jits))
    return _with_a_result(_jit_kernel(jits[name], jits)) if name in jits else None


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise SpecError(f"the source is not Python: {error.msg} in line {error.lineno}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise SpecError("the source is not Python that can be read") from error


def _jit_kernel(function: JitFunction, jits: Mapping[str, JitFunction]) -> SourceKernel:
    uses = pointer_uses(function, jits)
    arguments, symbols = list[ArrayArgument | ScalarArgument](), dict[str, int | None]()
    for p in function.parameters:
        if p.constexpr or p.name in function.supplied:
            continue
        if p.name in uses or (p.dtype is None and POINTER_LIKE.fullmatch(p.name)):
            arguments.append(array_argument(p.name, uses.get(p.name, PointerUse())))
            continue
        dtype = scalar_dtype(p.name, p.dtype, p.default)
        if isinstance(p.default, int | float):
            arguments.append(ScalarArgument(p.name, dtype, p.default))
        elif "int" in dtype and is_size(p.name):
            symbols[symbol_for(p.name)] = None
            arguments.append(ScalarArgument(p.name, dtype, symbol_for(p.name)))
        else:
            arguments.append(ScalarArgument(p.name, dtype, None))
    constexprs = [p for p in function.parameters if p.constexpr and p.name in function.used]
    tunable = [p for p in constexprs if BLOCK_LIKE.fullmatch(p.name) and _is_tile(function, p.name)]
    launch: dict[str, object] = {"grid": ["?"]}
    if asked := [p.name for p in constexprs if p not in tunable and _is_needed(p)]:
        launch["constexprs"] = dict.fromkeys(asked, "?")
    several = len([p for p in tunable if "group" not in p.name.lower()]) > 1
    return SourceKernel(
        name=function.name,
        arguments=tuple(arguments),
        symbols=symbols,
        parameters={p.name: choices(p.name, p.default, several) for p in tunable},
        launch=launch,
    )


def _is_needed(p: JitParameter) -> bool:
    return p.default is None


def _is_tile(function: JitFunction, name: str) -> bool:
    """Whether a block walks over the data; one that is never multiplied has to cover a row."""
    body = "\n".join(ast.unparse(statement) for statement in function.node.body)
    word = re.escape(name)
    return (
        re.search(rf"\*\s*{word}\b|\b{word}\s*\*|,\s*{word}\)\s*:|cdiv\([^()]*\b{word}\b", body)
        is not None
    )


def _with_a_result(kernel: SourceKernel) -> SourceKernel:
    """Where no store was found, every array's role is left open."""
    arrays = [a for a in kernel.arguments if isinstance(a, ArrayArgument)]
    if any(a.role != "input" for a in arrays):
        return kernel
    return SourceKernel(
        kernel.name,
        tuple(
            ArrayArgument(a.name, None, a.dtype, a.shape, why={"role": "no store was found"})
            if isinstance(a, ArrayArgument)
            else a
            for a in kernel.arguments
        ),
        kernel.symbols,
        kernel.parameters,
        kernel.launch,
    )
