"""A CUDA state as moves read it: the kernels that its plan launches, and what the contract says of
their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .....runners.c_source.comments import without_comments
from .....runners.c_source.functions import CppFunction, CppParameter, cpp_functions
from .....runners.c_source.nodes import text_of
from .....runners.c_source.parsing import parse_cpp
from .....runners.errors import SpecError
from .....runners.inferring.found_parameters import base_name, find_parameters, tuned
from .....runners.model import Candidate
from .....runners.plans.declared_plan import declared_plan
from .....runners.specs.declared_plan_model import (
    Arg,
    BufferArg,
    DeclaredPlan,
    LaunchStep,
    ValueArg,
)
from .....runners.specs.io_contract import Argument, Role
from .....runners.specs.spec import KernelSpec
from ...shared.base import NotApplicable, Proposals, State

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer parameter of a kernel and the memory that a launch hands to it."""

    name: str
    """as the kernel calls it"""
    memory: str
    """the array or buffer behind it"""
    type: str
    """of an element in C, without qualifiers: `float`, `__half`"""
    itemsize: int
    """bytes of one element as the kernel sees it"""
    role: Role | None
    """None: a buffer of the plan"""
    align: int
    """bytes; what the address is a multiple of for certain"""
    argument: Argument | None
    """the array of the contract; None: a buffer of the plan"""


@dataclass(frozen=True)
class CudaKernel:
    """One launch of a plan, and the kernel that it launches. Positions are bytes of `text`; nodes
    know nothing of comments."""

    text: bytes
    """the source as it is, with comments"""
    function: CppFunction
    plan: DeclaredPlan
    """with found parameters at their values"""
    step: int
    """where in the plan's steps the launch is"""
    pointers: Mapping[str, Pointer]
    scalars: Mapping[str, int | float | str]
    """by parameter: the number or expression over symbols and parameters that is passed"""

    @property
    def body(self) -> Node:
        """The compound statement of the kernel."""
        return self.function.body

    @property
    def launch(self) -> LaunchStep:
        """The step that launches it."""
        found = self.plan.steps[self.step]
        assert isinstance(found, LaunchStep)
        return found

    def plan_with(self, **changes: Any) -> dict[str, Any]:
        """The plan as a candidate brings it, with other fields of this launch."""
        steps = list(self.plan.steps)
        steps[self.step] = LaunchStep.model_validate(
            {**self.launch.model_dump(exclude_unset=True), **changes}
        )
        return plan_json(self.plan.model_copy(update={"steps": tuple(steps)}))


def plan_json(plan: DeclaredPlan) -> dict[str, Any]:
    """The plan as JSON, what it leaves to defaults left out, axes of size 1 as well."""
    found = plan.model_dump(mode="json", exclude_defaults=True)
    for step in found["steps"]:
        for field in {"grid", "block", "cluster"} & step.keys():
            while len(step[field]) > 1 and step[field][-1] == 1:
                step[field].pop()
    return found


def read_kernels(state: State) -> tuple[CudaKernel, ...] | NotApplicable:
    """Every launch of the state's plan whose kernel stands in the source, in order.

    A kernel that is launched twice comes twice. The reason says what is missing when there
    is none: a source with errors of syntax is not rewritten.
    """
    text = state.source.encode()
    code = without_comments(text)
    if parse_cpp(code).root_node.has_error:
        return NotApplicable("the syntax tree of the source has errors, so it is left alone")
    try:
        plan = effective_plan(state)
    except SpecError as error:
        return NotApplicable(f"its plan cannot be read: {error.message}")
    functions = cpp_functions(code.decode(), cuda=True)
    found: list[CudaKernel] = []
    for number, step in enumerate(plan.steps):
        if not isinstance(step, LaunchStep):
            continue
        named = [f for f in functions if f.name == base_name(step.launch)]
        if len(named) == 1 and (made := _kernel(state, text, named[0], plan, number)) is not None:
            found.append(made)
    if not found:
        return NotApplicable("no launch of the plan leads to one __global__ function of the source")
    return tuple(found)


