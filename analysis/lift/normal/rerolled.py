"""Places and iterations that do several neighbouring elements, as so many more that do one each.

`y[4*i] = 2*x[4*i]; y[4*i + 1] = 2*x[4*i + 1]; ...` over i < n is `y[i] = 2*x[i]` over i < 4*n, and
`sum(k < n: x[2*k] + x[2*k + 1])` is `sum(k < 2*n: x[k])`: what vectors, pairs of halves and
unrolled loops are. Sums of floats are taken to be associative, as by `fold_laws.py`. An index
`4*i + j` of the part j becomes `i`; what all parts have in common keeps the old index, i / 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..expressions import Call, Expr, Fold, Load, Name, Number, names_in, walk
from ..fold_laws import OPERATIONS, plain_fold, term_of
from ..rewriting import rebuilt, substitute
from ..statements import Body, Dim, Each, Let, Lifted, Statement, Store, When, changed
from ..sums import coefficient, difference, from_terms, product, terms_of, total

MOST_PARTS = 16


def rerolled(lifted: Lifted) -> Lifted:
    """The kernel with one element a place, where several are alike."""
    body = _loops(changed(lifted.body, _folds))
    dims = list(lifted.dims)
    for at, dim in enumerate(dims):
        made = _by_parts(body, dim.name)
        if made is not None:
            count, body = made
            dims[at] = Dim(dim.name, product(Number(count), dim.extent))
    return replace(lifted, dims=tuple(dims), body=body)


def _loops(body: Body) -> Body:
    """Loops over statements, the inner ones first."""
    found = list[Statement]()
    for each in body:
        if isinstance(each, When):
            found.append(replace(each, yes=_loops(each.yes), no=_loops(each.no)))
        elif isinstance(each, Each):
            inner = _loops(each.body)
            made = None if each.carried else _by_parts(inner, each.index)
            if made is None:
                found.append(replace(each, body=inner))
            else:
                found.append(
                    replace(each, count=product(Number(made[0]), each.count), body=made[1])
                )
        else:
            found.append(each)
    return tuple(found)


def _by_parts(body: Body, index: str) -> tuple[int, Body] | None:
    """(parts, statements of one of them over as many times as many places); None where they are
    not alike. Statements are lets and stores."""
    stores = [each for each in body if isinstance(each, Store)]
    if len(stores) < 2 or not all(isinstance(each, Let | Store) for each in body):
        return None
    arrays = list(dict.fromkeys(each.array for each in stores))
    count = len(stores) // len(arrays)
    if count < 2 or any(sum(s.array == name for s in stores) != count for name in arrays):
        return None
    groups = [_ordered([s for s in stores if s.array == name], index) for name in arrays]
    parts = list[Body]()
    for at in range(count):
        chosen = [group[at] for group in groups if group is not None]
        part = None if len(chosen) < len(groups) else _with_lets(body, chosen)
        if part is None:
            return None
        parts.append(part)
    if not _apart(parts):
        return None
    made = [_one(each, index) for each in zip(*parts, strict=False)]
    if len({len(each) for each in parts}) > 1 or any(each is None for each in made):
        return None
    return count, tuple(each for each in made if each is not None)


def _ordered(stores: list[Store], index: str) -> list[Store] | None:
    """Stores to neighbouring elements, in order; None where they are no neighbours."""
    found = dict[int, Store]()
    for each in stores:
        away = difference(each.index, stores[0].index)
        if not isinstance(away, Number):
            return None
        found[int(away.value)] = each
    step = coefficient(stores[0].index, index)
    places = sorted(found)
    if step is None or step[0] != Number(len(stores)) or len(found) < len(stores):
        return None
    if places[-1] - places[0] != len(stores) - 1:
        return None
    return [found[at] for at in places]


def _with_lets(body: Body, stores: Sequence[Store]) -> Body | None:
    """The stores with the lets that they need, in the order of the body, lets named by it."""
    needed = {name for s in stores for e in (s.index, s.value) for name in names_in(e)}
    lets = dict[str, Let]()
    for each in reversed(body):
        if isinstance(each, Let) and each.name in needed:
            lets[each.name] = each
            needed |= names_in(each.value)
    mine = [e for e in body if (e in stores if isinstance(e, Store) else e in lets.values())]
    named = dict[str, Expr]()
    out = list[Statement]()
    for each in mine:
        made = changed((each,), lambda e: substitute(e, named))[0]
        if isinstance(made, Let):
            fresh = f"t{len(named) + 1}"
            named[made.name] = Name(fresh, made.value.dtype)
            made = Let(fresh, made.value)
        out.append(made)
    return tuple(out)


def _apart(parts: Sequence[Body]) -> bool:
    """Whether no part reads what another one stores: of a stored array each reads its own."""
    stored = {s.array for part in parts for s in part if isinstance(s, Store)}
    for part in parts:
        own = {(s.array, s.index) for s in part if isinstance(s, Store)}
        for each in part:
            exprs = (each.value,) if isinstance(each, Let) else ()
            if isinstance(each, Store):
                exprs = (each.index, each.value)
            for load in (e for expr in exprs for e in walk(expr) if isinstance(e, Load)):
                if load.array in stored and (load.array, load.index) not in own:
                    return False
    return True


def _one(parts: tuple[Statement, ...], index: str) -> Statement | None:
    """A statement that is each of these at its part of the index."""
    first = parts[0]
    if isinstance(first, Let) and all(isinstance(e, Let) and e.name == first.name for e in parts):
        value = joined([e.value for e in parts if isinstance(e, Let)], index)
        return None if value is None else Let(first.name, value)
    if isinstance(first, Store) and all(
        isinstance(e, Store) and e.array == first.array for e in parts
    ):
        stores = [e for e in parts if isinstance(e, Store)]
        at = joined([e.index for e in stores], index)
        value = joined([e.value for e in stores], index)
        return None if at is None or value is None else Store(first.array, at, value)
    return None


def joined(parts: Sequence[Expr], index: str) -> Expr | None:
    """An expression over a finer index that is the j-th of these at `len(parts) * index + j`."""
    first, count = parts[0], len(parts)
    if all(each == first for each in parts):
        if index not in names_in(first):
            return first
        coarse = Call("div", (Name(index), Number(count)), "int")
        return _divided_once(substitute(first, {index: coarse}))
    if any(type(each) is not type(first) or each.dtype != first.dtype for each in parts):
        return _of_integers(parts, index) if first.dtype == "int" else None
    if first.dtype == "int" and (made := _of_integers(parts, index)) is not None:
        return made
    pieces = [_pieces(each) for each in parts]
    if any(each is None or each[0] != (pieces[0] or ((), ()))[0] for each in pieces):
        return None
    inner = [joined(each, index) for each in zip(*(p[1] for p in pieces if p), strict=False)]
    if not inner or any(each is None for each in inner):
        return None
    known = iter([each for each in inner if each is not None])
    return rebuilt(first, lambda _: next(known))


def _divided_once(expr: Expr) -> Expr:
    """`i / 4 / n` as `i / (4*n)`; of nothing below zero."""
    made = rebuilt(expr, _divided_once)
    if isinstance(made, Call) and made.op == "div" and made.dtype == "int":
        above, below = made.args
        if isinstance(above, Call) and above.op == "div" and above.dtype == "int":
            return Call("div", (above.args[0], product(above.args[1], below)), "int")
    return made


def _pieces(expr: Expr) -> tuple[object, tuple[Expr, ...]] | None:
    """What an expression is beside its parts, and these in the order of `rebuilt`."""
    match expr:
        case Call(op, args, dtype):
            return (op, dtype, len(args)), args
        case Load(array, index, dtype):
            return (array, dtype), (index,)
        case _:
            numbers = tuple((len(f), n) for f, n in getattr(expr, "terms", ()))
            if not numbers:
                return None
            return numbers, tuple(f for factors, _ in expr.terms for f in factors)  # type: ignore[union-attr]


def _of_integers(parts: Sequence[Expr], index: str) -> Expr | None:
    """Integers `d * (count * index + j) + rest`, as d * index + rest."""
    away = [difference(each, parts[0]) for each in parts]
    if not all(isinstance(each, Number) for each in away):
        return None
    steps = [int(each.value) for each in away if isinstance(each, Number)]
    step = steps[1]
    found = coefficient(parts[0], index)
    if steps != [step * at for at in range(len(parts))]:
        return None
    if found is None or found[0] != Number(step * len(parts)):
        return _of_rest(parts[0], step, len(parts), index)
    return total((product(Number(step), Name(index)), found[1]))


def _of_rest(first: Expr, step: int, count: int, index: str) -> Expr | None:
    """The same of `d * count * (a % n) + d * j`, as d * (a' % (count * n)), where a' is `count * a
    + j`."""
    for factors, number in terms_of(first).items():
        (only, *others) = factors or (first,)
        if others or not isinstance(only, Call) or only.op != "rem" or number != step * count:
            continue
        above, below = only.args
        rest = difference(first, product(Number(number), only))
        if index in names_in(rest) | names_in(below):
            continue
        each = [total((product(Number(count), above), Number(at))) for at in range(count)]
        finer = joined(each, index)
        if finer is None:
            return None
        whole = Call("rem", (finer, product(Number(count), below)), "int")
        return total((product(Number(step), whole), rest))
    return None


def _folds(expr: Expr) -> Expr:
    """The expression with its folds over single elements, the inner ones first."""
    made = rebuilt(expr, _folds)
    if isinstance(made, Call) and made.op in OPERATIONS.values():
        made = _of_one_loop(made)
    return _finer(made) if isinstance(made, Fold) else made


def _of_one_loop(expr: Call) -> Expr:
    """A sum of sums that one loop takes, each of a part of the elements, as one sum."""
    kind = next(k for k, op in OPERATIONS.items() if op == expr.op)
    addends = _chain(expr, expr.op)
    folds = [each for each in addends if isinstance(each, Fold) and each.kind == kind]
    if len(folds) < 2 or len(folds) != len(addends):
        return expr
    neutral = {"sum": 0, "product": 1}.get(kind)
    first, terms = folds[0].carried[0].first, [term_of(each) for each in folds]
    for each, term in zip(folds, terms, strict=True):
        begun = each.carried[0].first
        begins = begun.value == neutral if isinstance(begun, Number) and neutral is not None else (
            neutral is None and begun == first)  # fmt: skip
        if term is None or not begins or each.count != folds[0].count:
            return expr
    index = folds[0].index
    same = [
        substitute(term, {each.index: Name(index)})
        for each, term in zip(folds, terms, strict=True)
        if term is not None
    ]
    whole = same[0]
    for each in same[1:]:
        whole = Call(expr.op, (whole, each), expr.dtype)
    made = _finer(plain_fold(kind, index, folds[0].count, first, folds[0].carried[0].name, whole))
    return expr if made.count == folds[0].count else made


def _finer(fold: Fold) -> Fold:
    """A fold of several neighbouring elements an iteration as one of one each."""
    term = term_of(fold)
    if term is None:
        return fold
    parts = _parts_of(term, fold)
    if not 2 <= len(parts) <= MOST_PARTS:
        return fold
    one = joined(_by_place(parts), fold.index)
    if one is None or not any(isinstance(each, Load) for each in walk(one)):
        return fold
    count = product(Number(len(parts)), fold.count)
    carried = fold.carried[0]
    return plain_fold(fold.kind, fold.index, count, carried.first, carried.name, one)


def _parts_of(term: Expr, fold: Fold) -> list[Expr]:
    """What an iteration joins, one by one."""
    if fold.kind == "sum" and fold.dtype == "int":
        return [from_terms({factors: number}) for factors, number in terms_of(term).items()]
    return _chain(term, OPERATIONS[fold.kind])


def _by_place(parts: list[Expr]) -> list[Expr]:
    """Terms by the place of their first load that has one."""
    loads = [next((e for e in walk(part) if isinstance(e, Load)), None) for part in parts]
    if any(each is None for each in loads):
        return parts
    begin = loads[0]
    away = [
        difference(each.index, begin.index)
        for each in loads
        if each is not None and begin is not None
    ]
    if not all(isinstance(each, Number) for each in away):
        return parts
    places = [int(each.value) for each in away if isinstance(each, Number)]
    return [parts[at] for at in sorted(range(len(parts)), key=lambda n: places[n])]


def _chain(expr: Expr, op: str) -> list[Expr]:
    """The operands of one operation that is done several times."""
    if isinstance(expr, Call) and expr.op == op and len(expr.args) == 2:
        return [each for arg in expr.args for each in _chain(arg, op)]
    return [expr]
