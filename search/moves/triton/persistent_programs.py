"""As many programs as the processors hold, each of which does the work of many in a loop."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from .parts.kernels import Kernel, Launch, kernel_of, launch_of
from .parts.nodes import walk
from .parts.source import INDENT, argument, is_call, names_in
from .parts.texts import primary

AXES = "xyz"
PROCESSORS = "torch.cuda.get_device_properties(0).multi_processor_count"


@dataclass(frozen=True)
class Shape:
    """How the loop is written: programs on a processor, options of `tl.range`, prior."""

    a_processor: int
    options: str
    prior: float
    words: str


MATMUL = (
    Shape(1, "", 0.3, ""),
    Shape(1, ", flatten=True", 0.3, ", flattened with the main loop"),
)
PLAIN = (
    Shape(8, "", 0.15, ""),
    Shape(4, ", num_stages=3", 0.15, ", loads of the next ones under way"),
)


def _write(state: State) -> Proposals:
    kernel = kernel_of(state)
    if isinstance(kernel, NotApplicable):
        return kernel
    found = list[Candidate]()
    for shape in MATMUL if _multiplies(kernel) else PLAIN:
        source = looped(state, kernel, shape)
        if isinstance(source, NotApplicable):
            return source
        many = f"{shape.a_processor} program{'s' if shape.a_processor > 1 else ''} a processor"
        told = f"{many} in a loop over all blocks{shape.words}"
        found.append(Candidate(method=MOVE.method, detail=told, source=source, prior=shape.prior))
    return tuple(found)


def looped(state: State, kernel: Kernel, shape: Shape) -> str | NotApplicable:
    """The source with the kernel's body in a loop over what were programs, and a grid to match."""
    launch = launch_of(state, kernel)
    if isinstance(launch, NotApplicable):
        return launch
    if (why := _unfit(kernel, launch)) is not None:
        return NotApplicable(why)
    counts = _counts(kernel, launch)
    if counts is None:
        return NotApplicable("its grid is a lambda over more than what the kernel is given")
    return _source(kernel, launch, counts, shape)


def _multiplies(kernel: Kernel) -> bool:
    return any(is_call(n, "dot") for n in walk(kernel.function))


def _unfit(kernel: Kernel, launch: Launch) -> str | None:
    """Why the kernel's body cannot be repeated in a loop."""
    nodes = list(walk(kernel.function))
    if any(isinstance(n, ast.Return) for n in nodes):
        return "the kernel returns early"
    loops = (n.iter for n in nodes if isinstance(n, ast.For))
    if any(is_call(n, "num_programs") for i in loops for n in walk(i)):
        return "its programs loop over the work already"
    axes = {_axis(n) for n in nodes if is_call(n, "program_id", "num_programs")}
    if not axes or not axes <= set(range(len(launch.grid))):
        return "it does not number its programs by `tl.program_id` of the axes of its grid"
    if not any(isinstance(n, ast.Import) and "torch" in [a.name for a in n.names]
               for n in kernel.source.tree.body):  # fmt: skip
        return "the source does not import torch, which knows how many processors there are"
    return None


def _axis(node: ast.AST) -> int:
    assert isinstance(node, ast.Call)
    axis = argument(node, 0, "axis")
    return axis.value if isinstance(axis, ast.Constant) and isinstance(axis.value, int) else -1


@dataclass(frozen=True)
class Counts:
    """Programs along each axis: names or texts in the kernel, and what the launch passes for it."""

    inside: tuple[str, ...]
    passed: tuple[str, ...]
    outside: tuple[str, ...]


def _counts(kernel: Kernel, launch: Launch) -> Counts | None:
    """A grid over `meta` is worked out again in the kernel, any other is passed to it."""
    texts = tuple(launch.source.text(e) for e in launch.grid)
    if launch.meta is None or not any(launch.meta in names_in(e) for e in launch.grid):
        names = tuple(kernel.fresh(f"programs_{AXES[i]}") for i in range(len(texts)))
        passed = tuple(f"{n}={t}" for n, t in zip(names, texts, strict=True))
        return Counts(names, passed, texts)
    inside = [in_kernel(kernel, launch, e) for e in launch.grid]
    return None if None in inside else Counts(tuple(t for t in inside if t), (), texts)


