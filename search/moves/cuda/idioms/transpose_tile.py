"""A transpose, an element a thread, becomes one by tiles in shared memory: rows in, rows out.

Before, neighbouring threads write (or read) a column: 32 sectors a request. A tile turns in shared
memory, so that both sides move whole rows of it: as vectors where rows and addresses allow it, a
thread then turns a square of elements in registers.
"""

from __future__ import annotations

from collections.abc import Mapping

from .....runners.dtypes import DTYPES
from .....runners.model import Candidate
from ...shared.affine import Form, exact_quotient
from ...shared.base import Move, NotApplicable, Proposals, State
from .parts.facts import Facts, Unfit, recognised
from .parts.product_terms import flattened
from .parts.scope import Place, Scope
from .parts.syntax import Assign, Declare
from .parts.writing import clash, launched, rewritten, template

Turn = tuple[Form, Form, Place, Place]
SHAPES = ((32, 8, 0.4), (64, 8, 0.35), (64, 16, 0.25), (32, 4, 0.15))
"""tile, rows of threads, prior; with 64, a thread has 16 or 32 loads in flight"""

VECTORS = {16: "uint4", 8: "uint2"}
BITS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long"}
SHARED = 48 * 1024
"""bytes of a block without asking for more"""
MOST_LANES = 16
LINE = 128
"""bytes of a cache line; a row of a tile has whole ones"""
GROUP = 16
"""tiles below each other that blocks do in turn. Some 800 blocks of 256 threads are resident on 132
multiprocessors; with 4-byte elements these write 4 KiB of a row at one time, and read 12 KiB"""
PRIORS = {16: 0.2, 32: 0.4, 64: 0.5, 128: 0.4, 256: 0.2}
"""by bytes that a thread has in flight: few hide no latency, many leave few threads"""


def _write(state: State) -> Proposals:
    read = recognised(state, _read, "no transpose")
    if isinstance(read, NotApplicable):
        return read
    facts, (rows, columns, _, _) = read
    if taken := clash(facts, "transpose.cu") or clash(facts, "transpose_vectors.cu"):
        return NotApplicable(taken)
    high, wide = facts.size_text(rows), facts.size_text(columns)
    if high is None or wide is None:
        return NotApplicable("no argument holds the number of rows or of columns")
    names = _names(facts, read[1], (high, wide))
    found = [_by_vectors(facts, read[1], names, width) for width in VECTORS]
    text = rewritten(facts, template("transpose.cu").substitute(names), "32 * THREAD_ROWS")
    by_elements = (_candidate(facts, text, rows, columns, *shape) for shape in SHAPES)
    written = (*(c for c in found if c is not None), *by_elements)
    return tuple(sorted(written, key=lambda c: -c.prior))


def _read(facts: Facts) -> Turn:
    """Rows and columns of the input, the element that is read and the one that is written."""
    flat = list(flattened(Scope.of(facts), facts.kernel.body))
    others = [s for s, _ in flat if not isinstance(s, Declare)]
    last, scope = flat[-1] if flat else (None, None)
    if len(others) != 1 or scope is None or not isinstance(last, Assign) or last.operator != "=":
        raise Unfit("more happens than one store of one element")
    source, target = scope.place(scope.value(last.value)), scope.place(last.target)
    if source is None or target is None or source.array not in facts.inputs:
        raise Unfit("it is not an element of an input that is stored")
    if facts.arrays[target.array].role != "output":
        raise Unfit("the output held something before, of which a guard may leave parts")
    if facts.arrays[source.array].dtype != facts.arrays[target.array].dtype:
        raise Unfit("the element changes its type")
    shape, turned = facts.shape(source.array), facts.shape(target.array)
    if shape is None or len(shape) != 2 or turned != (shape[1], shape[0]):
        raise Unfit("the contract's shapes are not those of a matrix and its transpose")
    rows, columns = shape
    candidates = [*scope.integers.values(), _row(source.index, columns)]
    turns = [(source.index - row * columns) * rows + row for row in candidates if row is not None]
    if target.index not in turns:
        raise Unfit("an element is not stored at its mirrored place")
    return rows, columns, source, target


