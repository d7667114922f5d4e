"""What PTX text says, as frozen values (PTX ISA 9.0: https://docs.nvidia.com/cuda/parallel-thread-execution).

Instructions are named tuples, since a module has tens of thousands of them: making one must cost
less than a microsecond. Operands stay text; `operands.py` takes them apart for who asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple


class Frame(NamedTuple):
    """One place in a source file."""

    file: str
    """path as `.file` gives it; of a caller that only a comment names, a base name"""
    line: int
    """from 1"""
    column: int
    function: str = ""
    """the function that was inlined here, mangled (a label where the text lacks the strings of
    names); "" where nothing was inlined or no name is said"""


Place = tuple[Frame, ...]
"""Where an instruction comes from: its own line first, then the line that called what was inlined,
up to the line of the kernel. Empty: the text has no line for it."""


class Instruction(NamedTuple):
    """One instruction of a function."""

    opcode: str
    """with its dot parts: `ld.global.v4.b32`"""
    operands: str
    """as written, without the semicolon"""
    guard: str
    """the predicate register, "" for none"""
    negated: bool
    """whether the guard is `@!p`"""
    line: int
    """of the text, from 1; where a statement spans several, the first"""
    place: Place
    asm: bool
    """between the marks of inline assembly"""
    names: Mapping[str, str] | None
    """registers and labels of a nested scope, each to a name that no other scope has; None: the
    instruction stands in no nested scope"""

    @property
    def stem(self) -> str:
        """The opcode up to its first dot."""
        return self.opcode.partition(".")[0]

    @property
    def text(self) -> str:
        """The statement on one line, as PTX."""
        guard = f"@{'!' if self.negated else ''}{self.guard} " if self.guard else ""
        return f"{guard}{self.opcode} {self.operands}".rstrip() + ";"


class Registers(NamedTuple):
    """`.reg .b32 %r<39>;` declares type b32, name %r, length 39: %r0 to %r38."""

    type: str
    name: str
    length: int | None
    """None: one register of exactly this name"""


class Variable(NamedTuple):
    """A parameter, or memory that is declared: `.shared .align 16 .b8 tile[1024]`."""

    space: str
    """param, shared, global, const or local"""
    type: str
    name: str
    length: int | None
    """elements; None: their number comes from outside (`tile[]`)"""
    line: int
    initial: bytes | None = None
    """what an array of bytes begins as, where the text says it in full"""


class Function(NamedTuple):
    """An entry (kernel) or a device function with its body."""

    name: str
    kind: Literal["entry", "func"]
    line: int
    """of the text, where its header begins"""
    last_line: int
    """where its body is closed"""
    parameters: tuple[Variable, ...]
    registers: tuple[Registers, ...]
    """those of nested scopes too, under the names of `Instruction.names`"""
    variables: tuple[Variable, ...]
    directives: Mapping[str, tuple[int, ...]]
    """`.reqntid 128` and its like, without the dot: {"reqntid": (128,)}"""
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    """to the index of the instruction that follows; one past the last for a label at the end"""
    tables: Mapping[str, tuple[str, ...]]
    """`.branchtargets`: the labels to which a `brx.idx` of this table may go"""
    pragmas: tuple[str, ...]

    @property
    def threads(self) -> int | None:
        """Threads of a CTA where the text fixes them (`.reqntid`), else None."""
        found = self.directives.get("reqntid")
        if found is None:
            return None
        product = 1
        for extent in found:
            product *= extent
        return product


class Module(NamedTuple):
    """A whole PTX text."""

    version: str
    target: str
    address_size: int
    """bits of a pointer: 32 or 64"""
    files: Mapping[int, str]
    variables: tuple[Variable, ...]
    functions: tuple[Function, ...]
    """those with a body, in the order of the text"""

    @property
    def entries(self) -> tuple[Function, ...]:
        """The kernels."""
        return tuple(each for each in self.functions if each.kind == "entry")