def in_kernel(kernel: Kernel, launch: Launch, element: ast.expr) -> str | None:
    """A size of the grid in the kernel's own names; None where it has no name for a part."""
    own = {ast.dump(given): name for name, given in launch.bound(kernel).items()}

    def told(node: ast.expr) -> str | None:
        match node:
            case _ if ast.dump(node) in own:
                return own[ast.dump(node)]
            case ast.Subscript(value=ast.Name(id=meta), slice=ast.Constant(value=str() as key)):
                return key if meta == launch.meta and key in kernel.parameters else None
            case ast.Constant(value=int() as value):
                return str(value)
            case ast.Call(func=function, args=[a, b]) if ast.unparse(function) == "triton.cdiv":
                parts = told(a), told(b)
                return None if None in parts else f"tl.cdiv({parts[0]}, {parts[1]})"
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                parts = told(left), told(right)
                return None if None in parts else f"{parts[0]} * {parts[1]}"
            case _:
                return None

    return told(element)


def _source(kernel: Kernel, launch: Launch, counts: Counts, shape: Shape) -> str:
    source, first = kernel.source, kernel.body[0]
    program = kernel.fresh("program")
    total = " * ".join(map(primary, counts.inside))
    hoisted = _invariant(kernel)
    header = (
        f"for {program} in tl.range(tl.program_id(0), {total}, tl.num_programs(0){shape.options}):"
    )
    above = [line for statement in hoisted for line in _dedented(kernel, statement)]
    numbers, lines = _numbers(kernel, program, counts.inside)
    edits = [source.before(first, *above, header, *(f"{INDENT}{line}" for line in lines))]
    edits += _nested(kernel, hoisted)
    for node in walk(kernel.function):
        if isinstance(node, ast.Call) and is_call(node, "program_id", "num_programs"):
            texts = numbers if is_call(node, "program_id") else counts.inside
            edits.append(source.replace(node, primary(texts[_axis(node)])))
    if counts.passed:
        edits += [kernel.runtime(*(p.partition("=")[0] for p in counts.passed))]
        edits += [launch.passing(*counts.passed)]
    return source.edited([*edits, *_launched(launch, counts, shape.a_processor)])


def _numbers(
    kernel: Kernel, program: str, counts: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the places along each axis, x the fastest as in a launch; and their definitions."""
    if len(counts) == 1:
        return (program,), ()
    names = tuple(kernel.fresh(f"{program}_{AXES[axis]}") for axis in range(len(counts)))
    lines = list[str]()
    for axis, name in enumerate(names):
        before = " * ".join(map(primary, counts[:axis]))
        over = f"{program} // {primary(before)}" if before else program
        last = axis == len(counts) - 1
        lines.append(f"{name} = {over}" if last else f"{name} = {over} % {primary(counts[axis])}")
    return names, tuple(lines)


def _invariant(kernel: Kernel) -> list[ast.stmt]:
    """Descriptors that are the same for all programs: made once, in front of the loop."""
    own = {*kernel.parameters, "tl"}

    def same(statement: ast.stmt) -> bool:
        match statement:
            case ast.Assign(targets=[ast.Name()], value=value):
                return is_call(value, "make_tensor_descriptor") and names_in(value) <= own
            case ast.If(test=ast.Name(id=flag), body=body, orelse=[]):
                return flag in kernel.constexprs and all(same(s) for s in body)
            case _:
                return False

    return [s for s in kernel.body if same(s)]


def _dedented(kernel: Kernel, statement: ast.stmt) -> list[str]:
    lines = kernel.source.text(statement).splitlines()
    return [lines[0], *(line[statement.col_offset :] for line in lines[1:])]


def _nested(kernel: Kernel, left_out: list[ast.stmt]) -> list[Edit]:
    source, body = kernel.source, kernel.body
    return [*source.delete(*left_out), *source.nested(body[0], body[-1])]


def _launched(launch: Launch, counts: Counts, a_processor: int) -> list[Edit]:
    """The grid of at most so many programs; the number is a constant that can be tuned."""
    source = launch.source
    statement = next(
        s for s in launch.function.body if launch.call in walk(s) or launch.tuple in walk(s)
    )
    many = " * ".join(map(primary, counts.outside))
    lines = (f"BLOCKS_A_PROCESSOR = {a_processor}", f"processors = {PROCESSORS}")
    least = launch.regridded(f"min({many}, processors * BLOCKS_A_PROCESSOR)")
    return [source.before(statement, *lines), least]


MOVE = Move(
    id="persistent_programs",
    method="persistent_kernel",
    languages=("triton",),
    why="Launches as many programs as the processors hold at once; each loops over the tiles or "
    "rows that programs of their own did before. Pays where programs are short or their last wave "
    "fills few processors, and lets loads of the next tile overlap this one's end.",
    write=_write,
)
