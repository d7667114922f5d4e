"""A histogram by global atomic additions becomes one of counters in shared memory, merged at last.

Lanes of a warp count in copies of their own, since equal values are the rule in a histogram.
"""

from __future__ import annotations

from dataclasses import dataclass

from .....runners.dtypes import DTYPES
from .....runners.model import Candidate
from ...shared.affine import Form
from ...shared.base import Move, NotApplicable, Proposals, State
from .parts.coverage import covers
from .parts.facts import Facts, Unfit, recognised
from .parts.product_terms import flattened
from .parts.scope import Place, Scope
from .parts.syntax import Call, Declare, Evaluate, Expr, Item, Loop, Number, Statement, Unary
from .parts.writing import clash, launched, rewritten, template

SHARED = 48 * 1024
"""bytes of a block without asking for more"""
COPIES = (32, 16, 8, 4, 2, 1)
BLOCKS = 132 * 4
THREADS = 512
VECTORS = {16: "uint4", 8: "uint2", 4: "unsigned"}


@dataclass(frozen=True)
class Histogram:
    """`bins[values[i]] += amount` over all i."""

    values: str
    bins: str
    size: int
    count: Form
    amount: str


def _write(state: State) -> Proposals:
    read = recognised(state, _read, "no histogram")
    if isinstance(read, NotApplicable):
        return read
    facts, found = read
    for name in ("histogram.cu", "histogram_ahead.cu", "histogram_merge.cu"):
        if taken := clash(facts, name):
            return NotApplicable(taken)
    count = facts.size_text(found.count)
    if count is None:
        return NotApplicable("no argument holds the number of values")
    fits = [c for c in COPIES if c * found.size * 4 <= SHARED]
    if not fits:
        return NotApplicable(f"{found.size} counters do not fit into {SHARED} bytes")
    return tuple(_candidate(facts, found, count, fits, ahead) for ahead in (True, False))


def _read(facts: Facts) -> Histogram:
    flat, loop = _effects(Scope.of(facts), facts.kernel.body), None
    if len(flat) == 1 and isinstance(flat[0][0], Loop):
        loop = flat[0][0]
        flat = _effects(flat[0][1].loop(loop), loop.body)
    match flat:
        case [
            (
                Evaluate(
                    value=Call(
                        name="atomicAdd",
                        arguments=(Unary(operator="&", operand=Item() as target), amount),
                    )
                ),
                scope,
            )
        ] if isinstance(amount, Number):
            return _counted(facts, scope, target, amount, loop)
        case _:
            raise Unfit("more (or else) happens than one atomic addition of a number")


def _effects(scope: Scope, body: tuple[Statement, ...]) -> list[tuple[Statement, Scope]]:
    return [(s, sc) for s, sc in flattened(scope, body) if not isinstance(s, Declare)]


def _counted(
    facts: Facts, scope: Scope, target: Item, amount: Number, loop: Loop | None
) -> Histogram:
    bins, value = target.array, scope.value(target.indices[0])
    argument = facts.arrays.get(bins)
    if argument is None or argument.dtype not in ("int32", "uint32") or len(argument.shape) != 1:
        raise Unfit("the counters are no array of 32-bit integers")
    shape = facts.shape(bins)
    size = None if shape is None else shape[0].constant
    place = _element(facts, scope, value)
    shape = facts.shape(place.array)
    if size is None or shape is None or len(shape) != 1:
        raise Unfit("the number of counters is no number, or the values are no contiguous array")
    if not covers(scope, facts.kernel.body, place.index, shape[0], loop):
        raise Unfit("it cannot be told that every value is counted once")
    return Histogram(place.array, bins, size, shape[0], amount.text)


def _element(facts: Facts, scope: Scope, value: Expr) -> Place:
    place = scope.place(value)
    if place is None or place.array not in facts.inputs:
        raise Unfit("the counter's number is no element of an input")
    if "int" not in facts.arrays[place.array].dtype:
        raise Unfit("the values are no integers")
    return place


def _candidate(
    facts: Facts, found: Histogram, count: str, copies: list[int], ahead: bool
) -> Candidate:
    """`ahead`: the next values are loaded while others are counted."""
    types = {p.name: p.type for p in facts.kernel.function.parameters}
    nbytes = DTYPES[facts.arrays[found.values].dtype].itemsize
    widths = [w for w in VECTORS if w >= nbytes and facts.aligned(found.values, w)]
    width = max(widths, default=nbytes)
    body = template("histogram_ahead.cu" if ahead else "histogram.cu").substitute(
        T=types[found.values],
        X=found.values,
        BIN=types[found.bins],
        BINS=found.bins,
        N=count,
        SIZE=found.size,
        VECTOR=width // nbytes,
        LOADED=VECTORS[width] if widths else types[found.values],
        AMOUNT=found.amount,
        MERGE=template("histogram_merge.cu").substitute(BIN=types[found.bins]).rstrip("\n"),
    )
    return Candidate(
        method=MOVE.method,
        detail=f"{copies[0]} counters a bin in shared memory, merged by one addition a block"
        + (", values loaded ahead" if ahead else ""),
        source=rewritten(facts, body, "1024"),
        plan=launched(
            facts,
            ["HISTOGRAM_BLOCKS"],
            ["HISTOGRAM_THREADS"],
            shared=f"{found.size} * HISTOGRAM_COPIES * 4",
            defines={
                "HISTOGRAM_BLOCKS": BLOCKS,
                "HISTOGRAM_THREADS": THREADS,
                "HISTOGRAM_COPIES": copies[0],
                **({"HISTOGRAM_AHEAD": 2} if ahead else {}),
            },
        ),
        knobs={
            "HISTOGRAM_BLOCKS": (132, 264, 528, 1056),
            "HISTOGRAM_THREADS": (256, 512, 1024),
            "HISTOGRAM_COPIES": tuple(copies),
            **({"HISTOGRAM_AHEAD": (1, 2, 4)} if ahead else {}),
        },
        prior=0.4 if ahead else 0.3,
    )


MOVE = Move(
    id="histogram_shared",
    method="avoid_atomics_reduce",
    languages=("cuda",),
    why="All values of an array are counted in a few hundred addresses of L2, one after the other. "
    "Counters in shared memory, in copies side by side, take a warp's additions at once; each "
    "block merges its counters by one addition a bin. Pays where the bins fit.",
    write=_write,
)
