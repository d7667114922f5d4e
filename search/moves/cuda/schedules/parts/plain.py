"""A CUDA state as schedules read it: what its launch computes, over the kernel's own parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from ......analysis.lift import Argument, Lifted, lift
from ......analysis.lift.expressions import Unreadable
from ......analysis.lift.normal import normal
from ......analysis.lift.normal.gathered import gathered
from ......analysis.lift.space import single_blocks
from ......analysis.ptx import read_ptx
from ......runners.building.plain_compiler import compiled_plainly
from ......runners.c_source.comments import without_comments
from ......runners.c_source.functions import CppFunction, cpp_functions
from ......runners.c_source.nodes import parents
from ......runners.c_source.own_headers import with_headers
from ......runners.c_source.parsing import parse_cpp
from ......runners.errors import ExpressionError, SpecError
from ......runners.inferring.found_parameters import base_name
from ......runners.specs.declared_plan_model import DeclaredPlan, LaunchStep, ValueArg
from ......runners.specs.part import Expression
from ......runners.specs.spec import KernelSpec
from ....shared.base import NotApplicable, Proposals, State
from ....shared.lifted.attempt import written_of
from ....shared.lifted.memory import Memory
from ....shared.lifted.proof import refuted
from ...parts.reading import arguments_of, effective_plan
from .c_text import TYPES
from .launch_sizes import LaunchSizes, number_of
from .tables import Tables, tables_of
from .whole_quotients import with_whole_quotients

WRITTEN = "// schedule: "
"""what begins the comment over a kernel that a schedule wrote: none is written of it again"""
ABSENT = "the launch leads to no __global__ function of the source"


_CONSTANTS = (
    ("INFINITY", "__int_as_float(0x7f800000)"),
    ("NAN", "__int_as_float(0x7fffffff)"),
    ("FLT_MAX", "3.402823466e+38F"),
    ("FLT_MIN", "1.175494351e-38F"),
    ("FLT_EPSILON", "1.192092896e-07F"),
)
"""of the C library, which the compiler for reading has no headers of"""
_HOST_HEADER = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*<(?:c?math|math\.h|cfloat|float\.h|cstdio|stdio\.h|cstdlib"
    r"|stdlib\.h)>[^\n]*",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Plain:
    """One launch of a plan: what it computes, and what is known of its parameters."""

    source: bytes
    function: CppFunction
    plan: DeclaredPlan
    step: int
    spec: KernelSpec
    lifted: Lifted
    """over parameters and `added`; nothing of a launch is left in it"""
    arrays: Mapping[str, Memory]
    sizes: Mapping[str, Expression]
    """integers that the kernel is given, or could be: over the symbols of the spec"""
    added: tuple[str, ...]
    """symbols that the launch does not hand over so far, under their own names"""
    tables: Tables

    @property
    def dtypes(self) -> Mapping[str, str]:
        """Contract types of the elements of arrays and tables."""
        own = {each.name: each.dtype for each in self.lifted.arguments if each.array}
        return {**own, **self.tables.dtypes}

    @property
    def launch(self) -> LaunchStep:
        """The step."""
        found = self.plan.steps[self.step]
        assert isinstance(found, LaunchStep)
        return found


def written_from(state: State, write: Callable[[Plain], Proposals], what: str) -> Proposals:
    """What a schedule writes of a state, or why it writes nothing."""
    return written_of(lambda: plain_of(state), write, what)


def plain_of(state: State) -> Plain | NotApplicable:
    """What the one launch of a state computes; why it cannot be told, or is told already."""
    if WRITTEN in state.source:
        return NotApplicable("a schedule has written it")
    defines = {**state.spec.kernel.defines, **state.assignment}
    defines |= dict((state.plan or {}).get("defines", {}))
    return _plain(state.source, _Key(state), tuple(sorted(defines.items())))


class _Key:
    """A state as a key: its source apart, what else a lift hangs on."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._text = repr((state.spec, state.plan, sorted(state.assignment.items()), state.files))

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._text == other._text


@lru_cache(maxsize=64)  # every schedule asks for the same one
def _plain(
    source: str, key: _Key, defines: tuple[tuple[str, int | float | str], ...]
) -> Plain | NotApplicable:
    state = key.state
    try:
        plan = effective_plan(state)
    except SpecError as error:
        return NotApplicable(f"its plan cannot be read: {error.message}")
    steps = [n for n, step in enumerate(plan.steps) if isinstance(step, LaunchStep)]
    if len(steps) != 1:
        return NotApplicable(f"the plan has {len(steps)} launches; schedules write single ones")
    step = plan.steps[steps[0]]
    assert isinstance(step, LaunchStep)
    if step.cluster is not None or step.cooperative or step.pdl:
        return NotApplicable("the launch has clusters, is cooperative, or may start early")
    whole = with_headers(source, state.files)
    kernel = _kernel(source, step.launch)
    if kernel == ABSENT:
        source, kernel = whole, _kernel(whole, step.launch)
    if isinstance(kernel, str):
        return NotApplicable(kernel)
    given = _given(state.spec, plan, step, kernel)
    if isinstance(given, str):
        return NotApplicable(given)
    for each in given.arguments:
        if each.dtype not in TYPES:
            return NotApplicable(f"`{each.name}` is of {each.dtype}, which is not read")
    constants = tuple(c for c in _CONSTANTS if re.search(rf"\b{c[0]}\b", source))
    text = _HOST_HEADER.sub("", whole)
    made = compiled_plainly(text, step.launch, (*defines, *constants))
    if isinstance(made, str):
        return NotApplicable(f"it does not compile for reading: {made.splitlines()[0]}")
    return _lifted(replace(state, source=source), plan, steps[0], kernel, given, made)


