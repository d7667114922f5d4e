"""A contract bound to one workload: every shape, stride and byte count a number."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from .dtypes import DTYPES
from .errors import SpecError
from .expressions import evaluate, evaluate_int
from .spec import Argument, Contract, KernelSpec, Symbol

MAX_ARRAY_BYTES = 1 << 36


@dataclass(frozen=True)
class BoundArgument:
    """One argument of one workload. `shape` and `strides` in elements, `nbytes` of storage."""

    argument: Argument
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    value: int | float | None

    @property
    def name(self) -> str:
        """The argument's name in the kernel's parameter list."""
        return self.argument.name

    @cached_property
    def nbytes(self) -> int:
        """Bytes from the first element to the end of the last one."""
        if self.argument.role == "scalar":
            return DTYPES[self.argument.dtype].itemsize
        if 0 in self.shape:
            return 0
        last = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        return (last + 1) * DTYPES[self.argument.dtype].itemsize


@dataclass(frozen=True)
class BoundContract:
    """A contract whose symbols have values; `label` names the workload or gate shape."""

    label: str
    symbols: Mapping[str, int]
    arguments: tuple[BoundArgument, ...]

    @property
    def arrays(self) -> tuple[BoundArgument, ...]:
        """All arguments that are memory, in order."""
        return tuple(a for a in self.arguments if a.argument.role != "scalar")

    @property
    def inputs(self) -> tuple[BoundArgument, ...]:
        """Arrays with a value on entry: inputs and inouts."""
        return tuple(a for a in self.arguments if a.argument.role in ("input", "inout"))

    @property
    def outputs(self) -> tuple[BoundArgument, ...]:
        """Arrays that the kernel writes, in the order in which the reference returns them."""
        return tuple(a for a in self.arguments if a.argument.role in ("output", "inout"))


def bind(contract: Contract, symbols: Mapping[str, int], label: str) -> BoundContract:
    """The contract with numbers in it. Raises SpecError naming the argument that fails."""
    return BoundContract(
        label, dict(symbols), tuple(_bind_argument(a, symbols) for a in contract.arguments)
    )


def _bind_argument(argument: Argument, symbols: Mapping[str, int]) -> BoundArgument:
    if argument.role == "scalar":
        assert argument.value is not None
        value = evaluate(argument.value, symbols)
        return BoundArgument(argument, (), (), _scalar(argument, value))
    shape = tuple(evaluate_int(size, symbols) for size in argument.shape)
    if any(size < 0 for size in shape):
        raise SpecError(f"`{argument.name}` has shape {shape}", valid="sizes of 0 or more")
    strides = (
        _row_major(shape)
        if argument.strides is None
        else tuple(evaluate_int(stride, symbols) for stride in argument.strides)
    )
    if any(stride < 0 for stride in strides):
        raise SpecError(f"`{argument.name}` has strides {strides}", valid="0 or more")
    bound = BoundArgument(argument, shape, strides, None)
    if bound.nbytes > MAX_ARRAY_BYTES:
        raise SpecError(f"`{argument.name}` would hold {bound.nbytes} bytes", valid="up to 64 GiB")
    return bound


def _scalar(argument: Argument, value: int | float) -> int | float:
    if DTYPES[argument.dtype].floor is not None:
        return float(value)
    if value != int(value):
        raise SpecError(
            f"scalar `{argument.name}` is {value}", valid=f"a whole number for {argument.dtype}"
        )
    return int(value)


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [0] * len(shape), 1
    for axis in reversed(range(len(shape))):
        strides[axis] = step
        step *= max(1, shape[axis])
    return tuple(strides)


def workload_contracts(spec: KernelSpec, *, held_out: bool = False) -> tuple[BoundContract, ...]:
    """One bound contract for each visible (or each held-out) workload."""
    return tuple(bind(spec.io, w.symbols, w.name) for w in spec.workloads if w.held_out is held_out)


def odd_shape(spec: KernelSpec, seed: int) -> BoundContract | None:
    """A small legal shape that no listed workload has, odd where the domains allow it.

    None when no symbol has a domain: then only listed workloads are legal.
    """
    free = {name: domain for name, domain in spec.symbols.items() if domain is not None}
    if not free:
        return None
    rng = random.Random(seed)
    fixed = {n: v for n, v in spec.workloads[0].symbols.items() if n not in free}
    symbols = fixed | {name: _odd_size(domain, rng) for name, domain in free.items()}
    if any(w.symbols == symbols for w in spec.workloads):
        return None
    return bind(spec.io, symbols, "odd")


def _odd_size(domain: Symbol, rng: random.Random) -> int:
    """A size near 37..163 inside the domain, preferring odd multiples."""
    step = domain.multiple_of
    low = -(-domain.min // step)
    high = domain.max // step
    wanted = rng.randrange(37, 164) // step
    count = min(max(wanted, low), high)
    if count % 2 == 0:
        count = count + 1 if count < high else max(low, count - 1)
    return count * step
