"""Operations of TTIR that combine many values: reductions, scans, products of blocks, loops."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import inf

from ..expressions import (
    FLOATS,
    Call,
    Carried,
    DType,
    Expr,
    Fold,
    Name,
    Number,
    Unreadable,
    call,
    names_in,
)
from ..fold_laws import merged, plain_fold
from ..folding import closed_forms, fold_of
from ..frames import as_pointer, bare
from ..rewriting import substitute
from ..statements import (
    Body,
    Each,
    Let,
    Statement,
    changed,
    expressions_in,
    statements_in,
)
from ..sums import difference, product, total
from .blocks import Block, applied, axis_name, moved, named, unplaced
from .execution import Blocks, Reader, axis_of
from .parsing import Operation, Region
from .tables import dtype_of, shape_of

_COMBINERS = {"add": "sum", "mul": "product", "max": "max", "min": "min"}
_FOR = re.compile(
    r"scf\.for (?:unsigned )?(%[\w.$-]+) = (%[\w.$#-]+) to (%[\w.$#-]+) step (%[\w.$#-]+)"
)


def _reduce(reader: Reader, each: Operation) -> Blocks:
    axis, values = axis_of(each), [reader.block(name) for name in each.operands]
    rank, shape = len(values[0].shape), values[0].shape
    index = reader.fresh("r")
    down: dict[int, Expr] = {n: Name(axis_name(n - (n > axis))) for n in range(rank)}
    turns = [moved(v.expr, {**down, axis: Name(index)}) for v in values]
    made = _over(reader, each.regions[0], turns, index, Number(shape[axis]), _bits(each))
    return [Block(expr, (*shape[:axis], *shape[axis + 1 :])) for expr in made]


def _scan(reader: Reader, each: Operation) -> Blocks:
    axis, values = axis_of(each), [reader.block(name) for name in each.operands]
    index, shape = reader.fresh("r"), values[0].shape
    here, last, place = Name(axis_name(axis)), Number(shape[axis] - 1), Name(index)
    count: Expr = total((here, Number(1)))
    turns = [moved(v.expr, {axis: place}) for v in values]
    if "reverse = true" in each.text:
        count = total((difference(last, here), Number(1)))
        turns = [moved(v.expr, {axis: difference(last, place)}) for v in values]
    made = _over(reader, each.regions[0], turns, index, count, _bits(each))
    return [Block(expr, shape) for expr in made]


def _bits(each: Operation) -> int:
    """How wide the integers are that it gives."""
    found = re.fullmatch(r"(?:tensor<(?:\d+x)*)?i(\d+)>?", each.result_type)
    return int(found[1]) if found and found[1] != "1" else 64


def _over(
    reader: Reader, region: Region, turns: Sequence[Expr], index: str, count: Expr, bits: int
) -> list[Expr]:
    """Values combined over an index, by the region of a reduction or scan. `bits`: of integers."""
    combined = _combiner(reader, region, [each.dtype for each in turns])
    kind = _kind_of(combined[0]) if len(turns) == 1 else None
    if kind is not None:
        first = _neutral(kind, turns[0].dtype, bits)
        return [merged(plain_fold(kind, index, count, first, f"~{index}", turns[0]))]
    later = {index: total((Name(index), Number(1)))}
    names = [f"~{index}.{n}" for n in range(len(turns))]
    known: dict[str, Expr] = {}
    for n, (name, turn) in enumerate(zip(names, turns, strict=True)):
        known |= {f"~left{n}": Name(name, turn.dtype), f"~right{n}": substitute(turn, later)}
    carried = {
        name: Carried(name, turn.dtype, substitute(turn, {index: Number(0)}), substitute(c, known))
        for name, turn, c in zip(names, turns, combined, strict=True)
    }
    less = total((count, Number(-1)))
    return [fold_of(name, carried, index, less) for name in names]


def _combiner(reader: Reader, region: Region, dtypes: Sequence[DType]) -> list[Expr]:
    """What a region gives, over `~left0`, `~right0` and so on."""
    many = len(dtypes)
    for n, name in enumerate(region.parameters):
        side = "left" if n < many else "right"
        reader.values[name] = Block(Name(f"~{side}{n % many}", dtypes[n % many]))
    return [each.expr for each in reader.region(region)]


def _kind_of(combined: Expr) -> str | None:
    """sum, product, max or min of two values."""
    left, right = (Name(f"~{side}0", combined.dtype) for side in ("left", "right"))
    if combined == total((left, right)) or combined == product(left, right):
        return "sum" if combined == total((left, right)) else "product"
    plain = isinstance(combined, Call) and set(combined.args) == {left, right}
    return _COMBINERS.get(combined.op) if plain and isinstance(combined, Call) else None


def _neutral(kind: str, dtype: DType, bits: int = 64) -> Number:
    if dtype in FLOATS:
        return Number({"sum": 0.0, "product": 1.0, "max": -inf, "min": inf}[kind],
                      dtype)  # fmt: skip
    end = 1 << (bits - 1)
    return Number({"sum": 0, "product": 1, "max": -end, "min": end - 1}[kind], dtype)


def _dot(reader: Reader, each: Operation) -> Blocks:
    left, right, before = (reader.block(name) for name in each.operands[:3])
    shape, dtype, index = shape_of(each.result_type), dtype_of(each.result_type), reader.fresh("r")
    one = moved(left.expr, {len(shape) - 1: Name(index)})
    other = moved(right.expr, {len(shape) - 2: Name(index)})
    if dtype in FLOATS:
        pair = [call("cast", e, dtype=dtype) for e in (one, other)]
        term = call("mul", *pair, dtype=dtype)
    else:
        term = product(one, other)
    count, zero = Number(left.shape[-1]), _neutral("sum", dtype)
    made = merged(plain_fold("sum", index, count, zero, f"~{index}", term))
    if isinstance(before.expr, Number) and before.expr.value == 0:
        return [Block(made, shape)]
    if dtype in FLOATS:
        return [Block(call("add", before.expr, made, dtype=dtype), shape)]
    return [Block(total((before.expr, made)), shape)]


def _for(reader: Reader, each: Operation) -> Blocks:
    """A loop over numbers: what it carries becomes closed forms and folds, as in PTX."""
    found = _FOR.match(each.text)
    if found is None:
        raise Unreadable("a loop of another form")
    start, end, step = (reader.block(found[n]).expr for n in (2, 3, 4))
    index, count = reader.fresh("k"), difference(end, start)
    if step != Number(1):
        count = call("div", total((count, step, Number(-1))), step, dtype="int")
    reader.values[found[1]] = Block(total((start, product(Name(index), step))))
    listed = re.search(r"iter_args\((.*?)\) ->", each.text)
    pairs = re.findall(r"(%[\w.$-]+) = (%[\w.$#-]+)", listed[1]) if listed else []
    before = {reader.fresh("~"): reader.block(first) for _, first in pairs}
    for (parameter, _), (name, value) in zip(pairs, before.items(), strict=True):
        carried = named(value.expr, name, len(value.shape))
        reader.values[parameter] = Block(carried, value.shape)
    body, nexts = _once(reader, each.regions[0], before)
    known, kept = _classified(before, nexts, index, body)
    reader.out += _statement(body, known, kept, (index, count))
    made = Blocks()
    for name, value in before.items():
        left = known.get(name)
        ended = merged(fold_of(name, kept, index, count)) if left is None else (
            substitute(left, {index: count})
        )  # fmt: skip
        made.append(Block(as_pointer(value.expr, ended), value.shape))
    return made


def _once(
    reader: Reader, region: Region, before: Mapping[str, Block]
) -> tuple[Body, dict[str, Expr]]:
    """One iteration: its statements, and what each carried value is next."""
    out, reader.out = reader.out, list[Statement]()
    ends = reader.region(region)
    body, reader.out = tuple(reader.out), out
    return body, {name: bare(v.expr) for name, v in zip(before, ends, strict=True)}


def _classified(
    before: Mapping[str, Block], nexts: Mapping[str, Expr], index: str, body: Body
) -> tuple[dict[str, Expr], dict[str, Carried]]:
    """Closed forms of what is carried, and the rest."""
    firsts = {name: bare(value.expr) for name, value in before.items()}
    taken = frozenset(each.name for each in statements_in(body) if isinstance(each, Let))
    known, settled = dict[str, Expr](), False
    while not settled:
        settled = True
        for name in nexts.keys() - known.keys():
            following = applied(nexts[name], known)
            others = taken | (nexts.keys() - known.keys() - {name})
            if names_in(following) & others:
                continue
            mine = {name: unplaced(following)}
            found = closed_forms({name: firsts[name]}, mine, index, taken)
            settled = settled and not found
            known |= found
    kept = {
        name: Carried(name, firsts[name].dtype, firsts[name], unplaced(applied(following, known)))
        for name, following in nexts.items()
        if name not in known
    }
    if any(names_in(each.next) & taken for each in kept.values()):
        raise Unreadable("a loop that carries what it reads of an array that it writes")
    return known, kept


def _statement(
    body: Body, known: Mapping[str, Expr], kept: Mapping[str, Carried], head: tuple[str, Expr]
) -> Body:
    """The loop as a statement, where it stores; what it stores of carried values is a fold over the
    iterations before."""
    if not body:
        return ()
    made = changed(body, lambda each: applied(each, known))
    used = set[str]().union(*(names_in(each) for each in expressions_in(made)))
    if used & kept.keys():
        index = head[0]
        before = {name: _until(merged(fold_of(name, kept, f"{index}b", Name(index))), index)
                  for name in kept}  # fmt: skip
        made = changed(made, lambda each: applied(each, before))
    return (Each(*head, (), made),)


def _until(fold: Expr, index: str) -> Expr:
    """A fold over its own index where its terms name that of the loop."""
    if not isinstance(fold, Fold):
        return fold
    own = {index: Name(f"{index}b")}
    carried = tuple(
        Carried(c.name, c.dtype, c.first, substitute(c.next, own)) for c in fold.carried
    )
    return Fold(fold.kind, fold.index, fold.count, carried, fold.which)


HANDLERS = {"tt.reduce": _reduce, "tt.scan": _scan, "tt.dot": _dot, "scf.for": _for}
