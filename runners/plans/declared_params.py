"""Arguments of a declared launch as parameters, and the scope in which expressions have values."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar, get_args

from pydantic import ValidationError

from ..dtypes import is_float
from ..errors import ExpressionError, SpecError
from ..model import Record
from ..specs.contract import BoundContract
from ..specs.declared_fields import AXES
from ..specs.declared_plan_model import (
    Arg,
    BufferArg,
    RawArg,
    TensorMap,
    TensorMapArg,
    TensorMapDtype,
    ValueArg,
)
from ..specs.expressions import Number, evaluate, names_in
from ..specs.part import Expression
from .plan import (
    Dim3,
    Param,
    PlanBuffer,
    PointerParam,
    ScalarParam,
    TensorMapParam,
    pack,
    pack_scalar,
)

R = TypeVar("R", bound=Record)
DECLARE_BUFFER = "memory beside the arguments is declared in kernel.plan.buffers"
_TENSOR_MAP_DTYPES = get_args(TensorMapDtype)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an expression stands, for messages, and the names that have a value there."""

    where: str
    names: Mapping[str, Number]
    integers: Mapping[str, int]
    """those of them that are sizes or parameters, no scalar arguments"""

    @classmethod
    def of(cls, where: str, contract: BoundContract, values: Mapping[str, int]) -> Scope:
        """Scalar arguments, symbols and parameters; of equal names the later ones count."""
        scalars = {a.name: a.value for a in contract.arguments if a.value is not None}
        integers = {**contract.symbols, **values}
        return cls(where, {**scalars, **integers}, integers)

    def at(self, place: str) -> Scope:
        """A place within this one."""
        return replace(self, where=f"{self.where}, {place}")

    def inner(self, names: Mapping[str, Number]) -> Scope:
        """With further names; those of this scope count before them."""
        whole = {name: value for name, value in names.items() if isinstance(value, int)}
        return replace(self, names={**names, **self.names}, integers={**whole, **self.integers})

    def number(self, field: str, text: Expression | float) -> Number:
        """The value of a field. Raises SpecError that names the field and what is valid."""
        try:
            for name in sorted(names_in(text) - self.names.keys()):
                self.known(field, name, self.names)
            return evaluate(text, self.names)
        except ExpressionError as error:
            raise SpecError(f"{self.where}, {field}: {error.message}", valid=error.valid) from error

    def whole(self, field: str, text: Expression | float) -> int:
        """As `number`, for sizes and counts."""
        value = self.number(field, text)
        if value != int(value):
            raise SpecError(
                f"{self.where}, {field}: `{text}` is {value}, which is not a whole number",
                valid="`//` or `cdiv(a, b)`",
            )
        return int(value)

    def packed(self, name: str, dtype: str, text: Expression | float) -> ScalarParam:
        """The value as a parameter of that name. Raises SpecError when it does not fit."""
        whole = not is_float(dtype)
        value = self.whole("value", text) if whole else float(self.number("value", text))
        try:
            return pack(name, dtype, value)
        except SpecError as error:
            raise SpecError(f"{self.where}: {error.message}", valid=error.valid) from error

    def axes(self, field: str, texts: tuple[Expression, Expression, Expression]) -> Dim3:
        """Sizes along x, y and z, each at least 1."""
        x, y, z = (
            self.whole(f"{field}.{axis}", text) for axis, text in zip(AXES, texts, strict=True)
        )
        if min(x, y, z) < 1:
            said = ", ".join(f"`{text}`" for text in texts)
            raise SpecError(
                f"{self.where}, {field}: ({said}) is {(x, y, z)}", valid="1 or more along each axis"
            )
        return x, y, z

    def known(self, field: str, name: str, names: Collection[str], next_step: str = "") -> str:
        """The name itself. Raises SpecError when it is not among `names`."""
        if name in names:
            return name
        close = difflib.get_close_matches(name, names, n=1)
        meant = f"did you mean `{close[0]}`? " if close else ""
        listed = ", ".join(sorted(names)) or "none"
        raise SpecError(
            f"{self.where}, {field}: `{name}` is not a known name",
            valid=f"{meant}{listed}",
            next_step=next_step,
        )


def make_record(where: str, model: type[R], **fields: object) -> R:
    """A record of a plan. Raises SpecError for a number that its field does not take."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(map(str, problem["loc"]))
        raise SpecError(f"{where}, {field}: {problem['input']}", valid=problem["msg"]) from error


def make_param(
    arg: Arg, scope: Scope, contract: BoundContract, buffers: Mapping[str, PlanBuffer]
) -> Param:
    """One argument as a parameter. Raises SpecError naming what is valid."""
    label = scope.where.rsplit(", ", 1)[-1]
    match arg:
        case None:
            return PointerParam(arg=label, buffer=None)
        case str():
            return _named(arg, scope, contract, buffers)
        case BufferArg():
            offset = scope.whole("offset", arg.offset)
            name = scope.known("buffer", arg.buffer, buffers, DECLARE_BUFFER)
            return make_record(scope.where, PointerParam, arg=label, buffer=name, offset=offset)
        case ValueArg():
            return scope.packed(label, arg.dtype, arg.value)
        case RawArg():
            return ScalarParam(arg=label, type="bytes", value=None, raw=arg.raw)
        case TensorMapArg():
            return _tensor_map(label, arg.tensormap, scope, buffers)


def _named(
    name: str, scope: Scope, contract: BoundContract, buffers: Mapping[str, PlanBuffer]
) -> Param:
    if name in buffers:
        return PointerParam(arg=name, buffer=name)
    for bound in contract.arguments:
        if bound.name == name:
            return pack_scalar(bound)
    scope.known("name", name, [*buffers, *scope.names], DECLARE_BUFFER)
    return scope.packed(name, "int32", name)


def _tensor_map(
    label: str, given: TensorMap, scope: Scope, buffers: Mapping[str, PlanBuffer]
) -> TensorMapParam:
    def sizes(field: str, texts: tuple[Expression, ...]) -> tuple[int, ...]:
        return tuple(scope.whole(f"{field}[{n}]", text) for n, text in enumerate(texts))

    steps = given.element_strides
    return make_record(
        scope.where,
        TensorMapParam,
        arg=label,
        buffer=scope.known("buffer", given.buffer, buffers, DECLARE_BUFFER),
        offset=scope.whole("offset", given.offset),
        dtype=_TENSOR_MAP_DTYPES.index(given.dtype),
        dims=sizes("dims", given.dims),
        strides=sizes("strides", given.strides),
        box=sizes("box", given.box),
        element_strides=None if steps is None else sizes("element_strides", steps),
        interleave=scope.whole("interleave", given.interleave),
        swizzle=scope.whole("swizzle", given.swizzle),
        l2_promotion=scope.whole("l2_promotion", given.l2_promotion),
        nan_fill=given.nan_fill,
    )
