"""Tiles of matrix operands through tensor descriptors: the TMA unit copies them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ....runners.dtypes import DTYPES
from ....runners.model import Candidate
from ..shared.affine import Form
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from .parts.arguments import Arguments
from .parts.kernels import Kernel
from .parts.matmuls import Matmul, matmul_of
from .parts.nodes import walk
from .parts.source import INDENT, Source, is_call
from .parts.texts import text_of
from .parts.tiles import ONE, Tile, divided, tile_of

TMA_BYTES = 16
"""strides and the base of a tensor map are multiples of it (CUDA driver API, cuTensorMapEncode)"""


@dataclass(frozen=True)
class Described:
    """One load that becomes one of a descriptor."""

    tile: Tile
    name: str
    sizes: tuple[Form, Form]
    conditions: tuple[str, ...]
    """over `args`, for a launch; none: true of every legal shape"""

    @property
    def making(self) -> str:
        """The descriptor's definition."""
        rows, columns = self.tile.axes
        base = self.tile.base
        if self.tile.offset.terms:
            base = f"{base} + {text_of(self.tile.offset)}"
        return (
            f"{self.name} = tl.make_tensor_descriptor({base}, "
            f"shape=[{', '.join(map(text_of, self.sizes))}], "
            f"strides=[{text_of(rows.stride)}, 1], block_shape=[{rows.block}, {columns.block}])"
        )

    def access(self, source: Source) -> str:
        """The load or store through it."""
        rows, columns = self.tile.axes
        place = f"[{text_of(rows.start)}, {text_of(columns.start)}]"
        if is_call(self.tile.access, "load"):
            return f"{self.name}.load({place})"
        return f"{self.name}.store({place}, {source.text(self.tile.access.args[1])})"


def _write(state: State) -> Proposals:
    found = matmul_of(state)
    if isinstance(found, NotApplicable):
        return found
    if any(is_call(n, "make_tensor_descriptor") for n in walk(found.kernel.function)):
        return NotApplicable("it loads through tensor descriptors already")
    arguments = Arguments(state, found.kernel)
    made = list[Described]()
    stored = _stored(found, arguments)
    for operand, side in ((found.a, "first"), (found.b, "second")):
        if operand.tile is None:
            return NotApplicable(f"the {side} operand of tl.dot is no tile that tl.load reads")
        described = _described(found, arguments, operand.tile)
        if isinstance(described, str):
            return NotApplicable(f"the tile of `{operand.tile.base}` {described}")
        made.append(described)
    families = [("tiles of both operands loaded by TMA", made, 0.5)]
    if stored is not None:
        families.append(("tiles of operands and result moved by TMA", [*made, stored], 0.4))
    return tuple(
        Candidate(
            method=MOVE.method,
            detail=f"{told}, through tensor descriptors",
            source=_source(found, tiles),
            prior=prior,
        )
        for told, tiles, prior in families
    )


def _stored(found: Matmul, arguments: Arguments) -> Described | None:
    """The one store of the kernel, where it can go through a descriptor as well."""
    stores = [n for n in walk(found.kernel.function) if is_call(n, "store")]
    if len(stores) != 1 or not isinstance(stores[0], ast.Call):
        return None
    tile = tile_of(found.values, stores[0])
    whole = tile is not None and len(tile.access.args) > 1 and isinstance(tile.statement, ast.Expr)
    described = _described(found, arguments, tile) if tile is not None and whole else ""
    return None if isinstance(described, str) else described


