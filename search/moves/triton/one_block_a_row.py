"""Loops along a row become one block that holds the whole row: it is loaded once for all passes."""

from __future__ import annotations

import ast
from dataclasses import replace

from ....runners.model import Candidate
from ....runners.specs.expressions import next_pow2
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from .parts.arguments import Arguments
from .parts.kernels import Kernel, kernel_of, kernels_of
from .parts.masks import stays_below
from .parts.nodes import walk
from .parts.repeated_loads import loaded_once
from .parts.source import is_call
from .parts.tiles import Main, is_access, main_of
from .parts.values import Values

LONGEST = 1 << 17
"""elements of a row: 256 a thread of 16 warps; longer ones would spill whatever is done"""
A_THREAD = 16
"""elements of a row that suit a thread: four loads of 16 bytes each, of fp32"""
WARP = 32
MOST_WARPS = 16
"""of a program: more have too few registers each for rows that need them"""
HELD = MOST_WARPS * WARP * A_THREAD
"""elements of a row that a program holds at ease; with twice as many ptxas does not spill yet"""
SINGLE, SPILLS = 0.6, 0.5
"""shares of the prior, rules of thumb: a block pads the row, which pays where passes are saved"""


def _write(state: State) -> Proposals:
    kernel = kernel_of(state)
    if isinstance(kernel, NotApplicable):
        return kernel
    if any(is_call(n, "dot") for n in walk(kernel.function)):
        return NotApplicable("its loop multiplies matrices: K in one block does not fit the chip")
    loops = row_loops(Values(kernel))
    if isinstance(loops, NotApplicable):
        return loops
    arguments = Arguments(state, kernel)
    row = loops[0].end
    if not isinstance(row, ast.Name) or row.id not in kernel.parameters:
        return NotApplicable("the length of the rows is no parameter of the kernel")
    values = Values(kernel)
    accesses = (n for n in walk(kernel.function) if isinstance(n, ast.Call) and is_access(n))
    if not all(stays_below(values, access, row.id) for access in accesses):
        return NotApplicable(f"a load or store has no mask that keeps it below `{row.id}`")
    size = arguments.symbol(row.id)
    if size is None:
        return NotApplicable(f"`{row.id}` is no symbol of the contract: its largest value is open")
    if size[0] < 1 or size[1] > LONGEST:
        return NotApplicable(
            f"rows of {size[0]} to {size[1]} elements: a block holds 1 to {LONGEST} of them"
        )
    source = _loaded_once(state, _straight(kernel, loops, row.id))
    usual = max(arguments.sizes(size[2]), default=size[1])
    found = _family(state, source, usual, len(loops))
    if not open_warps(state):
        return found
    by_row = _loaded_once(state, _straight(kernel, loops, row.id, warps=True))
    told = f"{_told(len(loops))}, with as many warps as suit the row of each launch"
    prior = 0.55 * _share(usual, len(loops))
    return *found, Candidate(method=MOVE.method, detail=told, source=by_row, prior=prior)


def _share(usual: int, passes: int) -> float:
    """Of the prior: a single loop reads the row once as it is, and what spills is read again."""
    return (1.0 if passes > 1 else SINGLE) * (1.0 if next_pow2(usual) <= 2 * HELD else SPILLS)


def open_warps(state: State) -> bool:
    """Whether the source may decide how many warps a launch has: no spec or search does."""
    return (
        state.spec.kernel.launch is None
        and "num_warps" in state.found
        and "num_warps" not in state.parameters
    )


def _told(passes: int) -> str:
    return f"{passes} loop{'s' if passes > 1 else ''} along a row become one block"


def row_loops(values: Values) -> list[Main] | NotApplicable:
    """All loops of the kernel, if each walks along the same row."""
    kernel = values.kernel
    loops = [n for n in walk(kernel.function) if isinstance(n, ast.For | ast.While)]
    found = [main_of(values, loop) for loop in loops if isinstance(loop, ast.For)]
    mains = [m for m in found if m is not None and m.loop in kernel.body and not m.counts_tiles]
    if not mains or len(mains) != len(loops):
        return NotApplicable("it has no loops `for start in range(0, size, BLOCK)` beside others")
    alike = {(ast.unparse(m.end), m.block) for m in mains}
    block = mains[0].block
    if len(alike) > 1 or block not in kernel.constexprs:
        return NotApplicable("its loops do not all walk along one size in blocks of one constexpr")
    if not all(_is_length(values, n) for n in walk(kernel.function) if _named(n, block)):
        return NotApplicable(f"`{block}` is more than the length of blocks along the row")
    return mains


