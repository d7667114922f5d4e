"""A state of host C++ as schedules read it: what its function computes, over its own parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ......analysis.lift import Argument, Lifted
from ......analysis.lift.expressions import Unreadable
from ......analysis.lift.host import lift_host
from ......analysis.ptx import read_ptx
from ......runners.building.plain_compiler import compiled_plainly
from ......runners.c_source.comments import without_comments
from ......runners.c_source.functions import CppFunction, functions_named
from ......runners.c_source.nodes import inside, text_of
from ......runners.c_source.parsing import parse_cpp
from ......runners.specs.part import Expression
from ......runners.specs.spec import KernelSpec
from ....every_language.compiler_flags import effective_flags
from ....shared.base import NotApplicable, Proposals, State
from ....shared.lifted.attempt import written_of
from ....shared.lifted.memory import Memory
from ....shared.lifted.names import WORD, Names
from ....shared.lifted.proof import refuted
from .c_text import TYPES

OPENMP = "-fopenmp"
WRITTEN = "// schedule: "
"""what begins the comment over a function that a schedule wrote: none is written of it again"""
BY_HAND = re.compile(r"\bstd::(?:thread|async|execution|atomic)\b|\bpthread_create\b|\bvolatile\b")


@dataclass(frozen=True)
class Plain:
    """A host function: what it computes, and what is known of its parameters."""

    source: bytes
    function: CppFunction
    spec: KernelSpec
    lifted: Lifted
    arrays: Mapping[str, Memory]
    sizes: Mapping[str, Expression]
    """integers that it is given: over the symbols of the spec"""
    openmp: bool
    """whether it is built with OpenMP"""

    def names(self) -> Names:
        """Names beside those of the file; those of the function's old body are free."""
        body = self.function.body
        around = self.source[: body.start_byte] + self.source[body.end_byte :]
        words = WORD.findall(without_comments(around).decode(errors="replace"))
        return Names(" ".join(words), [each.name for each in self.function.parameters])


def written_from(state: State, write: Callable[[Plain], Proposals], what: str) -> Proposals:
    """What a schedule writes of a state, or why it writes nothing."""
    return written_of(lambda: plain_of(state), write, what)


def plain_of(state: State) -> Plain | NotApplicable:
    """What the function of a state computes; why it cannot be told, or is told already."""
    if WRITTEN in state.source:
        return NotApplicable("a schedule has written it")
    defines = {**state.spec.kernel.defines, **state.assignment}
    openmp = OPENMP in effective_flags(state)
    return _plain(state.source, _Spec(state.spec), tuple(sorted(defines.items())), openmp)


class _Spec:
    """A spec as a key."""

    def __init__(self, spec: KernelSpec) -> None:
        self.spec = spec
        self._text = repr(spec)

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Spec) and self._text == other._text


@lru_cache(maxsize=64)  # every schedule asks for the same one
def _plain(
    source: str, key: _Spec, defines: tuple[tuple[str, int | float | str], ...], openmp: bool
) -> Plain | NotApplicable:
    spec = key.spec
    code = without_comments(source.encode())
    if parse_cpp(code).root_node.has_error:
        return NotApplicable("the syntax tree of the source has errors, so it is left alone")
    if by_hand := BY_HAND.search(code.decode()):
        return NotApplicable(f"the source says by `{by_hand[0]}` what no reading here keeps")
    name = spec.kernel.metadata.kernel_name
    named = functions_named(source, name, cuda=False)
    if len(named) != 1:
        return NotApplicable(f"the source has no single function `{name}`")
    function = named[0]
    if any(each.type.startswith("preproc_if") for each in inside(function.node)):
        return NotApplicable("its body is another one for other macros")
    given = _given(spec, function)
    if isinstance(given, str):
        return NotApplicable(given)
    arguments, arrays, sizes = given
    made = compiled_plainly(source, name, defines, host=True)
    if isinstance(made, str):
        return NotApplicable(f"it does not compile for reading: {made.splitlines()[0]}")
    try:
        lifted = lift_host(read_ptx(made[0]), made[1], arguments)
    except Unreadable as error:
        return NotApplicable(f"what it computes is not understood: {error}")
    if lifted.opaque:
        return NotApplicable(f"not all of it is understood: {'; '.join(lifted.opaque[:2])}")
    why = refuted(lifted, spec, arrays, sizes)
    if why:
        return NotApplicable(f"its reading is not trusted: {why}")
    return Plain(source.encode(), function, spec, lifted, arrays, sizes, openmp)


def _given(
    spec: KernelSpec, function: CppFunction
) -> tuple[tuple[Argument, ...], dict[str, Memory], dict[str, Expression]] | str:
    """What a call hands to its parameters, by the names that they have in the source."""
    if len(function.parameters) != len(spec.io.arguments):
        return "the contract hands over another number of arguments than the function takes"
    arguments, arrays, sizes = list[Argument](), dict[str, Memory](), dict[str, Expression]()
    for parameter, handed in zip(function.parameters, spec.io.arguments, strict=True):
        name, dtype = parameter.name, handed.dtype
        if dtype not in TYPES:
            return f"`{name}` is of {dtype}, which is not read"
        if parameter.reference:
            return f"`{name}` is a reference"
        if handed.role == "scalar":
            arguments.append(Argument(name, dtype, array=False))
            if "int" in dtype and handed.value is not None and not isinstance(handed.value, float):
                sizes[name] = handed.value
            continue
        if handed.strides is not None:
            return f"`{name}` has strides of its own"
        if parameter.pointers != 1 or "(" in text_of(parameter.node):
            return f"`{name}` is no plain pointer"
        arguments.append(Argument(name, dtype, array=True))
        arrays[name] = Memory(name, dtype, handed.align, handed.shape)
    return tuple(arguments), arrays, sizes
