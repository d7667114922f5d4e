"""A contract bound to one workload: every shape, stride and byte count a number."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..dtypes import DTYPES, error_floor, is_float, value_range
from ..errors import SpecError
from .expressions import evaluate, evaluate_int, names_in
from .io_contract import Argument, Contract
from .spec import KernelSpec, Symbol

MAX_ARRAY_BYTES = 1 << 36
SMALL_ELEMENTS, SMALL_ROWS = 1 << 16, 256
"""The largest array of a small shape, and the most rows of one: a row may be a program."""
ODD_TRIES = 100
"""Draws of a shape before all of a small domain is taken to be listed."""


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

    @cached_property
    def arrays(self) -> tuple[BoundArgument, ...]:
        """All arguments that are memory, in order."""
        return tuple(a for a in self.arguments if a.argument.role != "scalar")

    @cached_property
    def inputs(self) -> tuple[BoundArgument, ...]:
        """Arrays with a value on entry: inputs and inouts."""
        return tuple(a for a in self.arguments if a.argument.role in ("input", "inout"))

    @cached_property
    def outputs(self) -> tuple[BoundArgument, ...]:
        """Arrays that the kernel writes, in the order in which the reference returns them."""
        return tuple(a for a in self.arguments if a.argument.role in ("output", "inout"))

    @property
    def nbytes(self) -> int:
        """Of all arrays."""
        return sum(array.nbytes for array in self.arrays)

    def error_floor(self, output: BoundArgument) -> float | None:
        """The error of one of the outputs that is always accepted, relative to its row's RMS.

        What the spec says, else by the dtypes of the output and of all inputs. None: the output
        is compared exactly, whatever the spec says.
        """
        by_dtypes = error_floor(output.argument.dtype, (a.argument.dtype for a in self.inputs))
        own = output.argument.tolerance.floor
        return by_dtypes if by_dtypes is None or own is None else own


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
    if any(stride < 0 for stride in strides) or _overlap(shape, strides):
        raise SpecError(
            f"`{argument.name}` of shape {shape} has strides {strides}",
            valid="strides of 0 or more that give every element a place of its own",
        )
    bound = BoundArgument(argument, shape, strides, None)
    if bound.nbytes > MAX_ARRAY_BYTES:
        raise SpecError(f"`{argument.name}` would hold {bound.nbytes} bytes", valid="up to 64 GiB")
    return bound


def _scalar(argument: Argument, value: int | float) -> int | float:
    """The value as its dtype has it; a float may be Inf or NaN. Raises SpecError with value, dtype
    and range if it has not."""
    low, high = value_range(argument.dtype)
    finite = isinstance(value, int) or math.isfinite(value)
    if finite and not low <= value <= high:
        raise SpecError(
            f"scalar `{argument.name}` is {_short(value)}, which {argument.dtype} does not hold",
            valid=f"{low} to {high}, or another dtype for it",
        )
    if is_float(argument.dtype):
        return float(value)
    if not math.isfinite(value) or value != int(value):
        raise SpecError(
            f"scalar `{argument.name}` is {value}", valid=f"a whole number for {argument.dtype}"
        )
    return int(value)


def _short(value: int | float) -> str:
    digits = str(value)
    return digits if len(digits) <= 40 else f"{digits[:20]}... ({len(digits)} digits)"


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [0] * len(shape), 1
    for axis in reversed(range(len(shape))):
        strides[axis] = step
        step *= max(1, shape[axis])
    return tuple(strides)


def _overlap(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether elements share a place, as far as axes from the finest to the coarsest tell."""
    if 0 in shape:
        return False
    reach = 0
    for stride, size in sorted((s, n) for n, s in zip(shape, strides, strict=True) if n > 1):
        if stride <= reach:
            return True
        reach += (size - 1) * stride
    return False


def workload_contracts(spec: KernelSpec, *, held_out: bool = False) -> tuple[BoundContract, ...]:
    """One bound contract for each visible (or each held-out) workload."""
    return tuple(bind(spec.io, w.symbols, w.name) for w in spec.workloads if w.held_out is held_out)


def check_workloads(spec: KernelSpec) -> None:
    """Raises SpecError with the workload for sizes that are none, arrays that are too large, and
    scalars that their dtype does not hold."""
    for workload in spec.workloads:
        try:
            bind(spec.io, workload.symbols, workload.name)
        except SpecError as error:
            told = f"workload `{workload.name}`: {error.message}"
            raise SpecError(told, valid=error.valid, next_step=error.next_step) from error


