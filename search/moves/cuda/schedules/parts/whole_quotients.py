"""Sizes that are surely multiples: with n a multiple of 4, `4*(n/4)` is n."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ......analysis.lift.expressions import Call, Expr, Name, Number, Sum
from ......analysis.lift.rewriting import rebuilt
from ......analysis.lift.statements import Dim, Lifted, changed
from ......analysis.lift.sums import product, total
from ......runners.specs.part import Expression
from ......runners.specs.spec import KernelSpec
from ....shared.sizes import divisor_of


def with_whole_quotients(
    lifted: Lifted, sizes: Mapping[str, Expression], spec: KernelSpec
) -> Lifted:
    """The lift with whole sizes in place of their parts, where all legal sizes are multiples."""

    def is_whole(factor: Expr) -> tuple[Name, int] | None:
        match factor:
            case Call("div", (Name(name) as size, Number(by))) if name in sizes and by > 1:
                whole = divisor_of(sizes[name], spec) % int(by) == 0
                return (size, int(by)) if whole else None
            case _:
                return None

    def change(expr: Expr) -> Expr:
        made = rebuilt(expr, change)
        if not isinstance(made, Sum):
            return made
        addends = list[Expr]()
        for factors, number in made.terms:
            inner, times = list(factors), number
            for at, each in enumerate(factors):
                found = is_whole(each)
                if found is not None and times % found[1] == 0:
                    inner[at], times = found[0], times // found[1]
            addends.append(product(Number(times), *inner))
        return total(addends)

    dims = tuple(Dim(each.name, change(each.extent)) for each in lifted.dims)
    return replace(lifted, dims=dims, body=changed(lifted.body, change))
