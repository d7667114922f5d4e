"""Bytes are counted in shared memory, a counter of each bin for each lane, and merged at last.

What the kernel did for every block it still does for those that are not whole, and for all where
values do not begin at a whole word. Why there is inline PTX: `histogram_ptx.py`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ....runners.model import Candidate
from ..shared.affine import Form
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from .block_atomics import Added, atomics, bins_of
from .parts.arguments import Arguments
from .parts.histogram_ptx import Counted, text_of
from .parts.kernels import Kernel, Launch, kernel_of, launch_of
from .parts.masks import bounds_of
from .parts.nodes import walk
from .parts.source import argument, is_call
from .parts.texts import primary
from .parts.tiles import pointer_of
from .parts.values import LANE, Values
from .persistent_programs import PROCESSORS, in_kernel

NUMBER = "tl.program_id(0)"
WIDE = ("tl.int32", "tl.uint32", "tl.int64", "tl.uint64")
CALLS = ("program_id", "arange", "load", "atomic_add", "multiple_of", "max_contiguous")


@dataclass(frozen=True)
class Member:
    """Warps of a program, programs on a processor, words of a block, prior."""

    warps: int
    programs: int
    words: int
    ahead: bool
    """the next block is loaded while one is counted: pays where few programs hide each other"""
    prior: float


MEMBERS = (
    Member(32, 1, 8192, True, 0.9),
    Member(32, 2, 4096, False, 0.8),
    Member(16, 4, 4096, False, 0.6),
)
"""A trial of this form on an H200, 67,108,864 values that no cache held: 0.0279, 0.0282 and
0.0297 ms, where `tl.histogram` in a loop took 0.216 ms"""


def _write(state: State) -> Proposals:
    kernel = kernel_of(state)
    if isinstance(kernel, NotApplicable):
        return kernel
    if not any(is_call(n, "atomic_add") for n in walk(kernel.function)):
        return NotApplicable("the kernel has no tl.atomic_add")
    launch = launch_of(state, kernel)
    if isinstance(launch, NotApplicable):
        return launch
    found = _counted(state, kernel, launch) if (why := _unfit(kernel)) is None else why
    if isinstance(found, str):
        return NotApplicable(found)
    made = (_candidate(state, kernel, launch, found, m) for m in MEMBERS)
    return tuple(c for c in made if c is not None) or NotApplicable(
        "the spec or the launch sets its warps, and not to 16 or 32"
    )


def _unfit(kernel: Kernel) -> str | None:
    """Why the kernel's body cannot be what is done with the last values."""
    nodes = [n for s in kernel.body for n in walk(s)]
    if any(isinstance(n, ast.For | ast.While | ast.If | ast.Return) for n in nodes):
        return "its programs do more than one block of values"
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    own = [n for n in calls if is_call(n, *CALLS) or ast.unparse(n.func).endswith(".to")]
    if len(own) < len(calls) or len([n for n in own if is_call(n, "load", "atomic_add")]) != 2:
        return "more (or else) happens than one load and one atomic addition"
    if len(kernel.function.decorator_list) > 1:
        return "a decorator of the kernel decides on its launches"
    if not any(isinstance(n, ast.Import) and "torch" in [a.name for a in n.names]
               for n in kernel.source.tree.body):  # fmt: skip
        return "the source does not import torch, which knows how many processors there are"
    return None


def _counted(state: State, kernel: Kernel, launch: Launch) -> Counted | str:
    """The histogram that a kernel is, or why it is none."""
    values, arguments = Values(kernel), Arguments(state, kernel)
    added = atomics(values)
    match added:
        case [Added(pointer=ast.BinOp(left=ast.Name(id=bins), op=ast.Add(), right=right),
                    value=ast.Constant(value=1), statement=at) as each]:  # fmt: skip
            size = bins_of(arguments, pointer_of(values, each.call))
            load = _loaded(values, right, at)
        case _:
            return "it does not add 1 to one of an array's counters"
    if size is None or bins not in kernel.parameters:
        return "its counters are no int32 array of a power of two of bins, as far as is known"
    if load is None:
        return "the counter's number is no loaded value, converted to 32 bits or more"
    known = arguments.in_contract(pointer_of(values, load))
    if known is None or known.dtype != "uint8":
        told = "of an unknown type" if known is None else known.dtype
        return f"its values are {told}: only of uint8 it is known that they stay within 256 bins"
    place = _place(values, kernel, load, each)
    if place is None:
        return "it cannot be told that it counts the values of one block below a size"
    count, block = place
    if [in_kernel(kernel, launch, e) for e in launch.grid] != [f"tl.cdiv({count}, {block})"]:
        return f"its grid is not written as one program for each {block} of {count} values"
    text = kernel.source.text
    given = [f", {text(k)}" for k in each.call.keywords if k.arg != "mask"]
    keywords = "".join(given) or ', sem="relaxed"'  # nothing is read after a sum is complete
    return Counted(pointer_of(values, load), bins, min(size, 256), count, block, keywords)