def _named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_length(values: Values, node: ast.AST) -> bool:
    """Whether a name stands in `tl.arange`, a shape, or the step of a loop."""
    parent = values.parents[node]
    while isinstance(parent, ast.Tuple | ast.List):
        parent = values.parents[parent]
    usual = is_call(parent, "arange", "zeros", "full", "range")
    return usual or (isinstance(parent, ast.Call) and _named(parent.func, "range"))


def _straight(kernel: Kernel, loops: list[Main], row: str, *, warps: bool = False) -> str:
    """Each loop as its one iteration; `warps`: of as many as the row of a launch suits."""
    source = kernel.source
    block = loops[0].block
    whole = kernel.fresh(f"{block}_ROW")
    edits = list[Edit]()
    for main in loops:
        first = main.loop.body[0]
        start, _ = source.span(main.loop)
        header = Edit(start, source.starts[first.lineno - 1], f"{main.variable} = 0\n")
        by = first.col_offset - main.loop.col_offset
        edits += [header, *source.moved_left(main.loop.body, by)]
    edits += [
        source.replace(node, whole)
        for statement in kernel.body
        for node in walk(statement)
        if isinstance(node, ast.Name) and node.id == block and not _in_header(node, loops)
    ]
    size = f'triton.next_power_of_2(args["{row}"])'
    if warps:
        many = f"max(1, min({MOST_WARPS}, {size} // {WARP * A_THREAD}))"
        line = f'@triton.heuristics({{"num_warps": lambda args: {many}}})'
        edits.append(source.before(kernel.function, line))
    return source.edited([*edits, *kernel.heuristic(whole, size)])


def _in_header(node: ast.Name, loops: list[Main]) -> bool:
    return any(node in walk(main.loop.iter) for main in loops)


def _loaded_once(state: State, text: str) -> str:
    """What several passes loaded is loaded by the first."""
    changed = replace(state, source=text)
    kernels = kernels_of(changed)
    assert not isinstance(kernels, NotApplicable), kernels.reason
    kernel = next(k for k in kernels if any("ROW" in p for p in k.parameters))
    arguments = Arguments(changed, kernel)
    inputs = [
        p
        for p in kernel.parameters
        if (known := arguments.in_contract(p)) is not None and known.role == "input"
    ]
    return kernel.source.edited(loaded_once(kernel, inputs))


def _family(state: State, source: str, usual: int, passes: int) -> tuple[Candidate, ...]:
    """With as many warps as suit the rows of the workloads, where warps may be set."""
    known = state.spec.parameters.get("num_warps")
    told, share = _told(passes), _share(usual, passes)
    plain = Candidate(method=MOVE.method, detail=told, source=source, prior=0.4 * share)
    if known is None:
        return (plain,)
    ideal = next_pow2(usual) // (WARP * A_THREAD)
    wanted = [max(1, min(MOST_WARPS, w)) for w in (ideal, ideal // 2, ideal * 2)]
    legal = [w for w in dict.fromkeys(wanted) if w in known.values]
    return tuple(
        Candidate(
            method=MOVE.method,
            detail=f"{told}, {warps} warps",
            source=source,
            parameters={"num_warps": warps},
            prior=prior * share,
        )
        for warps, prior in zip(legal, (0.5, 0.35, 0.2), strict=False)
    ) or (plain,)


MOVE = Move(
    id="one_block_a_row",
    method="change_block_sizes",
    languages=("triton",),
    why="Turns all loops along a row into one block of the next power of two, so that the row is "
    "read once and kept in registers for every pass (softmax, norms, argmax). Pays for rows up "
    "to some ten thousand elements, which a program's registers hold.",
    write=_write,
)
