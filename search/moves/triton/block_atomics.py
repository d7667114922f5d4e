"""Values of a block, or of many, are combined before they are added to memory atomically."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from .parts.arguments import Arguments
from .parts.kernels import Kernel, kernel_of
from .parts.nodes import walk
from .parts.source import argument, is_call, names_in, written
from .parts.tiles import pointer_of
from .parts.values import LANE, Values, lanes
from .persistent_programs import Shape, looped

MOST_BINS = 1024
PROGRAMS = ((8, 0.6), (4, 0.3), (16, 0.2))
"""on a processor, prior: enough to fill it, few enough that their atomics do not count"""
A_THREAD = 32
"""values of a histogram of 256 bins: the SASS of Triton 3.6 for sm_90a has 54 instructions for
each, and 210 and five barriers beside them, so that eight a thread leave a third to the rest"""
WARP = 32
WARPS = 4
"""of a program where nothing says otherwise, as Triton has it"""


def _write(state: State) -> Proposals:
    kernel = kernel_of(state)
    if isinstance(kernel, NotApplicable):
        return kernel
    if not any(is_call(n, "atomic_add") for n in walk(kernel.function)):
        return NotApplicable("the kernel has no tl.atomic_add")
    if any(is_call(n, "inline_asm_elementwise") for n in walk(kernel.function)):
        return NotApplicable("inline PTX of the kernel may combine values already")
    found = [*_histogram(state, kernel), *_after_loop(state, "", 0.5)]
    counted = replace(state, source=str(found[0].source)) if found else state
    if not any(c.detail.startswith("added up") for c in found):
        for programs, prior in PROGRAMS:
            found += _looped(counted, programs, prior)
        found += _long_blocks(state, kernel, found)
    if not found:
        return NotApplicable(
            "its tl.atomic_add neither counts values in a power of two of bins, nor adds the same "
            "place from each block of a loop or launch"
        )
    return tuple(found)


def _long_blocks(state: State, kernel: Kernel, found: list[Candidate]) -> Iterator[Candidate]:
    """The first histogram in a loop again, with blocks that meet at fewer barriers a value."""
    looped_ones = [
        c
        for c in found
        if c.source and "tl.histogram(" in c.source and c.detail.startswith("added up")
    ]
    values = Values(kernel)
    blocks = {_block(values, each.pointer, each.statement) for each in atomics(values)}
    block = blocks.pop() if len(blocks) == 1 else None
    name = None if block is None else Arguments(state, kernel).tunable(block)
    if name is None or not looped_ones:
        return
    size = A_THREAD * WARP * state.assignment.get("num_warps", WARPS)
    if size in state.spec.parameters[name].values and size > state.assignment[name]:
        told = f"{looped_ones[0].detail}, {name} = {size}: {A_THREAD} values a thread"
        yield looped_ones[0].model_copy(update={"detail": told, "parameters": {name: size}})


def _looped(state: State, programs: int, prior: float) -> Iterator[Candidate]:
    """Blocks in a loop of few programs, whose sums are added once."""
    kernel = kernel_of(state)
    if isinstance(kernel, NotApplicable):
        return
    source = looped(state, kernel, Shape(programs, "", prior, ""))
    if not isinstance(source, NotApplicable):
        told = f" by each of {programs} programs a processor"
        yield from _after_loop(replace(state, source=source), told, prior)


@dataclass(frozen=True)
class Added:
    """`tl.atomic_add(pointer, value)` as a statement."""

    call: ast.Call
    statement: ast.stmt
    pointer: ast.expr
    value: ast.expr
    mask: ast.expr | None


def atomics(values: Values) -> list[Added]:
    """Every atomic addition whose result nobody reads."""
    found = list[Added]()
    for node in walk(values.kernel.function):
        match node:
            case ast.Expr(value=ast.Call(args=[pointer, value, *_]) as call):
                if is_call(call, "atomic_add"):
                    found.append(Added(call, node, pointer, value, argument(call, 2, "mask")))
            case _:
                pass
    return found


def _histogram(state: State, kernel: Kernel) -> list[Candidate]:
    """`tl.atomic_add(bins + value, 1)`: counts of the block first."""
    values, arguments = Values(kernel), Arguments(state, kernel)
    for each in atomics(values):
        match each:
            case Added(pointer=ast.BinOp(left=bins, op=ast.Add(), right=value),
                       value=ast.Constant(value=1)):  # fmt: skip
                size = bins_of(arguments, pointer_of(values, each.call))
            case _:
                continue
        if size is None or not isinstance(bins, ast.Name):
            continue
        source, name = kernel.source, kernel.fresh("counts")
        mask = "" if each.mask is None else f", mask={source.text(each.mask)}"
        lines = (
            f"{name} = tl.histogram({source.text(value)}, {size}{mask})",
            f"tl.atomic_add({bins.id} + tl.arange(0, {size}), {name})",
        )
        edits = [*source.delete(each.statement), source.before(each.statement, *lines)]
        text = source.edited(edits)
        told = "a block's values are counted before bins are added to"
        return [Candidate(method=MOVE.method, detail=told, source=text, prior=0.4)]
    return []


def bins_of(arguments: Arguments, base: str) -> int | None:
    """How many bins the array has: a power of two that the contract names as a number."""
    known = arguments.in_contract(base)
    outputs = [a for a in arguments.state.spec.io.arguments if a.role in ("output", "inout")]
    if known is None and len(outputs) == 1 and base:
        known = outputs[0]
    if known is None or known.dtype != "int32" or len(known.shape) != 1:
        return None
    size = known.shape[0]
    fits = isinstance(size, int) and 2 <= size <= MOST_BINS and size & (size - 1) == 0
    return size if fits and isinstance(size, int) else None


def _after_loop(state: State, told: str, prior: float) -> list[Candidate]:
    """An atomic addition to the same place in each iteration becomes one behind the loop."""
    kernel = kernel_of(state)
    assert not isinstance(kernel, NotApplicable), kernel.reason
    values = Values(kernel)
    for each in atomics(values):
        loop = next(values.loops(each.statement), None)
        if loop is None or each.statement not in loop.body or each.mask is not None:
            continue
        if names_in(each.pointer) & written(loop):
            continue
        known = Arguments(state, kernel).in_contract(pointer_of(values, each.call))
        found = _summed(kernel, values, each, loop, "" if known is None else known.dtype)
        if found is not None:
            detail = f"added up over the loop, then added to memory once{told}"
            return [Candidate(method=MOVE.method, detail=detail, source=found, prior=prior)]
    return []


def _summed(kernel: Kernel, values: Values, each: Added, loop: ast.For, dtype: str) -> str | None:
    source, name = kernel.source, kernel.fresh("sums")
    node, at = values.resolved(each.value, each.statement)
    if is_call(node, "histogram") and isinstance(node, ast.Call):
        start = f"tl.zeros(({source.text(node.args[1])},), dtype=tl.int32)"
        adding, total = source.text(each.value), name
    elif is_call(node, "sum") and isinstance(node, ast.Call):
        block = _block(values, node.args[0], at)
        if block is None or dtype != "float32":
            return None
        start = f"tl.zeros(({block},), dtype=tl.float32)"
        adding, total = source.text(node.args[0]), f"tl.sum({name}, axis=0)"
        if at is not each.statement and written(loop) & names_in(node) & _after(values, at, each):
            return None
    else:
        return None
    rest = "".join(f", {source.text(k)}" for k in each.call.keywords)
    return source.edited(
        [
            source.before(loop, f"{name} = {start}"),
            source.replace(each.statement, f"{name} += {adding}"),
            source.after(loop, f"tl.atomic_add({source.text(each.pointer)}, {total}{rest})"),
        ]
    )


def _after(values: Values, at: ast.stmt, each: Added) -> frozenset[str]:
    """Names written between two statements."""
    nodes = (n for n in walk(values.kernel.function) if isinstance(n, ast.stmt))
    between = [n for n in nodes if at.lineno < n.lineno < each.statement.lineno]
    return frozenset(n for s in between for n in written(s))


def _block(values: Values, node: ast.expr, at: ast.stmt) -> str | None:
    """The length of a one-dimensional float32 block: that of the only `tl.arange` in it."""
    made = {
        ast.unparse(n)
        for n in walk(values.expanded(node, at))
        if isinstance(n, ast.Call) and is_call(n, "arange")
    }
    if len(made) != 1:
        return None
    form = values.form(ast.parse(made.pop(), mode="eval").body, at)
    own = lanes(form) if form is not None else frozenset[str]()
    return next((n.removeprefix(f"{LANE}: ") for n in own), None)


MOVE = Move(
    id="block_atomics",
    method="avoid_atomics_reduce",
    languages=("triton",),
    why="Combines the values of a block before atomics: `tl.histogram` in place of an addition a "
    "value, and sums of all blocks that one program does in a loop in place of an addition a "
    "block. Pays wherever many programs add to few addresses. A value of a histogram costs a warp "
    "a ballot for each bit of the bin and bins / 32 population counts, whatever the blocks are: "
    "with 256 bins bytes stay far from the memory's bandwidth; additions in shared memory, which "
    "Triton itself cannot write, are faster (`shared_histogram`).",
    write=_write,
)
