"""A Triton state as schedules read it: what its one launch computes, over the kernel's parameters.

The source is called at a few shapes without a GPU (`runners/capture/launches.py`); its kernel's
TTIR is lifted. Whatever number of programs is left in it, such as that of the rows, becomes a size
with a name, which the kernel that a schedule writes is given too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ......analysis.lift import Argument, Lifted
from ......analysis.lift.expressions import Expr, Name, Number, call, names_in
from ......analysis.lift.rewriting import substitute
from ......analysis.lift.scattered import summed_over
from ......analysis.lift.statements import expressions_in
from ......analysis.lift.sums import total
from ......analysis.lift.text import lifted_text
from ......analysis.lift.ttir import lift_ttir
from ......runners.capture.launches import Handed, ReadLaunch
from ......runners.plans.launch_in_force import launch_in_force, with_constants_of
from ......runners.specs.declared_plan_model import TritonLaunch
from ......runners.specs.part import Expression
from ......runners.specs.spec import KernelSpec
from ....shared.base import NotApplicable, Proposals, State
from ....shared.lifted.attempt import written_of
from ....shared.lifted.memory import Memory
from ....shared.lifted.names import Names
from ....shared.lifted.proof import refuted
from ...parts.kernels import Kernel, Launch, launch_of, launched_kernels
from .calls_read import launches_of
from .integer_widths import Widths, widths_of
from .requests import at_workloads, requests_of
from .sizes_told import (
    follows_size,
    largest_value,
    over,
    plainly,
    same_sizes,
    size_told,
    without_single_places,
)

WRITTEN = "# schedule: "
"""what begins the comment over a kernel that a schedule wrote: none is written of it again"""
TYPES = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i1": "bool",
    "u1": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32",
    "u32": "uint32", "i64": "int64", "u64": "uint64",
}  # fmt: skip
"""Triton's words for types, and a contract's"""
AXES = ("x", "y", "z")
_BLOCKS = re.compile(r"cdiv\((.+), (\d+)\)")


@dataclass(frozen=True)
class Plain:
    """The launch of a source: what it computes, and what is known of its parameters."""

    kernel: Kernel
    launch: Launch | None
    """where the source launches it; None: the spec does, or a plan in its place"""
    by_spec: TritonLaunch | None
    """that launch, without the constants that only the old kernel has; None: the source does"""
    spec: KernelSpec
    lifted: Lifted
    arrays: Mapping[str, Memory]
    sizes: Mapping[str, Expression]
    """integers that the kernel is given, or could be: over the symbols of the spec"""
    programs: Mapping[str, int]
    """sizes that are numbers of programs: by the name that they have from now on, the axis"""
    runtime: tuple[str, ...]
    """parameters that are no constants of the compilation, in order"""
    words: frozenset[str]
    """operations of the kernel's TTIR that have more than one spelling in Triton"""
    widths: Widths

    @property
    def written_name(self) -> str:
        """What the kernel is called that takes its place: where others launch the old one, it has
        a name of its own."""
        if self.launch is None or not self.launch.shares_kernel:
            return self.kernel.name
        return self.kernel.fresh(f"{self.kernel.name}_of_{self.launch.function.name}")

    def names(self) -> Names:
        """Names beside those of the file and of the spec; those of the old kernel are free."""
        source = self.kernel.source
        start, end = source.span(self.kernel.function)
        around = (source.raw[:start] + source.raw[end:]).decode()
        spec = self.spec
        constants = {} if self.by_spec is None else self.by_spec.constexprs
        taken = {*spec.symbols, *spec.parameters, *spec.kernel.defines, *constants}
        return Names(around, [*self.runtime, *self.programs, *(taken - self.sizes.keys())])


def written_from(state: State, write: Callable[[Plain], Proposals], what: str) -> Proposals:
    """What a schedule writes of a state, or why it writes nothing."""
    return written_of(lambda: plain_of(state), write, what)


def plain_of(state: State) -> Plain | NotApplicable:
    """What the one launch of a state computes; why it cannot be told, or is told already."""
    if WRITTEN in state.source:
        return NotApplicable("a schedule has written it")
    return _plain(_Key(state))


class _Key:
    """A state as a key: all that a lift hangs on."""

    def __init__(self, state: State) -> None:
        self.state = state
        chosen, files = sorted(state.chosen.items()), sorted(state.files.items())
        self._text = repr((state.source, state.spec, state.plan, chosen, files))

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._text == other._text


