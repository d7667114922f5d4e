"""No masks where sizes are multiples of the blocks: a constexpr of each launch says so."""

from __future__ import annotations

import ast

from ....runners.model import Candidate
from ....runners.plans.launch_in_force import launch_in_force
from ..shared.affine import Form
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from .parts.arguments import Arguments
from .parts.kernels import Kernel, kernel_of, launch_of
from .parts.masks import Bound, bounds_of
from .parts.nodes import walk
from .parts.source import argument, is_call
from .parts.tiles import ONE, main_of
from .parts.values import Values, block_of, lanes
from .persistent_programs import in_kernel


def _write(state: State) -> Proposals:
    kernel = kernel_of(state)
    if isinstance(kernel, NotApplicable):
        return kernel
    blocks = Blocks(state, kernel)
    edits, conditions = list[Edit](), dict[str, None]()
    flag = kernel.fresh("WHOLE")
    for node in walk(kernel.function):
        if isinstance(node, ast.Call) and is_call(node, "load", "store"):
            told = blocks.conditions(node)
            if told:
                conditions |= dict.fromkeys(told)
                edits += _unmasked(kernel, node, flag)
    if not edits:
        return NotApplicable(
            "no mask only keeps blocks of `tl.program_id` or of a loop below a size that they "
            "might divide"
        )
    source = kernel.source.edited([*edits, *kernel.heuristic(flag, " and ".join(conditions))])
    return (
        Candidate(
            method=MOVE.method,
            detail="no masks where blocks are whole",
            source=source,
            prior=0.2 if blocks.multiplies else 0.1,
        ),
    )


def _unmasked(kernel: Kernel, access: ast.Call, flag: str) -> list[Edit]:
    source = kernel.source
    given = [argument(access, 2 if is_call(access, "store") else 1, "mask")]
    if is_call(access, "load"):
        given.append(argument(access, 2, "other"))
    texts = ((node, source.text(node)) for node in given if node is not None)
    return [source.replace(node, f"None if {flag} else {text}") for node, text in texts]


class Blocks:
    """What must hold for the blocks of one kernel to be whole."""

    def __init__(self, state: State, kernel: Kernel) -> None:
        self.state, self.kernel = state, kernel
        self.values, self.arguments = Values(kernel), Arguments(state, kernel)
        self.multiplies = any(is_call(n, "dot") for n in walk(kernel.function))

    def conditions(self, access: ast.Call) -> list[str] | None:
        """Over `args` of a launch: with all of them, an access needs no mask; None: unknown."""
        mask = argument(access, 2 if is_call(access, "store") else 1, "mask")
        if mask is None or isinstance(mask, ast.IfExp):
            return None
        found = [self._condition(bound, access) for bound in bounds_of(self.values, access)]
        return None if None in found else [c for c in found if c is not None]

    def _condition(self, bound: Bound | None, access: ast.Call) -> str | None:
        if bound is None or len(lanes(bound[0])) != 1:
            return None
        (lane,) = lanes(bound[0])
        block, difference = block_of(lane), bound[1] - bound[0] + Form.name(lane)
        if bound[0].coefficient(lane) != ONE or not self._given(block):
            return None
        sizes = [m[0] for m, f in difference.terms if f == 1 and len(m) == 1]
        for size in (s for s in sizes if s in self.kernel.parameters):
            start = Form.name(size) - difference
            if not start.terms:
                return f'args["{size}"] >= args["{block}"]'
            if self._walks(start, size, block, access):
                return f'args["{size}"] % args["{block}"] == 0'
        return None

    def _given(self, block: str) -> bool:
        """Whether a heuristic sees the block's size: defaults are not among its arguments."""
        if block not in self.kernel.constexprs:
            return False
        default = {a.arg for a in self._with_default()}
        return block not in default or self.arguments.given(block) is not None

    def _with_default(self) -> list[ast.arg]:
        arguments = self.kernel.function.args
        return arguments.args[len(arguments.args) - len(arguments.defaults) :]

    def _walks(self, start: Form, size: str, block: str, access: ast.Call) -> bool:
        """Whether a loop or the grid takes starts through 0, block, ... as far as the size."""
        for loop in self.values.loops(access):
            main = main_of(self.values, loop)
            if main is not None and main.start == start and main.block == block:
                return isinstance(main.end, ast.Name) and main.end.id == size
        for axis in range(3):
            if start == Form.name(f"tl.program_id({axis})") * Form.name(block):
                return self._programs(axis) == f"tl.cdiv({size}, {block})"
        return False

    def _programs(self, axis: int) -> str | None:
        """Programs along an axis in the kernel's names."""
        ours = launch_in_force(self.state.spec.kernel, self.state.plan)
        if ours is not None:
            return f"tl.{ours.grid[axis]}"
        launch = launch_of(self.state, self.kernel)
        if isinstance(launch, NotApplicable) or axis >= len(launch.grid):
            return None
        return in_kernel(self.kernel, launch, launch.grid[axis])


MOVE = Move(
    id="whole_blocks",
    method="pad_tail_and_mask",
    languages=("triton",),
    why="Leaves masks out where the sizes of a launch are multiples of its blocks; other launches "
    "keep them. Pays where masks cost instructions in the main loop, or keep loads narrow.",
    write=_write,
)
