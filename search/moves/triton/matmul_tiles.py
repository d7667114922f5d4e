"""Sizes of a matrix product's tiles with the warps and stages that suit them, changed together."""

from __future__ import annotations

from dataclasses import dataclass

from ....runners.dtypes import DTYPES
from ....runners.model import Candidate
from ....runners.specs.expressions import next_pow2
from ..shared.base import Move, NotApplicable, Proposals, State, broken_constraints
from ..shared.edits import Edit
from .parts.arguments import Arguments
from .parts.matmuls import Matmul, matmul_of


@dataclass(frozen=True)
class Tiling:
    """Rows, columns and depth of a tile, with options of the launch."""

    m: int
    n: int
    k: int
    warps: int
    stages: int
    prior: float

    @property
    def words(self) -> str:
        """For the detail of a candidate."""
        return f"{self.m}x{self.n}x{self.k}, {self.warps} warps, {self.stages} stages"


TENSOR_16 = (
    Tiling(128, 256, 64, 8, 3, 0.5), Tiling(128, 128, 64, 8, 4, 0.4),
    Tiling(128, 128, 64, 4, 4, 0.3), Tiling(256, 128, 64, 8, 3, 0.3),
    Tiling(128, 256, 64, 8, 4, 0.3), Tiling(128, 128, 128, 8, 2, 0.15),
    Tiling(64, 128, 64, 4, 4, 0.15), Tiling(128, 64, 64, 4, 4, 0.15),
    Tiling(64, 64, 64, 4, 3, 0.1), Tiling(64, 64, 32, 4, 3, 0.1), Tiling(32, 64, 64, 2, 3, 0.05),
)  # fmt: skip
"""for 2-byte operands: an instruction of wgmma takes 64 rows a group of 4 warps, 128 bytes of depth
fill the widest swizzle, and 3 to 4 stages of them fit in 227 KiB"""
TENSOR_32 = (
    Tiling(128, 128, 32, 8, 3, 0.4), Tiling(128, 256, 32, 8, 3, 0.3),
    Tiling(128, 128, 32, 4, 3, 0.2), Tiling(64, 128, 32, 4, 4, 0.2), Tiling(64, 64, 32, 4, 3, 0.1),
)  # fmt: skip
"""for fp32 operands in tensor cores (TF32, or three of them): the same bytes"""
FMA = (
    Tiling(64, 64, 16, 4, 3, 0.3), Tiling(128, 64, 16, 8, 3, 0.3), Tiling(128, 128, 16, 8, 3, 0.25),
    Tiling(128, 128, 8, 8, 4, 0.2), Tiling(64, 64, 32, 4, 2, 0.15), Tiling(64, 64, 16, 8, 3, 0.15),
)  # fmt: skip
"""for fp32 products outside tensor cores: 16 to 64 results a thread stay in registers"""


BEST = 0.5


def _write(state: State) -> Proposals:
    found = matmul_of(state)
    if isinstance(found, NotApplicable):
        return found
    a, b = found.blocks
    if a is None or b is None:
        return NotApplicable("the loads of tl.dot's operands are no tiles with named block sizes")
    arguments = Arguments(state, found.kernel)
    proposals = [_candidate(state, found, arguments, t) for t in _table(state, found, arguments)]
    kept = _told_apart([c for c in proposals if c is not None])
    if not kept:
        return NotApplicable(
            f"{found.kernel.name}: {a}, {b} and {found.main.block} have no other values that may "
            "be set together: neither parameters of the spec with those values, nor literals"
        )
    return kept


def _told_apart(candidates: list[Candidate]) -> tuple[Candidate, ...]:
    """Without repetitions, as where warps are no parameter; the best of those left weighs BEST."""
    changes = [c.model_dump(include={"source", "parameters"}) for c in candidates]
    kept = [c for i, c in enumerate(candidates) if changes[i] not in changes[:i]]
    most = max((c.prior for c in kept), default=BEST)
    return tuple(c.model_copy(update={"prior": c.prior * BEST / most}) for c in kept)


def _table(state: State, found: Matmul, arguments: Arguments) -> tuple[Tiling, ...]:
    """The tilings for the types of both operands."""
    wide = [
        DTYPES[argument.dtype].itemsize
        for operand in (found.a, found.b)
        if operand.tile is not None
        and (argument := arguments.in_contract(operand.tile.base)) is not None
    ]
    if max(wide, default=2) <= 2:
        return TENSOR_16
    return FMA if found.precision == "ieee" else TENSOR_32


def _candidate(
    state: State, found: Matmul, arguments: Arguments, tiling: Tiling
) -> Candidate | None:
    m, n = found.blocks
    assert m is not None and n is not None
    sizes = {m: tiling.m, n: tiling.n, found.main.block: tiling.k}
    if len(sizes) < 3 or not _fits(found, arguments, tiling):
        return None
    options = {"num_warps": tiling.warps, "num_stages": tiling.stages}
    values = {o: v for o, v in options.items() if o in state.spec.parameters}
    edits = list[Edit]()
    for name, size in sizes.items():
        declared = arguments.tunable(name)
        literal = arguments.literal(name) if declared is None else None
        if declared is not None:
            values[declared] = size
        elif literal is None:
            return None
        elif literal.value != size:
            edits.append(found.kernel.source.replace(literal, str(size)))
    now = state.assignment
    changed = {o: v for o, v in values.items() if now[o] != v or o in state.found}
    legal = all(v in state.spec.parameters[o].values for o, v in values.items())
    same = not edits and all(now[o] == v for o, v in values.items())
    if not legal or same or broken_constraints(state.spec, now | values):
        return None
    return Candidate(
        method=MOVE.method,
        detail=f"tiles of {tiling.words}",
        source=found.kernel.source.edited(edits) if edits else None,
        parameters=changed or None,
        prior=tiling.prior,
    )


def _fits(found: Matmul, arguments: Arguments, tiling: Tiling) -> bool:
    """Whether no side of the tile is longer than the next power of two of every workload's."""
    for length, size in zip((tiling.m, tiling.n, tiling.k), found.sizes, strict=True):
        known = arguments.sizes(size) if size is not None else ()
        if known and length > max(16, *(next_pow2(value) for value in known)):
            return False
    return True


MOVE = Move(
    id="matmul_tiles",
    method="change_block_sizes",
    languages=("triton",),
    why="Sets rows, columns and depth of a matrix product's tiles together with warps and pipeline "
    "stages, to combinations that tensor cores (or FMA units, for fp32) are known to like. Pays "
    "where the sizes were a first guess: one at a time, each passes through slower ones.",
    write=_write,
)
