"""A transpose, an element a thread, becomes one by tiles in shared memory: rows in, rows out.

Before, neighbouring threads write (or read) a column: 32 sectors a request. A tile turns in shared
memory, so that both sides move whole rows of it.
"""

from __future__ import annotations

from .....runners.dtypes import DTYPES
from .....runners.model import Candidate
from ...affine import Form, exact_quotient
from ...base import Move, NotApplicable, Proposals, State
from .facts import Facts, recognised
from .product_terms import flattened
from .scope import Place, Scope
from .syntax import Assign, Declare
from .unfit import Unfit
from .writing import clash, launched, rewritten, template

SHAPES = ((32, 8, 0.4), (64, 8, 0.35), (64, 16, 0.25), (32, 4, 0.15))
"""tile, rows of threads, prior; with 64, a thread has 16 or 32 loads in flight"""


def _write(state: State) -> Proposals:
    read = recognised(state, _read, "no transpose")
    if isinstance(read, NotApplicable):
        return read
    facts, (rows, columns, source, target) = read
    if taken := clash(facts, "transpose.cu"):
        return NotApplicable(taken)
    sizes = facts.size_text(rows), facts.size_text(columns)
    if sizes[0] is None or sizes[1] is None:
        return NotApplicable("no argument holds the number of rows or of columns")
    nbytes = DTYPES[facts.arrays[source.array].dtype].itemsize
    body = template("transpose.cu").substitute(
        T=next(p.type for p in facts.kernel.function.parameters if p.name == source.array),
        X=source.array,
        Y=target.array,
        ROWS=sizes[0],
        COLUMNS=sizes[1],
        PAD=max(1, 4 // nbytes),
    )
    text = rewritten(facts, body, "32 * THREAD_ROWS")
    return tuple(_candidate(facts, text, rows, columns, *shape) for shape in SHAPES)


def _read(facts: Facts) -> tuple[Form, Form, Place, Place]:
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
    "Tiles that turn in padded shared memory move whole rows on both. Pays always.",
    write=_write,
)
