"""Who gets which argument: from a contract to a call of a Python source, and from its result to
the contract's outputs.

Used with device tensors that hold nothing, and with plain CPU tensors under Triton's interpreter.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ExpressionError, SpecError
from ..specs.contract import BoundArgument, BoundContract
from ..specs.expressions import Number, evaluate, evaluate_int, names_in
from .autotune import OPTIONS
from .libraries import torch, triton_jit

LAUNCH_FIELDS = ("grid", "constexprs", *OPTIONS)


@dataclass(frozen=True)
class Values:
    """Everything that has a name when the source is called.

    `arrays`: a tensor for each array of the contract, in its shape, strides and dtype.
    """

    contract: BoundContract
    arrays: Mapping[str, Any]
    parameters: Mapping[str, int] = field(default_factory=dict[str, int])
    defines: Mapping[str, str | int] = field(default_factory=dict[str, "str | int"])

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the contract by name: tensors and Python numbers."""
        return {a.name: self._argument(a) for a in self.contract.arguments}

    @property
    def numbers(self) -> dict[str, Number]:
        """What expressions of a launch may name."""
        scalars = {a.name: a.value for a in self.contract.arguments if a.value is not None}
        numeric = {name: v for name, v in self.defines.items() if isinstance(v, int)}
        return {**numeric, **self.contract.symbols, **self.parameters, **scalars}

    def _argument(self, bound: BoundArgument) -> Any:
        if bound.argument.role != "scalar":
            return self.arrays[bound.name]
        return bool(bound.value) if bound.argument.dtype == "bool" else bound.value