def _loaded(values: Values, node: ast.expr, at: ast.stmt) -> ast.Call | None:
    """The `tl.load` that a bin's number is, widened: a byte alone would be taken as signed."""
    node, at = values.resolved(node, at)
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="to"), args=[to], keywords=[]):
            inner, _ = values.resolved(inner, at)
            fits = ast.unparse(to) in WIDE and is_call(inner, "load")
            return inner if fits and isinstance(inner, ast.Call) else None
        case _:
            return None


def _place(values: Values, kernel: Kernel, load: ast.Call, added: Added) -> tuple[str, str] | None:
    """The size and the block of `program * BLOCK + lane < size`, where that is what is counted."""
    pointer, base = argument(load, 0, "pointer"), pointer_of(values, load)
    form = None if pointer is None else values.form(pointer, values.statement(load))
    if form is None or base not in kernel.parameters:
        return None
    element = form - Form.name(base)
    bounds, of_load = bounds_of(values, added.call), bounds_of(values, load)
    if len(bounds) != 1 or bounds[0] is None or any(b != bounds[0] for b in of_load):
        return None
    counts = [p for p in kernel.parameters if bounds[0] == (element, Form.name(p))]
    element = element.substitute(_numbers(values))
    for block in kernel.constexprs:
        first = Form.name(NUMBER) * Form.name(block)
        if counts and element == first + Form.name(f"{LANE}: {block}"):
            return counts[0], block
    return None


def _numbers(values: Values) -> dict[str, Form]:
    """Names that are the number of a program, with their value."""
    found = dict[str, Form]()
    for statement in values.kernel.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if values.writes[name] == 1:
                if values.form(value, statement) == Form.name(NUMBER):
                    found[name] = Form.name(NUMBER)
            case _:
                pass
    return found


def _candidate(
    state: State, kernel: Kernel, launch: Launch, found: Counted, member: Member
) -> Candidate | None:
    warps = _warps(state, launch, member.warps)
    if warps is None:
        return None
    edits, parameters = warps
    many = f"{member.programs} program{'s' if member.programs > 1 else ''} a processor"
    told = f"{many} of {member.warps} warps, blocks of {member.words} words"
    source = kernel.source.edited(
        [*_rewritten(kernel, found, member), *_launched(launch, member), *edits]
    )
    return Candidate(
        method=MOVE.method,
        detail=f"32 counters a bin in shared memory by inline PTX: {told}"
        + (", loaded ahead" if member.ahead else ""),
        source=source,
        parameters=parameters,
        prior=member.prior,
    )


def _warps(
    state: State, launch: Launch, warps: int
) -> tuple[list[Edit], dict[str, int] | None] | None:
    """How a launch gets its warps: by a parameter that the spec declares, or as it is written."""
    if "num_ctas" in state.spec.parameters or "num_ctas" in launch.given:
        return None
    declared = state.spec.parameters.get("num_warps")
    if declared is not None and "num_warps" not in state.found:
        return ([], {"num_warps": warps}) if warps in declared.values else None
    given = launch.given.get("num_warps")
    if given is None:
        return [launch.passing(f"num_warps={warps}")], None
    if not isinstance(given, ast.Constant):
        return None
    return [launch.source.replace(given, str(warps))], None


def _rewritten(kernel: Kernel, found: Counted, member: Member) -> list[Edit]:
    """What was the body does the last values, in a loop behind all whole blocks of words."""
    lines, names = text_of(found, kernel.fresh, ahead=member.ahead)
    source, body = kernel.source, kernel.body
    numbers = (n for s in body for n in walk(s) if isinstance(n, ast.Call))
    return [
        kernel.constant(f"{names['WORDS']}: tl.constexpr = {member.words}"),
        source.before(body[0], *lines),
        *source.nested(body[0], body[-1]),
        *(source.replace(n, names["program"]) for n in numbers if is_call(n, "program_id")),
    ]


def _launched(launch: Launch, member: Member) -> list[Edit]:
    source = launch.source
    statement = next(
        s for s in launch.function.body if launch.call in walk(s) or launch.tuple in walk(s)
    )
    lines = (f"BLOCKS_A_PROCESSOR = {member.programs}", f"processors = {PROCESSORS}")
    many = primary(source.text(launch.grid[0]))
    return [
        source.before(statement, *lines),
        launch.regridded(f"min({many}, processors * BLOCKS_A_PROCESSOR)"),
    ]


MOVE = Move(
    id="shared_histogram",
    method="avoid_atomics_reduce",
    languages=("triton",),
    why="Counts bytes by additions in shared memory, which Triton reaches by inline PTX alone: 32 "
    "counters a bin, so that lanes of a warp never meet, few programs, each in a loop over its "
    "blocks, and one addition a bin and program to global memory. Pays wherever there are many "
    "values. Without a GPU its logic is not checked: the interpreter has no inline PTX, and says "
    "so.",
    write=_write,
)
