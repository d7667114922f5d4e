"""Loads and stores as vectors where rows are multiples of 2, 4 or 8 elements, and not of 16.

Triton itself looks at whether an integer argument is a multiple of 16; of all others it takes
nothing for granted, so addresses and masks that hang on them are those of single elements. A
constexpr of each launch says the power of two that divides the argument, and the kernel writes it
as a product with that, which the compiler's analysis of alignment follows (Triton 3.6 does not
follow `tl.multiple_of` of an argument, as the PTX of the two spellings says).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from ..shared.sizes import divisor_of_symbol
from .parts.arguments import Arguments
from .parts.kernels import Kernel, kernel_of
from .parts.masks import bounds_of
from .parts.nodes import walk
from .parts.source import argument, is_call
from .parts.values import Values, lanes

SEEN = 16
"""what Triton looks for itself: JITFunction's specialisation of integer arguments"""
MOST = 12
"""sizes that are told about, as each is a condition of compiled code"""


def _write(state: State) -> Proposals:
    kernel = kernel_of(state)
    if isinstance(kernel, NotApplicable):
        return kernel
    arguments = Arguments(state, kernel)
    sizes = _sizes(kernel, arguments)
    if not sizes:
        return NotApplicable(
            "no integer argument decides where rows begin or lanes end, or what divides them is "
            "told already"
        )
    told = [size for size in sizes if _gains(arguments, size)][:MOST]
    if not told:
        return NotApplicable(
            f"{', '.join(sizes)}: at every workload odd, or a multiple of {SEEN}, which Triton "
            "sees by itself"
        )
    edits = list[Edit]()
    for size in told:
        name = kernel.fresh(f"{size.upper()}_DIVISOR")
        power = f'min({SEEN}, args["{size}"] & -args["{size}"] or {SEEN})'
        edits += kernel.heuristic(name, power)
        line = f"{size} = {size} // {name} * {name}  # the same, seen as a multiple"
        edits.append(kernel.source.before(kernel.body[0], line))
    return (
        Candidate(
            method=MOVE.method,
            detail=f"what divides {', '.join(told)}, for vectors",
            source=kernel.source.edited(edits),
            prior=0.3,
        ),
    )


def _sizes(kernel: Kernel, arguments: Arguments) -> list[str]:
    """Integer arguments that addresses and masks with lanes hang on, as they are passed."""
    values, found = Values(kernel), set[str]()
    free = set(kernel.parameters) - kernel.constexprs - values.writes.keys()
    for node in walk(kernel.function):
        if not isinstance(node, ast.Call) or not is_call(node, "load", "store"):
            continue
        pointer = argument(node, 0, "pointer")
        found |= set() if pointer is None else _factors(kernel, pointer)
        for bound in bounds_of(values, node):
            if bound is not None and lanes(bound[0]):
                found |= bound[0].names | bound[1].names
    return [p for p in kernel.parameters if p in found & free and not _is_array(arguments, p)]


def _factors(kernel: Kernel, pointer: ast.expr) -> set[str]:
    """Names that are multiplied for an address, also of a pointer that a loop carries."""
    pending, seen, found = list[ast.AST]([pointer]), set[str](), set[str]()
    every = list(_given(kernel))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call) and is_call(node, "load"):
            continue  # what memory says is no factor of an address
        pending += ast.iter_child_nodes(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            found |= {n.id for n in (node.left, node.right) if isinstance(n, ast.Name)}
        if isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            pending += [given for name, given in every if name == node.id]
    return found


def _given(kernel: Kernel) -> Iterator[tuple[str, ast.expr]]:
    """Every value that a name is assigned."""
    for node in walk(kernel.function):
        match node:
            case ast.Assign(targets=[*targets], value=value):
                for target in targets:
                    yield from ((n.id, value) for n in walk(target) if isinstance(n, ast.Name))
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case _:
                pass


def _is_array(arguments: Arguments, parameter: str) -> bool:
    """Whether the contract says that a parameter is no integer."""
    found = arguments.in_contract(parameter)
    return found is not None and (found.role != "scalar" or "int" not in found.dtype)


def _gains(arguments: Arguments, size: str) -> bool:
    """Whether a workload has a size that is a multiple of 2, 4 or 8 alone. Strides have no symbol:
    they are products of sizes."""
    spec, symbol = arguments.state.spec, arguments.symbol(size)
    names = [symbol[2]] if symbol is not None else list(spec.symbols)
    open_ones = [n for n in names if divisor_of_symbol(n, spec) % SEEN]
    return any(2 <= value & -value < SEEN for n in open_ones for value in arguments.sizes(n))


MOVE = Move(
    id="divisors_of_sizes",
    method="vectorize_global_loads",
    languages=("triton",),
    why="Tells the compiler by which power of two each size divides, so that rows of 1000 or 2052 "
    "elements are loaded and stored as vectors; Triton sees multiples of 16 alone. Pays where "
    "sizes are even and no multiples of 16: fewer and wider memory instructions.",
    write=_write,
)
