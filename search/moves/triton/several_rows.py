"""One row a program becomes several neighbouring rows, which share what they load."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from .parts.arguments import Arguments
from .parts.kernels import Kernel, Launch, kernel_of, launch_of
from .parts.row_copies import Copies
from .parts.rows import Rows, has_load, unfit
from .parts.source import names_in, read
from .parts.values import Values, block_of, lanes
from .persistent_programs import in_kernel

ROWS = ((4, 0.35), (8, 0.3), (2, 0.15))
"""rows a program, prior: of a load in three, (rows + 2) / rows are left"""
WARP = 32
WARPS = 4
"""of a program where nothing says otherwise, as Triton has it"""


def _write(state: State) -> Proposals:
    found = neighbours(state)
    return found if isinstance(found, NotApplicable) else tuple(_family(state, found))


@dataclass(frozen=True)
class Neighbours:
    """A kernel whose programs along an axis of the grid load what their neighbours load."""

    launch: Launch
    arguments: Arguments
    rows: Rows


def neighbours(state: State) -> Neighbours | NotApplicable:
    """The kernel of a state as rows that share loads, or why it is none."""
    kernel = kernel_of(state)
    if isinstance(kernel, NotApplicable):
        return kernel
    if (why := unfit(kernel)) is not None:
        return NotApplicable(why)
    launch = launch_of(state, kernel)
    if isinstance(launch, NotApplicable):
        return launch
    rows = _rows(kernel, launch)
    if isinstance(rows, NotApplicable):
        return rows
    arguments = Arguments(state, kernel)
    if not all(_is_input(arguments, rows.base(load)) for load in rows.loads):
        return NotApplicable("it loads from an array that is no input of the contract")
    if any(_follows(rows, load.call) for load in rows.loads):
        return NotApplicable("where it loads depends on what it loads")
    return Neighbours(launch, arguments, rows)


def _rows(kernel: Kernel, launch: Launch) -> Rows | NotApplicable:
    """The axis of the grid along which programs load what their neighbours load as well."""
    values = Values(kernel)
    for axis, element in enumerate(launch.grid):
        count = in_kernel(kernel, launch, element)
        if count is None:
            continue
        rows = Rows(kernel, values, axis, count)
        if rows.calls and Copies(rows, max(many for many, _ in ROWS)).shares:
            if rows.stride > 1:
                return NotApplicable("a program does several rows already, or skips some")
            return rows
    return NotApplicable(
        "no load of a program is one of its neighbour's along an axis of the grid whose size the "
        "kernel knows"
    )


def _is_input(arguments: Arguments, base: str) -> bool:
    known = arguments.in_contract(base)
    return known is not None and known.role == "input"


def _follows(rows: Rows, call: ast.Call) -> bool:
    """Whether the place or mask of a load depends on what another one gives."""
    parts = [*call.args, *(k.value for k in call.keywords)]
    return any(has_load(p) or names_in(p) & rows.loaded for p in parts)


def _family(state: State, found: Neighbours) -> Iterator[Candidate]:
    """With blocks of one element a thread where that can be set, and with blocks as they are."""
    launch, rows = found.launch, found.rows
    short = _one_a_thread(state, found)
    for many, prior in ROWS:
        copies = Copies(rows, many)
        source = with_copies(launch, copies)
        if not copies.shares or read(source) is None:
            continue
        told = f"{many} rows a program"
        if short:
            sizes = ", ".join(f"{name} = {value}" for name, value in short.items())
            yield Candidate(
                method=MOVE.method,
                detail=f"{told}, {sizes}: an element a thread",
                source=source,
                parameters=short,
                prior=prior,
            )
        yield Candidate(
            method=MOVE.method, detail=told, source=source, prior=prior / 2 if short else prior
        )


def _one_a_thread(state: State, found: Neighbours) -> dict[str, int]:
    """The declared block along the row at which each thread has one element of it."""
    name = declared_block(found)
    if name is None:
        return {}
    wanted, known = WARP * state.assignment.get("num_warps", WARPS), state.spec.parameters[name]
    same = state.assignment[name] == wanted
    return {} if same or wanted not in known.values else {name: wanted}


def declared_block(found: Neighbours) -> str | None:
    """The parameter of the spec that says how many lanes the loads have; None: none does."""
    addresses = (load.address for load in found.rows.loads)
    blocks = {block_of(n) for a in addresses if a for n in lanes(a)}
    return found.arguments.tunable(next(iter(blocks))) if len(blocks) == 1 else None


def with_copies(launch: Launch, copies: Copies) -> str:
    """The source whose programs do several rows each, and a grid to match."""
    rows, many = copies.rows, copies.many
    source, body = rows.kernel.source, rows.kernel.body
    sizes = [source.text(e) for e in launch.grid]
    sizes[rows.axis] = f"triton.cdiv({sizes[rows.axis]}, {many})"
    return source.edited(
        [
            source.before(body[0], *copies.lines()),
            *source.delete_lines(body[0], body[-1]),
            launch.regridded(*sizes),
        ]
    )


MOVE = Move(
    id="several_rows",
    method="change_block_sizes",
    languages=("triton",),
    why="A program does 2, 4 or 8 neighbouring rows: what one row loads of another is loaded once "
    "and kept in registers, and all loads are under way before the first store. A thread has one "
    "element of a row, so that loads a column apart are coalesced: a thread's own elements side by "
    "side are one vector only where their address is a multiple of 16 bytes. Pays for stencils.",
    write=_write,
)
