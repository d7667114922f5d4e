"""Sizes of a launch, which a spec says, as expressions over what the kernel is given."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from ......analysis.lift import Lifted
from ......analysis.lift.expressions import Call, Expr, Name, Number, Unreadable, names_in
from ......analysis.lift.rewriting import substitute
from ......analysis.lift.statements import Body, Dim, changed, expressions_in
from ......analysis.lift.sums import difference, divided, product, total
from ......runners.errors import ExpressionError
from ......runners.specs.declared_plan_model import LaunchStep
from ......runners.specs.expressions import evaluate_int
from ......runners.specs.part import Expression
from ......runners.specs.spec import KernelSpec
from ....shared.sizes import divisor_of

AXES = ("x", "y", "z")


def number_of(size: Expression, numbers: Mapping[str, int]) -> int | None:
    """A size that is a number where these are known; None: it is none."""
    try:
        return evaluate_int(size, numbers)
    except ExpressionError:
        return None


class LaunchSizes:
    """Sizes of a spec as expressions over what the kernel is given."""

    def __init__(
        self, spec: KernelSpec, given: Mapping[str, Expression], numbers: Mapping[str, int]
    ) -> None:
        self._spec, self._numbers = spec, numbers
        self._by_symbol = {str(value): name for name, value in given.items()}
        self._taken = given.keys()
        self.added = list[str]()

    def without_launch(self, lifted: Lifted, launch: LaunchStep) -> Lifted:
        """The lift with the launch's sizes in place of `nctaid` and `ntid`. Raises Unreadable
        where a thread or block is left in what is computed."""
        known = dict[str, Expr]()
        used = {
            name
            for each in (*expressions_in(lifted.body), *(d.extent for d in lifted.dims))
            for name in names_in(each)
        }
        for axis, blocks, threads in zip(AXES, launch.grid, launch.block, strict=False):
            for name, size in ((f"nctaid.{axis}", blocks), (f"ntid.{axis}", threads)):
                if name in used:
                    known[name] = self.expression(size, launch)
        for axis in AXES:
            known.setdefault(f"nctaid.{axis}", Number(1))
            known.setdefault(f"ntid.{axis}", Number(1))
        dims = tuple(Dim(d.name, self._extent(d.extent, known, launch)) for d in lifted.dims)
        body: Body = changed(lifted.body, lambda each: substitute(each, known))
        made = replace(lifted, dims=dims, body=body)
        own = {d.name for d in dims}
        left = {n for e in expressions_in(body) for n in names_in(e) if "." in n and n not in own}
        if left:
            raise Unreadable(f"{sorted(left)[0]} counts in what is computed")
        return made

    def _extent(self, extent: Expr, known: Mapping[str, Expr], launch: LaunchStep) -> Expr:
        """An extent; as many places as whole blocks have are as many as were asked for, where
        blocks divide them."""
        for axis, blocks in zip(AXES, launch.grid, strict=False):
            name = f"nctaid.{axis}"
            if name in names_in(extent) and (of := self._divided(blocks)) is not None:
                whole, by = of
                if extent == product(Name(name), Number(by)):
                    return self.expression(whole, launch)
        return substitute(extent, known)

    def _divided(self, blocks: Expression) -> tuple[str, int] | None:
        """(`n`, 256) of `cdiv(n, 256)`, where all legal n are multiples."""
        tree = ast.parse(str(blocks), mode="eval").body
        match tree:
            case ast.Call(func=ast.Name(id="cdiv"), args=[whole, by]):
                pass
            case ast.BinOp(left=whole, op=ast.FloorDiv(), right=by):
                pass
            case _:
                return None
        number = number_of(ast.unparse(by), self._numbers)
        text = ast.unparse(whole)
        if not number or divisor_of(text, self._spec) % number:
            return None
        return text, number

    def expression(self, size: Expression, launch: LaunchStep) -> Expr:
        """An expression of a spec. Raises Unreadable for what has no counterpart."""
        numbers = dict[str, int](self._numbers)
        for axis, threads in zip(AXES, launch.block, strict=False):
            value = number_of(threads, numbers)
            if value is not None:
                numbers.setdefault(f"block_{axis}", value)
        if isinstance(size, int):
            return Number(size)
        return self._of(ast.parse(str(size), mode="eval").body, numbers)

    def _of(self, node: ast.expr, numbers: Mapping[str, int]) -> Expr:
        whole = ast.unparse(node)
        if whole in self._by_symbol:
            return Name(self._by_symbol[whole])
        match node:
            case ast.Constant(value=int() as value):
                return Number(value)
            case ast.Name(id=name) if name in numbers:
                return Number(numbers[name])
            case ast.Name(id=name) if name in self._taken and name not in self._spec.symbols:
                return Name(name)
            case ast.Name(id=name) if name in self._spec.symbols:
                if name in self._taken:  # a parameter of that name holds something else
                    raise Unreadable(f"the size {name} is not handed over")
                if name not in self.added:
                    self.added.append(name)
                return Name(name)
            case ast.BinOp(left=left, op=op, right=right):
                return _combined(op, self._of(left, numbers), self._of(right, numbers))
            case ast.Call(func=ast.Name(id="cdiv"), args=[left, right]):
                above, below = self._of(left, numbers), self._of(right, numbers)
                return _over(total((above, below, Number(-1))), below)
            case _:
                raise Unreadable(f"the size {whole} of the launch")


def _combined(operator: ast.operator, left: Expr, right: Expr) -> Expr:
    match operator:
        case ast.Add():
            return total((left, right))
        case ast.Sub():
            return difference(left, right)
        case ast.Mult():
            return product(left, right)
        case ast.FloorDiv():
            return _over(left, right)
        case _:
            raise Unreadable("an operation in a size of the launch")


def _over(left: Expr, right: Expr) -> Expr:
    if isinstance(right, Number) and (whole := divided(left, int(right.value))) is not None:
        return whole
    if isinstance(left, Number) and isinstance(right, Number):
        return Number(int(left.value) // int(right.value))
    return Call("div", (left, right), "int")