def odd_shape(spec: KernelSpec, seed: int) -> BoundContract | None:
    """A small legal shape that no listed workload has, odd where the domains allow it.

    Symbols without a domain keep the first workload's values, and so do those in the shape
    of an argument that comes from a file. None when that leaves no symbol or no new shape.
    """
    free = free_symbols(spec)
    listed = [w.symbols for w in spec.workloads]
    rng = random.Random(seed)
    for trial in range(ODD_TRIES if free else 0):
        any_will_do = trial >= ODD_TRIES // 2
        symbols = listed[0] | {n: _odd_size(d, rng, any_will_do) for n, d in free.items()}
        if symbols not in listed:
            return bind(spec.io, symbols, odd_label(spec))
    return None


def odd_label(spec: KernelSpec) -> str:
    """What the odd shape is called: `odd`, or that with underscores behind it where a workload is
    called so. A build has one plan for each label."""
    label, taken = "odd", {workload.name for workload in spec.workloads}
    while label in taken:
        label += "_"
    return label


def small_shape(spec: KernelSpec) -> BoundContract | None:
    """A legal shape of a few thousand elements, odd where the domains allow it.

    Large enough for several blocks and a ragged end: a lone size starts near 4096, several
    near 128, and the first ones shrink first, as they count what is done side by side. Sizes
    without a domain come from a visible workload. None: no legal shape is small.
    """
    free = free_symbols(spec)
    visible = [w.symbols for w in spec.workloads if not w.held_out]
    for symbols in sorted(visible, key=lambda s: math.prod(s.values())):
        for targets in _ever_smaller(tuple(free)):
            sizes = {name: odd_size_at(domain, targets[name]) for name, domain in free.items()}
            if (found := _small(spec, {**symbols, **sizes})) is not None:
                return found
    return None


def _ever_smaller(names: Sequence[str]) -> Iterator[Mapping[str, int]]:
    """Sizes to aim at, one name after the other down to 3, then down to 1."""
    targets = dict.fromkeys(names, 4099 if len(names) == 1 else 131)
    yield targets
    for least in (3, 1):
        for name in names:
            while targets[name] > least:
                targets[name] = max(least, targets[name] // 2)
                yield targets


def _small(spec: KernelSpec, symbols: Mapping[str, int]) -> BoundContract | None:
    try:
        bound = bind(spec.io, symbols, "logic")
    except SpecError:  # sizes such as n - 64 have a least n that no domain names
        return None
    rows = max(math.prod(a.shape[:-1]) for a in bound.arrays)
    largest = max(math.prod(a.shape) for a in bound.arrays)
    return bound if largest <= SMALL_ELEMENTS and rows <= SMALL_ROWS else None


def odd_size_at(domain: Symbol, target: int) -> int:
    """The legal size next to a target, an odd multiple where there is one; 0 only if it must."""
    step = domain.multiple_of
    least, most = -(-domain.min // step), domain.max // step
    least = min(max(1, least), most)
    count = min(max(least, target // step), most)
    if count % 2 == 0:
        count += -1 if count > least else 1 if count < most else 0
    return count * step


def free_symbols(spec: KernelSpec) -> dict[str, Symbol]:
    """Symbols that other shapes may bind otherwise: with a domain, not that of given values."""
    filed = {n for a in spec.io.arguments if a.init and a.init.has_a_shape for n in _shape_names(a)}
    return {n: d for n, d in spec.symbols.items() if d is not None and n not in filed}


def _shape_names(argument: Argument) -> frozenset[str]:
    return frozenset[str]().union(*(names_in(size) for size in argument.shape))


def _odd_size(domain: Symbol, rng: random.Random, any_will_do: bool) -> int:
    """A size in 37..163 where the domain has one, else near it; an odd multiple if there is one.

    Never 0 unless the domain holds nothing else. `any_will_do`: smaller and even ones too.
    """
    step = domain.multiple_of
    least, most = -(-domain.min // step), domain.max // step
    least = min(max(1, least), most)
    high = min(most, max(least + 6, 163 // step))
    low = least if any_will_do else max(least, -(-37 // step))
    count = rng.randint(low if low <= high else least, high)
    if count % 2 == 0 and not any_will_do:
        count += 1 if count < most else -1 if count > least else 0
    return count * step