def _row(index: Form, columns: Form) -> Form | None:
    """The row of `row * columns + column` where it has no name: what the columns multiply."""
    names = columns.names
    return exact_quotient(
        Form.of((m, c) for m, c in index.terms if names and names <= set(m)), columns
    )


def _names(facts: Facts, turn: Turn, sizes: tuple[str, str]) -> dict[str, str | int]:
    """What both templates are filled with."""
    _, _, source, target = turn
    return {
        "T": next(p.type for p in facts.kernel.function.parameters if p.name == source.array),
        "X": source.array,
        "Y": target.array,
        "ROWS": sizes[0],
        "COLUMNS": sizes[1],
        "PAD": max(1, 4 // _itemsize(facts, source)),
    }


def _itemsize(facts: Facts, place: Place) -> int:
    return DTYPES[facts.arrays[place.array].dtype].itemsize


def _spans(nbytes: int, width: int) -> tuple[int, ...]:
    """Vectors that a row of a tile may have, the likeliest first."""
    lanes = width // nbytes
    if not 2 <= lanes <= MOST_LANES:
        return ()
    sides = {span: span * lanes for span in (16, 8) if span * width % LINE == 0}
    pad = max(1, 4 // nbytes)
    return tuple(
        span
        for span, side in sides.items()
        if side % 32 == 0 and side * (side + pad) * nbytes <= SHARED
    )


def _by_vectors(
    facts: Facts, turn: Turn, names: Mapping[str, str | int], width: int
) -> Candidate | None:
    """By vectors of so many bytes; None: the addresses are not promised to be multiples of that, or
    the elements are too large or small for it."""
    rows, columns, source, target = turn
    nbytes = _itemsize(facts, source)
    spans = _spans(nbytes, width)
    if not spans or not all(facts.aligned(p.array, width) for p in (source, target)):
        return None
    lanes = width // nbytes
    body = template("transpose_vectors.cu").substitute(
        names,
        LANES=lanes,
        WIDTH=width,
        VECTOR=VECTORS[width],
        BITS=BITS[nbytes],
        PHASE=LINE // width,
    )
    side = f"{lanes} * TILE_VECTORS"
    defines = {"TILE_VECTORS": spans[0], "TILE_GROUP": GROUP}
    knobs = {"TILE_GROUP": (1, 4, GROUP, 64)} | ({"TILE_VECTORS": spans} if spans[1:] else {})
    return Candidate(
        method=MOVE.method,
        detail=f"transpose by tiles in shared memory, {lanes} vectors of {width} bytes a thread",
        source=rewritten(facts, body, "TILE_VECTORS * TILE_VECTORS"),
        plan=launched(
            facts,
            [f"cdiv({rows.text()}, {side}) * cdiv({columns.text()}, {side})"],
            ["TILE_VECTORS * TILE_VECTORS"],
            defines=defines,
        ),
        knobs=knobs,
        prior=PRIORS[width * lanes],
    )


def _candidate(
    facts: Facts, source: str, rows: Form, columns: Form, tile: int, threads: int, prior: float
) -> Candidate:
    grid = f"cdiv({rows.text()}, TILE_DIM) * cdiv({columns.text()}, TILE_DIM)"
    defines = {"TILE_DIM": tile, "THREAD_ROWS": threads}
    return Candidate(
        method=MOVE.method,
        detail=f"transpose by tiles of {tile} x {tile} in shared memory, {tile // threads} rows a "
        "thread",
        source=source,
        plan=launched(facts, [grid], [32, "THREAD_ROWS"], defines=defines),
        prior=prior,
    )


MOVE = Move(
    id="transpose_tile",
    method="coalesce_global_accesses",
    languages=("cuda",),
    why="A transpose with an element a thread touches a sector for each element on one side. "
    "Tiles that turn in padded shared memory move whole rows on both, as vectors where they can. "
    "Pays always.",
    write=_write,
)