@lru_cache(maxsize=64)  # every schedule asks for the same one
def _plain(key: _Key) -> Plain | NotApplicable:
    state = key.state
    kernels = launched_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    launch = None
    if len(kernels) == 1 and state.spec.kernel.launch is None:
        launch = launch_of(state, kernels[0], beside=True)
        if isinstance(launch, NotApplicable):
            return launch
    requests = requests_of(state)
    if len(kernels) > 1:  # which one it is may hang on the sizes
        requests += at_workloads(state)
    launches = launches_of(state, requests)
    if isinstance(launches, NotApplicable):
        return launches
    kernel = next((each for each in kernels if each.name == launches[0].kernel), None)
    if kernel is None:
        return NotApplicable(f"it launches `{launches[0].kernel}`, which its source does not hold")
    if len(kernels) > 1:
        launch = launch_of(state, kernel, beside=True)
        if isinstance(launch, NotApplicable):
            return launch
    symbols = [each.symbols for each in requests]
    reading = _Reading(state, launches, symbols)
    made = reading.lifted()
    if isinstance(made, NotApplicable):
        return made
    lifted, sizes, programs = made
    text = launches[0].ttir
    widths = widths_of(lifted.body, reading.arrays, text)
    if isinstance(widths, str):
        return NotApplicable(widths)
    runtime = tuple(h.name for h in launches[0].handed if h.type)
    ours = launch_in_force(state.spec.kernel, state.plan)
    return Plain(
        kernel=kernel,
        launch=launch,
        by_spec=None if ours is None else with_constants_of(ours, runtime),
        spec=state.spec,
        lifted=lifted,
        arrays=reading.arrays,
        sizes=sizes,
        programs=programs,
        runtime=runtime,
        widths=widths,
        words=frozenset(w for w in ("tt.precise_sqrt", "tt.precise_divf") if w in text),
    )


