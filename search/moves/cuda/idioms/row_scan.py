"""Running sums along rows, a row a thread, become a block a row: vectors, shuffles, and a carry."""

from __future__ import annotations

from dataclasses import dataclass

from .....runners.dtypes import DTYPES
from .....runners.model import Candidate
from ...shared.affine import Form, exact_quotient
from ...shared.base import Move, NotApplicable, Proposals, State
from .parts.facts import Facts, Unfit, recognised
from .parts.product_terms import flattened, sum_type
from .parts.scope import Place, Scope, element_map
from .parts.syntax import Assign, Binary, Declare, Expr, Item, Loop, Name, names_in, unconverted
from .parts.writing import clash, launched, rewritten, template
from .row_in_registers import MOVED

SIZES = ((256, 2), (512, 1), (128, 2), (256, 1), (128, 4), (1024, 1))
"""threads, and vectors of 16 bytes a thread and round"""


@dataclass(frozen=True)
class Scan:
    """`sum += value(x[row, j]); y[row, j] = sum`, the other way round if exclusive."""

    source: str
    target: str
    rows: Form
    columns: Form
    value: str
    """C++ over `element`"""
    sum: str
    """C++ type"""
    exclusive: bool


def _write(state: State) -> Proposals:
    read = recognised(state, _read, "no running sum along rows")
    if isinstance(read, NotApplicable):
        return read
    facts, found = read
    if taken := clash(facts, "scan.cu"):
        return NotApplicable(taken)
    columns = facts.size_text(found.columns)
    if columns is None:
        return NotApplicable("no argument holds the number of columns")
    return tuple(
        _candidate(facts, found, columns, *sizes, prior=0.4 * 0.8**at)
        for at, sizes in enumerate(_sizes(facts, found))
    )


def _sizes(facts: Facts, found: Scan) -> tuple[tuple[int, int], ...]:
    """Those that waste least of their last round, at most four."""
    longest = max(facts.workload_values(found.columns))
    elements = 16 // min(
        DTYPES[facts.arrays[a].dtype].itemsize for a in (found.source, found.target)
    )

    def wasted(size: tuple[int, int]) -> float:
        each = size[0] * size[1] * elements
        return -(-longest // each) * each / longest

    return tuple(sorted(SIZES, key=wasted)[:4])


def _read(facts: Facts) -> Scan:
    flat = list(flattened(Scope.of(facts), facts.kernel.body))
    effects = [(s, sc) for s, sc in flat if not isinstance(s, Declare)]
    if len(effects) != 1 or not isinstance(effects[0][0], Loop):
        raise Unfit("there is no single loop over the columns")
    loop, scope = effects[0]
    assert isinstance(loop, Loop)
    if scope.form(loop.first) != Form() or scope.form(loop.step) != Form.number(1):
        raise Unfit("the loop does not go from column to column")
    columns, inner = scope.form(loop.bound), scope.loop(loop)
    added: tuple[str, Expr, Scope] | None = None
    stored: tuple[Assign, Scope] | None = None
    exclusive = False
    for statement in loop.body:
        match statement:
            case Declare(sizes=()):
                inner = inner.declare(statement)
            case Assign(target=Name(name=name)) if added is None:
                added, exclusive = (name, _added(statement, name), inner), stored is not None
            case Assign(target=Item(), operator="=") if stored is None:
                stored = statement, inner
            case _:
                raise Unfit("the loop does more than add up and store the sum so far")
    if added is None or stored is None or columns is None:
        raise Unfit("the loop does not both add up and store the sum so far")
    kind = sum_type(added[0], [s for s, _ in flat])
    value = unconverted(stored[0].value)
    if not isinstance(value, Name) or value.name != added[0]:
        raise Unfit("it is not the sum so far that is stored")
    target = stored[1].place(stored[0].target)
    source, text = element_map(facts, added[2], added[2].value(added[1]))
    rows = _rows(facts, source, target, columns, f"%{loop.variable}")
    assert target is not None
    return Scan(source.array, target.array, rows, columns, text, kind, exclusive)


def _added(statement: Assign, name: str) -> Expr:
    match statement.operator, statement.value:
        case "+=", value if name not in names_in(value):
            return value
        case "=", Binary(operator="+", left=Name(name=mine), right=value) if mine == name:
            return value
        case _:
            raise Unfit(f"`{name}` is no sum")


def _rows(facts: Facts, source: Place, target: Place | None, columns: Form, variable: str) -> Form:
    """The number of rows, if both arrays are that many rows of the columns, side by side."""
    shape = facts.shape(source.array)
    if target is None or target.array not in facts.arrays or shape is None or len(shape) != 2:
        raise Unfit("the arrays have no rows and columns in the contract")
    if facts.arrays[target.array].role != "output":
        raise Unfit("the output held something before, of which a guard may leave parts")
    if facts.shape(target.array) != shape or shape[1] != columns or target.index != source.index:
        raise Unfit("input and output are not accessed alike, over all their columns")
    row = exact_quotient(source.index.without(variable), columns)
    if row is None or source.index.coefficient(variable) != Form.number(1) or not row.terms:
        raise Unfit("a thread does not go along a row")
    return shape[0]


def _candidate(
    facts: Facts, found: Scan, columns: str, threads: int, vectors: int, prior: float
) -> Candidate:
    types = {p.name: p.type for p in facts.kernel.function.parameters}
    arrays = found.source, found.target
    elements = 16 // min(DTYPES[facts.arrays[a].dtype].itemsize for a in arrays)
    aligned = all(facts.aligned(a, 16) for a in arrays)
    known = facts.multiple_of(found.columns) % elements == 0
    body = template("scan.cu").substitute(
        T=types[found.source],
        OUT=types[found.target],
        SUM=found.sum,
        X=found.source,
        Y=found.target,
        COLUMNS=columns,
        WHOLE=("true" if known else f"{columns} % {elements} == 0") if aligned else "false",
        VALUE=found.value,
        EXCLUSIVE="sums[v] = total;" if found.exclusive else "",
        INCLUSIVE="" if found.exclusive else "sums[v] = total;",
    )
    return Candidate(
        method=MOVE.method,
        detail=f"a block of {threads} a row, {vectors * elements} columns a thread and round",
        source=rewritten(facts, body, "SCAN_THREADS", MOVED),
        plan=launched(
            facts,
            [found.rows.text()],
            ["SCAN_THREADS"],
            defines={"SCAN_THREADS": threads, "SCAN_VECTOR": vectors * elements},
        ),
        prior=prior,
    )


MOVE = Move(
    id="row_scan",
    method="coalesce_global_accesses",
    languages=("cuda",),
    why="A running sum with a thread a row reads with a row's length between neighbouring threads. "
    "A block a row adds up vectors, lanes and warps, and carries the sum on: whole sectors, and "
    "one pass. Pays always.",
    write=_write,
)
