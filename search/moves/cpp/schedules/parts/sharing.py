"""Values that more than one place of a nest needs: sums as arrays of their own, and terms that stay
where they were computed."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ......analysis.lift.expressions import Call, DType, Expr, Fold, Load, Name, names_in, walk
from ......analysis.lift.rewriting import substitute
from ......analysis.lift.statements import Dim, Store, changed, expressions_in
from ......analysis.lift.sums import product, total
from ....shared.lifted.c_expressions import everywhere
from ....shared.lifted.names import Names
from .folds_text import Folds
from .nests import Nest, folds_in, free_names, given_in, with_value
from .reductions import reduction_of

if TYPE_CHECKING:
    pass

DEAR = frozenset("exp exp2 expm1 log log2 log10 log1p sin cos tan tanh pow erf erfc".split())
"""operations that are not worth computing twice"""
STORED = {"f32": "float32", "f64": "float64"}


@dataclass(frozen=True)
class Apart:
    """A sum that many places share, as an array of its own."""

    name: str
    count: Expr
    nest: Nest
    """that computes it"""
    dtype: DType


def apart_from(nest: Nest, known: Mapping[Expr, str], names: Names) -> tuple[list[Apart], Nest]:
    """The folds of a nest that many places share, and that no order of its loops computes once, and
    the nest that reads them. `known`: what has a name already."""
    found = list[Apart]()
    while (more := _one_apart(nest, known, names)) is not None:
        found.append(more[0])
        nest = more[1]
    return found, nest


def _one_apart(nest: Nest, known: Mapping[Expr, str], names: Names) -> tuple[Apart, Nest] | None:
    folds = folds_in(list(expressions_in(nest.body)))
    counts = {f.index: f.count for f in folds}
    for fold in folds:
        dims = None if fold in known else _dims_apart(nest, fold, counts)
        if dims is None:
            continue
        name = names.fresh("sums" if fold.kind == "sum" else "values")
        index, stride = total(()), product()
        for dim in reversed(dims):
            index = total((index, product(Name(dim.name), stride)))
            stride = product(stride, dim.extent)
        element = Load(name, index, fold.dtype)
        body = changed(nest.body, lambda e, f=fold, to=element: with_value(e, f, to))
        own = Nest(dims, (Store(name, index, fold),))
        return Apart(name, stride, own, fold.dtype), Nest(nest.dims, body)
    return None


def _dims_apart(nest: Nest, fold: Fold, counts: Mapping[str, Expr]) -> tuple[Dim, ...] | None:
    """What a fold is computed over apart from the nest; None where it need not be."""
    free = free_names(fold)
    own = [each for each in nest.dims if each.name in free]
    loops = [name for name in counts if name in free]
    if free & given_in(nest.body) or any(name.startswith("~") for name in free):
        return None
    if reduction_of(fold) is None:
        return None
    if loops:
        extent = counts[loops[0]]
        alone = len(loops) == 1 and not own and not names_in(extent) & nest.names
        return (Dim(loops[0], extent),) if alone else None
    is_prefix = tuple(own) == nest.dims[: len(own)]
    return None if is_prefix or not own else tuple(own)


def kept_terms(folds: Folds, nest: Nest, tab: str) -> Generator[str, None, Nest]:
    """A sum of terms that are dear and that each place needs again, as in softmax: they are stored
    where the place's value will be, while they are added up. Leaves the rest of the nest."""
    store = nest.store
    for fold in folds_in([store.value]) if store is not None else ():
        left = None if store is None else _with_kept(folds, nest, store, fold)
        if store is None or left is None:
            continue
        index, term = fold.index, _term(fold)
        for each in folds_in([term]):
            if each not in folds.writer.known:
                yield from folds.folded(each, tab, team=False)
        there = substitute(store.index, {nest.dims[-1].name: Name(index)})
        folds.kept[fold] = Store(store.array, there, term)
        yield from folds.folded(fold, tab, team=False)
        folds.told["terms kept where they are needed again"] = None
        return Nest(nest.dims, (Store(store.array, store.index, left),))
    return nest


def _term(fold: Fold) -> Expr:
    found = reduction_of(fold)
    assert found is not None
    return found.term


def _with_kept(folds: Folds, nest: Nest, store: Store, fold: Fold) -> Expr | None:
    """A place's value with the kept term in it; None where it has none, or must not be stored."""
    inner, found = nest.dims[-1], reduction_of(fold)
    if found is None or fold in folds.writer.known or found.kind != "sum" or len(found.loops) > 1:
        return None
    term = substitute(found.term, {fold.index: Name(inner.name)})
    left = with_value(store.value, term, Load(store.array, store.index, term.dtype))
    if fold.count != inner.extent or inner.name in free_names(fold) or left == store.value:
        return None
    is_dear = any(isinstance(part, Call) and part.op in DEAR for part in everywhere(term))
    fits = folds.writer.dtypes[store.array] == STORED.get(term.dtype)
    read = [e for v in (store.value, left) for e in walk(v) if isinstance(e, Load)]
    alone = all(e.index == store.index for e in read if e.array == store.array)
    return left if is_dear and fits and alone else None