def of_each(
    kernels: Iterable[CudaKernel],
    write: Callable[[CudaKernel], Iterable[Candidate] | NotApplicable],
) -> Proposals:
    """What is written of each kernel; all reasons, each once, where it is nothing."""
    found: list[Candidate] = []
    reasons = dict[str, None]()
    for kernel in kernels:
        made = write(kernel)
        if isinstance(made, NotApplicable):
            reasons[made.reason] = None
        else:
            found += made
    return tuple(found) if found else NotApplicable("; ".join(reasons))


def effective_plan(state: State) -> DeclaredPlan:
    """The plan that a state is launched with, found sizes (`block_x`) at the state's values.

    Raises SpecError when none is declared.
    """
    spec = state.spec
    plan = declared_plan(spec.kernel, state.plan)
    declared = spec.parameters.keys() - state.found
    taken = {*spec.symbols, *declared, *(a.name for a in spec.io.arguments)}
    found = find_parameters(plan, state.source, 1, taken)
    values = {n: v for n, v in state.parameters.items() if n in found.parameters}
    return tuned(plan, found, values)


def _kernel(
    state: State, text: bytes, function: CppFunction, plan: DeclaredPlan, number: int
) -> CudaKernel | None:
    step = plan.steps[number]
    assert isinstance(step, LaunchStep)
    by_name = {a.name: a for a in state.spec.io.arguments}
    given = arguments_of(step, state.spec)
    if len(given) != len(function.parameters):
        return None
    pointers, scalars = dict[str, Pointer](), dict[str, int | float | str]()
    for parameter, arg in zip(function.parameters, given, strict=True):
        if parameter.pointers == 1 and (made := _pointer(parameter, arg, by_name, plan)):
            pointers[parameter.name] = made
        elif parameter.pointers == 0:
            if isinstance(arg, ValueArg):
                scalars[parameter.name] = arg.value
            elif isinstance(arg, str):
                argument = by_name.get(arg)
                value = arg if argument is None else argument.value
                if value is not None:
                    scalars[parameter.name] = value
    return CudaKernel(text, function, plan, number, pointers, scalars)


def _pointer(
    parameter: CppParameter, arg: object, arguments: Mapping[str, Argument], plan: DeclaredPlan
) -> Pointer | None:
    name, offset = (arg.buffer, arg.offset) if isinstance(arg, BufferArg) else (arg, 0)
    if not isinstance(name, str) or parameter.element is None:
        return None
    argument, buffer = arguments.get(name), plan.buffers.get(name)
    align = argument.align if argument else buffer.align if buffer else 1
    if offset != 0:  # an expression may have any value
        align = _power_of_two(offset, align) if isinstance(offset, int) else 1
    role = argument.role if argument else None
    itemsize = parameter.element.nbytes
    return Pointer(parameter.name, name, parameter.type, itemsize, role, align, argument)


def _power_of_two(offset: int, align: int) -> int:
    return min(align, offset & -offset)


def arguments_of(step: LaunchStep, spec: KernelSpec) -> tuple[Arg, ...]:
    """What a launch hands to its kernel, in order: all of the contract unless it says else."""
    return tuple(a.name for a in spec.io.arguments) if step.args is None else step.args


def declaration_of(kernel: CudaKernel, name: str) -> Node | None:
    """The parameter_declaration of a parameter of the kernel."""
    return next((p.node for p in kernel.function.parameters if p.name == name), None)


def launch_bounds_of(kernel: CudaKernel) -> Node | None:
    """`__launch_bounds__(...)` of the kernel."""
    children = kernel.function.node.children
    return next((c for c in children if c.type == "launch_bounds"), None)


def names_in_code(node: Node) -> frozenset[str]:
    """Every identifier beneath a node, fields left out."""
    pending, found = [node], set[str]()
    while pending:
        here = pending.pop()
        if here.type in ("identifier", "type_identifier"):
            found.add(text_of(here))
        pending += here.children
    return frozenset(found)