class _Reading:
    """One launch, as it was at several shapes."""

    def __init__(
        self, state: State, launches: Sequence[ReadLaunch], symbols: Sequence[Mapping[str, int]]
    ) -> None:
        self.spec, self.launches, self.symbols = state.spec, launches, symbols
        self.handed = launches[0].handed
        self.arrays = dict[str, Memory]()

    def lifted(self) -> tuple[Lifted, dict[str, Expression], dict[str, int]] | NotApplicable:
        """The lift over sizes that have a meaning, these, and which are numbers of programs."""
        sizes = dict[str, Expression]()
        for each in self.handed:
            if each.kind == "array":
                if why := self._array(each):
                    return NotApplicable(why)
            elif each.kind == "int":
                told = self._told([self._value(n, each.name) for n in range(len(self.launches))])
                if told is None:
                    return NotApplicable(f"`{each.name}` is no product of the contract's sizes")
                sizes[each.name] = told
        arguments = tuple(
            Argument(h.name, TYPES[h.type.lstrip("*")], h.kind == "array")
            for h in self.handed
            if h.type
        )
        first = self.launches[0]
        launches = [self._numbers(each) for each in self.launches]
        at_most = self._at_most(sizes)
        found = lift_ttir(first.ttir, first.kernel, arguments, at_most, launches, self._positive())
        if found.opaque:
            return NotApplicable(f"not all of it is understood: {'; '.join(found.opaque[:2])}")
        found = plainly(found, at_most)
        if why := self._hangs_on_constants(found, arguments, sizes, launches):
            return NotApplicable(why)
        known = same_sizes(sizes)
        programs = self._programs(found, sizes, known)
        if isinstance(programs, str):
            return NotApplicable(programs)
        made = without_single_places(summed_over(over(found, known)))
        own = {d.name for d in made.dims}
        used = {n for e in expressions_in(made.body) for n in names_in(e)} - own
        if left := sorted(n for n in used if "." in n):
            return NotApplicable(f"the number of a program ({left[0]}) counts in what it computes")
        numbers: dict[str, Expr] = {
            h.name: Number(float(h.value or 0), "f32") for h in self.handed if h.kind == "float"
        }
        if why := refuted(over(made, numbers), self.spec, self.arrays, sizes):
            return NotApplicable(f"its reading is not trusted: {why}")
        return made, sizes, programs

    def _array(self, handed: Handed) -> str:
        """Take note of an array; why it is none of the contract."""
        owner = next((a for a in self.spec.io.arguments if a.name == handed.array), None)
        if owner is None:
            return f"`{handed.name}` is memory of its own, or a part of an array"
        if owner.strides is not None:
            return f"`{handed.name}` has strides of its own"
        kind = TYPES.get(handed.type.lstrip("*"), "")
        if kind != owner.dtype:
            return f"`{handed.name}` is of {kind or handed.type}, the contract's is {owner.dtype}"
        self.arrays[handed.name] = Memory(handed.name, owner.dtype, owner.align, owner.shape)
        return ""

    def _numbers(self, launch: ReadLaunch) -> dict[str, int]:
        """The integers of a launch, with its number of programs along x."""
        whole = {h.name for h in self.handed if h.kind == "int"}
        sizes = {h.name: int(h.value or 0) for h in launch.handed if h.name in whole}
        return {**sizes, "nctaid.x": launch.grid[0]}

    def _positive(self) -> frozenset[str]:
        """Floats that are handed over, above zero at every shape."""
        handed = [{h.name: h.value for h in each.handed} for each in self.launches]
        floats = (h.name for h in self.handed if h.kind == "float")
        return frozenset(n for n in floats if all((each[n] or 0) > 0 for each in handed))

    def _value(self, shape: int, name: str) -> int:
        return next(int(h.value or 0) for h in self.launches[shape].handed if h.name == name)

    def _told(self, values: Sequence[int]) -> Expression | None:
        return size_told(values, self.symbols, self.spec)

    def _hangs_on_constants(
        self,
        found: Lifted,
        arguments: Sequence[Argument],
        sizes: Mapping[str, Expression],
        launches: Sequence[Mapping[str, int]],
    ) -> str:
        """Why it is not the same at all shapes: a constant of the compilation that follows a size,
        such as a block that holds a row, counts in what it computes."""
        for at, launch in enumerate(self.launches[1:], 1):
            if launch.ttir == self.launches[0].ttir:
                continue
            at_most = self._at_most(sizes, at)
            other = lift_ttir(
                launch.ttir, launch.kernel, arguments, at_most, launches, self._positive()
            )
            if lifted_text(plainly(other, at_most)) != lifted_text(found):
                differ = (
                    h.name
                    for h in self.handed
                    if h.kind == "constant" and self._value(at, h.name) != self._value(0, h.name)
                )
                named = ", ".join(differ) or "what it is compiled for"
                return f"what it computes hangs on {named}, which differs from shape to shape"
        return ""

    def _at_most(self, sizes: Mapping[str, Expression], at: int = 0) -> dict[str, int]:
        """Sizes that a constant of the compilation, such as a block, is never smaller than, at a
        shape."""
        found = dict[str, int]()
        for constant in (h for h in self.handed if h.kind == "constant" and h.value is not None):
            ours = [self._value(n, constant.name) for n in range(len(self.launches))]
            for name, size in sizes.items():
                values = [self._value(n, name) for n in range(len(self.launches))]
                follows = (
                    len(set(ours)) > 1 and follows_size(ours, values) and values[at] <= ours[at]
                )
                if follows or largest_value(size, self.spec) <= min(ours):
                    found[name] = min(found.get(name, ours[at]), ours[at])
        programs = dict[str, int]()
        for axis, letter in enumerate(AXES):
            grid = [each.grid[axis] for each in self.launches]
            for name, most in found.items():
                if grid == [self._value(n, name) for n in range(len(self.launches))]:
                    programs[f"nctaid.{letter}"] = most
        return found | programs

    def _programs(
        self, found: Lifted, sizes: dict[str, Expression], known: dict[str, Expr]
    ) -> dict[str, int] | str:
        """Names for the numbers of programs that are left; a size that is the same one where there
        is one. Why there is none."""
        used = {n for d in found.dims for n in names_in(d.extent)}
        used |= {n for e in expressions_in(found.body) for n in names_in(e)}
        made = dict[str, int]()
        for axis, letter in enumerate(AXES):
            name = f"nctaid.{letter}"
            if name not in used:
                continue
            told = self._told([each.grid[axis] for each in self.launches])
            if told is None:
                return f"its number of programs along {letter} is no product of the sizes"
            blocks = _blocks_of(told, sizes)
            if blocks is not None:
                known[name] = substitute(blocks, known)
                continue
            same = next((n for n, size in sizes.items() if size == told and n not in known), None)
            if same is not None or isinstance(told, int):
                known[name] = Number(int(told)) if same is None else Name(same)
                continue
            wanted = str(told) if str(told).isidentifier() else f"programs_{letter}"
            taken = {h.name for h in self.handed}
            fresh = next(n for n in (wanted, *(f"{wanted}_{i}" for i in range(2, 9)))
                         if n not in taken and n not in made)  # fmt: skip
            made[fresh], sizes[fresh], known[name] = axis, told, Name(fresh)
        return made


def _blocks_of(told: Expression, sizes: Mapping[str, Expression]) -> Expr | None:
    """`(n + 15) / 16` of as many programs as there are blocks of 16 of an `n` that the kernel is
    given; None for any other number of them."""
    found = _BLOCKS.fullmatch(str(told))
    name = None if found is None else next((n for n, s in sizes.items() if s == found[1]), None)
    if found is None or name is None:
        return None
    block = Number(int(found[2]))
    up = total((Name(name), block, Number(-1)))
    return call("div", up, block, dtype="int")
