"""What an idiom needs to know of a state: the kernel, its one launch, and what its names mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from ......runners.errors import SpecError
from ......runners.plans.declared_plan import declared_plan
from ......runners.specs.declared_plan_model import DeclaredPlan, LaunchStep
from ......runners.specs.io_contract import Argument
from ......runners.specs.spec import KernelSpec
from ....shared.affine import Form
from ....shared.base import NotApplicable, State
from ....shared.sizes import divisor_of_form, divisor_of_symbol, size_form
from ...parts.reading import arguments_of
from .reading import Kernel, read_kernel

Found = TypeVar("Found")

DEFINED = re.compile(
    r"^[ \t]*(?:#[ \t]*define[ \t]+(?P<macro>[A-Za-z_]\w*)[ \t]+\(?(?P<number>\d+)\)?[ \t]*(?://.*|/\*.*)?$"
    r"|(?:static[ \t]+)?(?:constexpr|const)[ \t]+(?:static[ \t]+)?(?:unsigned|int|size_t)[ \t]+"
    r"(?P<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?P<value>\d+)[ \t]*;)",
    re.MULTILINE,
)


class Unfit(Exception):
    """The kernel is no such thing; the text says what was found in place of it.

    Raised within readers, and told as a reason by `recognised`.
    """


@dataclass(frozen=True)
class Facts:
    """A kernel that is launched once, with arguments that are known."""

    source: bytes
    kernel: Kernel
    spec: KernelSpec
    plan: DeclaredPlan
    step: LaunchStep
    arrays: Mapping[str, Argument]
    """of pointer parameters, by the parameter's name"""
    sizes: Mapping[str, Form]
    """what integer parameters and constants are, over symbols"""
    scalars: Mapping[str, Argument]
    """of parameters that are numbers, by the parameter's name"""

    def shape(self, array: str) -> tuple[Form, ...] | None:
        """Sizes of an array that is contiguous and row-major; None: it is not, or unreadable."""
        argument = self.arrays[array]
        if argument.strides is not None:
            return None
        sizes = [size_form(size) for size in argument.shape]
        return tuple(s for s in sizes if s is not None) if all(sizes) else None

    def size_text(self, size: Form) -> str | None:
        """C++ for a size: an integer parameter that holds it, or a number."""
        if (number := size.constant) is not None:
            return str(number)
        names = [p.name for p in self.kernel.function.parameters if not p.pointers]
        return next((n for n in names if self.sizes.get(n) == size), None)

    def multiple_of(self, size: Form) -> int:
        """What a size is surely divisible by, from the domains of the symbols; 0 for none."""
        return divisor_of_form(size, lambda name: divisor_of_symbol(name, self.spec))

    def is_size(self, form: Form) -> bool:
        """Whether it is made of symbols alone: no parameter, no quotient, nothing of a thread."""
        return form.names <= self.spec.symbols.keys()

    def workload_values(self, size: Form) -> tuple[int, ...]:
        """What a size of symbols alone (`is_size`) is in the visible workloads."""
        visible = [w for w in self.spec.workloads if not w.held_out]
        return tuple(size.value(w.symbols) for w in visible)

    def aligned(self, array: str, nbytes: int) -> bool:
        """Whether the contract promises that alignment of the array's first element."""
        return self.arrays[array].align % nbytes == 0

    @property
    def inputs(self) -> frozenset[str]:
        """Parameters whose arrays are only read."""
        return frozenset(n for n, a in self.arrays.items() if a.role == "input")


def recognised(
    state: State, read: Callable[[Facts], Found], nothing: str
) -> tuple[Facts, Found] | NotApplicable:
    """The facts of a state and what an idiom reads from them; a reason where there is none.

    `read` raises Unfit for a kernel that is no such thing; `nothing` says so before its reason.
    """
    facts = _facts_of(state)
    if isinstance(facts, str):
        return NotApplicable(facts)
    try:
        return facts, read(facts)
    except Unfit as unfit:
        return NotApplicable(f"{nothing}: {unfit}")


def _facts_of(state: State) -> Facts | str:
    """The facts, or why an idiom cannot be looked for."""
    try:
        plan = declared_plan(state.spec.kernel, state.plan)
    except SpecError as error:
        return error.message
    if len(plan.launches) != 1:
        return f"the plan has {len(plan.launches)} launches; an idiom is looked for in a single one"
    step = plan.launches[0]
    if step.cluster is not None or step.cooperative or step.pdl:
        return "the launch has clusters, is cooperative, or may start early"
    source = state.source.encode()
    kernel = read_kernel(source, step.launch)
    if isinstance(kernel, str):
        return kernel
    return _bound(state, source, kernel, plan, step)


def _bound(
    state: State, source: bytes, kernel: Kernel, plan: DeclaredPlan, step: LaunchStep
) -> Facts | str:
    arguments = {a.name: a for a in state.spec.io.arguments}
    given = arguments_of(step, state.spec)
    parameters = kernel.function.parameters
    if len(given) != len(parameters):
        return f"the launch gives {len(given)} arguments to {len(parameters)} parameters"
    arrays, scalars = dict[str, Argument](), dict[str, Argument]()
    sizes = _constants(state, source)
    for parameter, arg in zip(parameters, given, strict=True):
        if not isinstance(arg, str):
            return f"the launch gives `{parameter.name}` no array or number of the contract by name"
        argument = arguments.get(arg)
        if argument is None:
            if arg not in state.spec.symbols:
                return f"`{arg}` of the launch is no argument of the contract"
            sizes[parameter.name] = Form.name(arg)
        elif argument.role == "scalar":
            scalars[parameter.name] = argument
            value = size_form(argument.value)
            if value is not None and "int" in argument.dtype:
                sizes[parameter.name] = value
        elif parameter.pointers == 1:
            arrays[parameter.name] = argument
        else:
            return f"`{parameter.name}` is no plain pointer"
    return Facts(source, kernel, state.spec, plan, step, arrays, sizes, scalars)


def _constants(state: State, source: bytes) -> dict[str, Form]:
    """Integer constants of the source; what a parameter or the plan may set stays a name."""
    found = dict[str, Form]()
    for match in DEFINED.finditer(source.decode()):
        name, value = match["macro"] or match["name"], match["number"] or match["value"]
        found[name] = Form.number(int(value))
    for name in (*state.spec.parameters, *(state.plan or {}).get("defines", {})):
        found[name] = Form.name(f"%{name}")
    for name, value in state.spec.kernel.defines.items():
        found[name] = Form.number(value) if isinstance(value, int) else Form.name(f"%{name}")
    return found