def _described(found: Matmul, arguments: Arguments, tile: Tile) -> Described | str:
    """The load as one of a descriptor, or why it cannot be one."""
    kernel = found.kernel
    known = arguments.in_contract(tile.base)
    if known is None:
        return "is of no array that the contract names"
    if known.align < TMA_BYTES:
        return f"is only promised to be aligned to {known.align} bytes"
    rows, columns = tile.axes
    if not tile.only_bounds:
        return "has a mask of more than its sizes, or fills with another value than 0"
    if rows.size is None or columns.size is None:
        return "has no mask that says how many rows and columns there are"
    unit = DTYPES[known.dtype].itemsize
    conditions = list[str]()
    if columns.stride != ONE:
        if not _over_parameters(kernel, columns.stride):
            return "has rows that are not contiguous"
        conditions.append(f"{_over_args(kernel, columns.stride)} == 1")
    further = (t for t in tile.offset.terms if divided(Form.of([t]), rows.stride) is None)
    for form in (rows.stride, *(Form.of([term]) for term in further)):
        sizes = Form.of((tuple(n for n in m if n in kernel.parameters), f) for m, f in form.terms)
        conditions.append(f"{_over_args(kernel, sizes)} % {TMA_BYTES // unit} == 0")
    if not _over_parameters(kernel, rows.stride):
        return "has a row stride that is no parameter of the kernel"
    name = kernel.fresh(f"{tile.base.removesuffix('_ptr')}_tiles")
    open_ = [c for c in conditions if not _always(arguments, c)]
    return Described(tile, name, (rows.size, columns.size), tuple(open_))


def _over_parameters(kernel: Kernel, form: Form) -> bool:
    return form.names <= set(kernel.parameters)


def _over_args(kernel: Kernel, form: Form) -> str:
    """As an expression over the `args` of a heuristic."""
    named = {n: Form.name(f'args["{n}"]') for n in form.names}
    text = text_of(form.substitute(named)).replace('(args["', 'args["').replace('"])', '"]')
    return text if len(form.terms) == 1 and len(form.terms[0][0]) <= 1 else f"({text})"


def _always(arguments: Arguments, condition: str) -> bool:
    """Whether the domains of the contract's symbols promise it: `args["K"] % 8 == 0`."""
    name, _, rest = condition.removeprefix('args["').partition('"] % ')
    domain = arguments.state.spec.symbols.get(name)
    unit = rest.split(" ")[0]
    return domain is not None and unit.isdigit() and domain.multiple_of % int(unit) == 0


def _source(found: Matmul, made: Sequence[Described]) -> str:
    """Where conditions are left, a constexpr says for each launch whether TMA may be used."""
    kernel, source = found.kernel, found.kernel.source
    conditions = list(dict.fromkeys(c for d in made for c in d.conditions))
    edits = list[Edit]()
    lines = [d.making for d in made]
    if conditions:
        flag = kernel.fresh("TMA")
        edits += kernel.heuristic(flag, " and ".join(conditions))
        lines = [f"if {flag}:", *(f"    {line}" for line in lines)]
        edits += [_either(found, d, flag) for d in made]
    else:
        edits += [source.replace(d.tile.access, d.access(source)) for d in made]
    edits.append(source.before(_in_front(found, made), *lines))
    return source.edited(edits)


def _either(found: Matmul, described: Described, flag: str) -> Edit:
    source, tile = found.kernel.source, described.tile
    if is_call(tile.access, "load"):
        text = f"{described.access(source)} if {flag} else {source.text(tile.access)}"
        return source.replace(tile.access, text)
    before = f"\n{source.indent(tile.statement)}"
    old = source.text(tile.statement).replace("\n", f"\n{INDENT}")
    lines = (f"if {flag}:", f"{INDENT}{described.access(source)}", "else:", f"{INDENT}{old}")
    return source.replace(tile.statement, before.join(lines))


def _in_front(found: Matmul, made: Sequence[Described]) -> ast.For:
    """The outermost loop that a descriptor may stand in front of."""
    if any(d.tile.offset.terms for d in made):
        return found.main.loop
    return [found.main.loop, *found.values.loops(found.main.loop)][-1]


MOVE = Move(
    id="tensor_descriptors",
    method="enable_async_pipeline",
    languages=("triton",),
    why="Loads the tiles of a matrix product through `tl.make_tensor_descriptor`: on Hopper and "
    "later the TMA unit then computes addresses, checks bounds and writes shared memory, in place "
    "of all threads. Shapes whose rows are no multiples of 16 bytes keep their loads.",
    write=_write,
)