def _kernel(source: str, launched: str) -> CppFunction | str:
    """The one kernel that a launch leads to, in a source without comments at the same positions;
    why it is none."""
    code = without_comments(source.encode())
    name = base_name(launched)
    named = [f for f in cpp_functions(code.decode(), cuda=True) if f.name == name]
    if len(named) > 1:
        return "the launch leads to no single __global__ function of the source"
    broken = (
        named[0].node.has_error or any(each.type == "ERROR" for each in parents(named[0].node))
        if named
        else parse_cpp(code).root_node.has_error
    )
    if broken:
        return "the syntax tree of the source has errors, so it is left alone"
    return named[0] if named else ABSENT


@dataclass(frozen=True)
class _Given:
    """What a launch hands to its parameters."""

    arguments: tuple[Argument, ...]
    arrays: Mapping[str, Memory]
    sizes: Mapping[str, Expression]


def _given(
    spec: KernelSpec, plan: DeclaredPlan, step: LaunchStep, function: CppFunction
) -> _Given | str:
    handed = arguments_of(step, spec)
    if len(handed) != len(function.parameters):
        return "the launch hands over another number of arguments than the kernel takes"
    known = {each.name: each for each in spec.io.arguments}
    arguments, arrays, sizes = list[Argument](), dict[str, Memory](), dict[str, Expression]()
    for parameter, arg in zip(function.parameters, handed, strict=True):
        name = parameter.name
        if isinstance(arg, ValueArg):
            arguments.append(Argument(name, arg.dtype, array=False))
            if "int" in arg.dtype and not isinstance(arg.value, float):
                sizes[name] = arg.value
        elif not isinstance(arg, str):
            return f"`{name}` is no whole array and no number"
        elif arg in known and known[arg].role != "scalar":
            array = known[arg]
            if array.strides is not None:
                return f"`{name}` has strides of its own"
            arguments.append(Argument(name, array.dtype, array=True))
            arrays[name] = Memory(name, array.dtype, array.align, array.shape)
        elif arg in plan.buffers:
            buffer = plan.buffers[arg]
            if buffer.dtype is None or buffer.shape is None:
                return f"the buffer `{arg}` has no type"
            arguments.append(Argument(name, buffer.dtype, array=True))
            arrays[name] = Memory(name, buffer.dtype, buffer.align, buffer.shape)
        else:
            scalar = known.get(arg)
            dtype = "int32" if scalar is None else scalar.dtype
            arguments.append(Argument(name, dtype, array=False))
            value = arg if scalar is None else scalar.value
            if "int" in dtype and value is not None and not isinstance(value, float):
                sizes[name] = value
    return _Given(tuple(arguments), arrays, sizes)


def _lifted(
    state: State,
    plan: DeclaredPlan,
    step: int,
    function: CppFunction,
    given: _Given,
    made: tuple[str, str],
) -> Plain | NotApplicable:
    launch = plan.steps[step]
    assert isinstance(launch, LaunchStep)
    numbers = {**plan.defines, **state.assignment}
    block = [number_of(size, numbers) for size in launch.block]
    try:
        found = lift(
            read_ptx(made[0]),
            made[1],
            given.arguments,
            None if None in block else [b for b in block if b is not None],
            alone=single_blocks(launch.grid),
        )
        if found.opaque:
            return NotApplicable(f"not all of it is understood: {'; '.join(found.opaque[:2])}")
        sizes = LaunchSizes(state.spec, given.sizes, numbers)
        lifted = gathered(sizes.without_launch(normal(found), launch))
        lifted = with_whole_quotients(lifted, given.sizes, state.spec)
    except (Unreadable, ExpressionError, SyntaxError) as error:
        return NotApplicable(f"what it computes is not understood: {error}")
    except RecursionError:
        return NotApplicable("an expression of it is nested too deeply")
    known = {**given.sizes, **{name: name for name in sizes.added}}
    why = refuted(lifted, state.spec, given.arrays, known)
    if why:
        return NotApplicable(f"its reading is not trusted: {why}")
    try:
        tables = tables_of(lifted, state.source)
    except Unreadable as error:
        return NotApplicable(str(error))
    return Plain(
        tables=tables,
        source=state.source.encode(),
        function=function,
        plan=plan,
        step=step,
        spec=state.spec,
        lifted=tables.lifted,
        arrays=given.arrays,
        sizes=known,
        added=tuple(sizes.added),
    )
