"""The parameters of a recorded CUDA kernel: names from its source, types from the instance that was
launched, places from the machine code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...c_source.functions import CppFunction, CppParameter, cpp_functions
from ...c_source.types import Element, element_type
from ...errors import SpecError
from .observed import Taken

POINTER_BYTES = 8
OPENING, CLOSING = "(<[", ")>]"


@dataclass(frozen=True, slots=True)
class Instance:
    """A kernel's demangled name, taken apart."""

    name: str
    """as a C++ name: `ns::sums<float, 4>`"""
    types: tuple[str, ...] | None
    """of its parameters; None: the name is a C one, which does not say"""

    @property
    def base(self) -> str:
        """Without namespaces and template arguments."""
        return self.name.partition("<")[0].rpartition("::")[2].strip()


def instance_of(readable: str) -> Instance:
    """`void ns::sums<float, 4>(float const*, int)` taken apart."""
    text = readable.partition(" [clone")[0].strip()
    if not text.endswith(")"):
        return Instance(text, None)
    start = _opening_of(text)
    head = text[:start].replace("(anonymous namespace)::", "").strip()
    listed = [part.strip() for part in _at_commas(text[start + 1 : -1])]
    return Instance(
        head.removeprefix("void ").strip(), tuple(t for t in listed if t and t != "void")
    )


def entry_function(source: str, instance: Instance, wanted: str = "") -> CppFunction:
    """The function of a source that a recorded kernel is. Raises SpecError where none is."""
    functions = cpp_functions(source, cuda=True)
    name = wanted or instance.base
    found = next((f for f in functions if f.name == name), None)
    if found is not None:
        return found
    raise SpecError(
        f"the source has no kernel `{name}`",
        valid=", ".join(dict.fromkeys(f.name for f in functions)) or "none: no `__global__` in it",
        next_step="give the file that defines it as source (--source), or its kernel there as "
        "entry (--entry)",
    )


def taken_parameters(
    function: CppFunction, instance: Instance, params: Sequence[tuple[int, int]]
) -> tuple[Taken, ...]:
    """Each parameter with its place. Raises SpecError where source and machine code differ.

    `params`: offset and bytes of each, as the machine code has them.
    """
    declared = function.parameters
    if len(declared) != len(params):
        raise SpecError(
            f"`{function.name}` takes {len(declared)} parameters in the source, and the recorded "
            f"kernel {len(params)}",
            next_step="name the source that was built into the recorded program",
        )
    types = instance.types if instance.types and len(instance.types) == len(declared) else None
    made = tuple(
        _taken(parameter, types[index] if types else None, *params[index])
        for index, parameter in enumerate(declared)
    )
    for each in made:
        _check_size(each)
    return made


def _taken(parameter: CppParameter, instance: str | None, offset: int, size: int) -> Taken:
    kind, pointers, element = parameter.type, parameter.pointers, parameter.element
    if instance is not None:
        bare = instance.replace("__restrict__", " ").replace("__restrict", " ").strip()
        bare = bare.removesuffix("const").strip() if bare.endswith("*const") else bare
        kind = bare.rstrip("*& ")
        pointers, element = bare.count("*", len(kind)), element_type(kind) or element
    return Taken(
        name=parameter.name,
        type=kind + "*" * pointers,
        offset=offset,
        size=size,
        dtype=element.dtype if element else None,
        lanes=element.lanes if element else 1,
        pointers=pointers,
        const=parameter.const,
    )


def _check_size(each: Taken) -> None:
    element = Element(each.dtype, each.lanes) if each.dtype else None
    expected = POINTER_BYTES if each.pointers else element.nbytes if element else each.size
    if each.size != expected:
        raise SpecError(
            f"`{each.name}` is `{each.type}` in the source, {expected} bytes, and the recorded "
            f"kernel takes {each.size} there",
            next_step="name the source that was built into the recorded program",
        )


def _opening_of(text: str) -> int:
    """Where the parenthesis opens that ends a text."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if not depth:
            return at
    return 0


def _at_commas(text: str) -> list[str]:
    """Parts between the commas that stand in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in OPENING) - (letter in CLOSING)
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