@dataclass(frozen=True)
class Call:
    """A function with its arguments; `passed`: the arrays among them."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    passed: frozenset[str]
    is_kernel: bool

    def run(self) -> Any:
        """Call it; a kernel returns nothing of use."""
        result = self.function(*self.args, **self.kwargs)
        return None if self.is_kernel else result


def entry_of(module: Any, name: str) -> Any:
    """The entry function of an imported source. Raises SpecError when there is none."""
    entry = getattr(module, name, None)
    if is_kernel(entry) or callable(entry):
        return entry
    there = [n for n in dir(module) if _is_function(getattr(module, n))]
    raise SpecError(
        f"the source defines no function `{name}`", valid=", ".join(there) or "it defines none"
    )


def _is_function(value: Any) -> bool:
    return inspect.isfunction(value) or is_kernel(value)


def is_kernel(entry: Any) -> bool:
    """Whether it is launched with a grid (`@triton.jit`, with or without decorators on top)."""
    return isinstance(entry, triton_jit().KernelInterface)


def bind_call(entry: Any, name: str, values: Values, launch: Mapping[str, Any] | None) -> Call:
    """The call of an entry. Raises SpecError naming what nothing provides."""
    if is_kernel(entry):
        return _kernel_call(entry, name, values, launch)
    if launch is not None:
        raise SpecError(
            f"kernel.launch: `{name}` is a plain Python function and launches by itself",
            valid="`launch` for a @triton.jit function only",
        )
    known = {**values.defines, **values.parameters, **values.contract.symbols, **values.arguments}
    args, kwargs = list[Any](), dict[str, Any]()
    for parameter in inspect.signature(entry).parameters.values():
        if parameter.name in known:
            value = known[parameter.name]
            if parameter.kind is parameter.POSITIONAL_ONLY:
                args.append(value)
            elif parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                kwargs[parameter.name] = value
        elif _is_required(parameter):
            raise _nothing_provides(name, parameter.name, known)
    taken = frozenset(inspect.signature(entry).parameters) & set(values.arrays)
    return Call(name, entry, tuple(args), kwargs, taken, is_kernel=False)


def _kernel_call(entry: Any, name: str, values: Values, launch: Mapping[str, Any] | None) -> Call:
    decorators = list(_layers(entry))
    grid, constexprs, options = _launch_fields(name, values, launch)
    decided = frozenset[str]().union(*map(_decided_by, decorators))
    if both := sorted(decided & {*constexprs, *options}):
        raise SpecError(
            f"kernel.launch: `{both[0]}` is set by a decorator of `{name}` already",
            valid="one of the two places",
        )
    known = {**values.defines, **values.parameters, **constexprs, **options, **values.arguments}
    given = dict[str, Any]()
    for parameter in inspect.signature(_python_function(entry)).parameters.values():
        if parameter.name in decided:
            continue
        if parameter.name in known:
            given[parameter.name] = known[parameter.name]
        elif _is_required(parameter):
            raise _nothing_provides(name, parameter.name, known)
    taken = frozenset(given) & set(values.arrays)
    for output in values.contract.outputs:
        if output.name not in taken:
            raise SpecError(
                f"`{name}` takes no `{output.name}`, which the contract calls an output"
            )
    numbers = {**values.numbers, **constexprs}

    def sizes(meta: Mapping[str, Any]) -> tuple[int, ...]:
        bound = {n: v for n, v in meta.items() if isinstance(v, int | float)}
        return tuple(_programs(each, {**numbers, **bound}) for each in grid)

    return Call(name, entry[sizes], (), {**given, **options}, taken, is_kernel=True)


def _programs(size: str | int, names: Mapping[str, Number]) -> int:
    try:
        return evaluate_int(size, names)
    except ExpressionError as error:
        raise ExpressionError(
            f"the launch's grid: {error.message}",
            valid=error.valid,
            next_step="it may name symbols, parameters, scalars, and constexprs of the kernel",
        ) from error


def _launch_fields(
    name: str, values: Values, launch: Mapping[str, Any] | None
) -> tuple[Sequence[str | int], dict[str, Number], dict[str, int]]:
    """Grid expressions, constexprs and options."""
    if launch is None:
        raise SpecError(
            f"`{name}` is a @triton.jit function and kernel.launch is missing",
            valid='such as {"grid": ["cdiv(n, BLOCK)"], "constexprs": {"BLOCK": 256}}',
            next_step="add kernel.launch, or name a plain Python function that launches it",
        )
    if unknown := sorted(set(launch) - set(LAUNCH_FIELDS)):
        raise SpecError(f"kernel.launch: `{unknown[0]}`", valid=", ".join(LAUNCH_FIELDS))
    grid: Any = launch.get("grid")
    if not isinstance(grid, list | tuple) or not 1 <= len(grid) <= 3:  # pyright: ignore[reportUnknownArgumentType]
        raise SpecError(f"kernel.launch.grid is {grid}", valid="a list of 1 to 3 expressions")
    numbers = values.numbers
    constexprs = {n: evaluate(e, numbers) for n, e in launch.get("constexprs", {}).items()}
    numbers |= constexprs
    options = {o: evaluate_int(launch[o], numbers) for o in OPTIONS if launch.get(o) is not None}
    return grid, constexprs, options  # pyright: ignore[reportUnknownVariableType]


def options_by_expression(
    launch: Mapping[str, Any] | None, parameters: Mapping[str, int]
) -> frozenset[str]:
    """Options of a launch that follow a tunable parameter already."""
    fields = launch or {}
    return frozenset(
        o for o in OPTIONS if fields.get(o) is not None and names_in(fields[o]) & set(parameters)
    )


def _layers(entry: Any) -> Iterator[Any]:
    while is_kernel(entry):
        yield entry
        entry = entry.fn


def _python_function(entry: Any) -> Any:
    *_, innermost = _layers(entry)
    return innermost.fn


def _decided_by(layer: Any) -> frozenset[str]:
    """The arguments that one decorator sets: of each configuration, or by heuristics."""
    configs: Any = getattr(layer, "configs", None)
    if configs is not None:
        return frozenset(OPTIONS[:3]).union(*(config.kwargs for config in configs))
    heuristics: Any = getattr(layer, "values", None)
    return frozenset(heuristics or ())


def _is_required(parameter: inspect.Parameter) -> bool:
    variable = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and not variable


def _nothing_provides(function: str, parameter: str, known: Mapping[str, Any]) -> SpecError:
    return SpecError(
        f"nothing provides the parameter `{parameter}` of `{function}`",
        valid=", ".join(known) or "nothing is known here",
        next_step="name the parameter so, give it a default, or declare a scalar of that name",
    )


def result_tensors(call: Call, contract: BoundContract, result: Any) -> dict[str, Any]:
    """The tensors that a call returned, by output; outputs left out lie in their own arguments.

    A result with all outputs names them in the contract's order; one with as many tensors
    as outputs were not handed over names those. Where there are more, inputs that come back, as a
    forward pass keeps them for its backward pass, are no outputs. Raises SpecError for any other
    count, and for a shape, dtype or layout that is not the contract's.
    """
    outputs = contract.outputs
    missing = [o for o in outputs if o.name not in call.passed]
    tensors = list(_tensors(_in_contract_order(result, [o.name for o in outputs])))
    if len(tensors) > len(outputs):
        tensors = _without_inputs(tensors, call, frozenset(o.name for o in outputs))
    if len(tensors) == len(outputs):
        pairs = zip(outputs, tensors, strict=True)
    elif len(tensors) == len(missing):
        pairs = zip(missing, tensors, strict=True)
    elif not missing and not call.is_kernel:
        pairs = iter(())  # it writes into what it was handed, and returns something beside it
    else:
        names = ", ".join(o.name for o in outputs)
        raise SpecError(
            f"`{call.name}` returns {len(tensors)} tensors, the contract has {len(outputs)} "
            f"outputs ({names})",
            valid="one tensor for each output in that order, or parameters of their names",
        )
    named = {output.name: (output, tensor) for output, tensor in pairs}
    for output, tensor in named.values():
        _check_result(output, tensor)
    return {name: tensor for name, (_, tensor) in named.items()}


def _without_inputs(tensors: Sequence[Any], call: Call, outputs: frozenset[str]) -> list[Any]:
    """Tensors that do not lie in an input that the call was handed."""
    handed = {name: call.kwargs[name] for name in call.passed - outputs if name in call.kwargs}
    inputs = {each.untyped_storage()._cdata for each in handed.values()}
    return [each for each in tensors if each.untyped_storage()._cdata not in inputs]


def _in_contract_order(result: Any, names: Sequence[str]) -> Any:
    if isinstance(result, Mapping) and set(result) == set(names):  # pyright: ignore[reportUnknownArgumentType]
        return [result[name] for name in names]  # pyright: ignore[reportUnknownVariableType]
    return result  # pyright: ignore[reportUnknownVariableType]


def _tensors(result: Any) -> Iterator[Any]:
    if isinstance(result, torch().Tensor):
        yield result
    elif isinstance(result, Mapping):
        yield from _tensors(list(result.values()))  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(result, list | tuple):
        for each in result:  # pyright: ignore[reportUnknownVariableType]
            yield from _tensors(each)


def _check_result(output: BoundArgument, tensor: Any) -> None:
    shape, dtype = tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")
    if (shape, dtype) != (output.shape, output.argument.dtype):
        raise SpecError(
            f"output `{output.name}` comes back as {dtype} {list(shape)}",
            valid=f"{output.argument.dtype} {list(output.shape)}, as the contract says",
        )
    strides = tuple(map(int, tensor.stride()))
    if not same_layout(output, strides):
        raise SpecError(
            f"output `{output.name}` of shape {list(shape)} comes back with strides "
            f"{list(strides)}; a caller finds its elements at {list(output.strides)}",
            valid="a tensor that is laid out as the contract says",
            next_step="have the kernel write to where the elements belong (a view moves none); if "
            "callers take it like this, declare `strides` of the argument",
        )


def same_layout(output: BoundArgument, strides: Sequence[int]) -> bool:
    """Whether strides in elements put every element where the contract has it: those of axes of
    one element, and of arrays without any, mean nothing."""
    if 0 in output.shape:
        return True
    triples = zip(output.shape, output.strides, strides, strict=True)
    return all(size == 1 or found == own for size, own, found in triples)
