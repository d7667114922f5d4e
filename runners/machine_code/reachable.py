"""What of a host's machine code the entry of a kernel can come to, by functions.

A source has functions beside a kernel that nobody calls (a benchmark, a test), and a compiler keeps
those that others might. Reached is what a function reached before calls, jumps to or takes the
address of, and whatever the loader runs or writes an address of into data. Code that no symbol with
a size covers counts as reached. Ways that are worked out while it runs (a jump to a sum) are not
seen, as for all that is read here.

x86-64 only: elsewhere everything counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .elf import Section
from .shared_object import UNDEFINED, SharedObject, Symbol

if TYPE_CHECKING:
    from iced_x86 import Instruction

STUB_BYTES = 16
STUBS = (".plt", ".plt.sec", ".plt.got")
"""sections of jumps to what is imported, each of them one of its own"""


@dataclass(frozen=True)
class Reached:
    """What entries come to."""

    instructions: tuple[Instruction, ...]
    imports: frozenset[str]
    """names that others define"""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Code that is reached as a whole: a function, a stub, or what lies between functions."""

    section: Section
    start: int
    end: int
    named: bool


def reached(code: SharedObject, entries: Collection[str]) -> Reached:
    """From these entries, which are names of symbols."""
    walk = _Walk(code)
    for name in entries:
        walk.name(name)
    for name in code.data_names:
        walk.name(name)
    for address in code.addresses:
        walk.address(address)
    for piece in walk.pieces:
        if not piece.named:
            walk.address(piece.start)
    return Reached(tuple(walk.instructions()), frozenset(walk.imports))


class _Walk:
    """The way through the pieces of a shared object."""

    def __init__(self, code: SharedObject) -> None:
        self.pieces = sorted(_pieces(code), key=lambda piece: piece.start)
        self.imports = set[str]()
        self._starts = [piece.start for piece in self.pieces]
        self._slots = code.slots
        self._defined = {s.name: s.address for s in code.symbols if s.section != UNDEFINED}
        self._waiting = list[int]()

    def name(self, name: str) -> None:
        """Something refers to a symbol."""
        if name in self._defined:
            self._waiting.append(self._defined[name])
        else:
            self.imports.add(name)

    def address(self, address: int) -> None:
        """Something refers to a place: code, a slot that holds a symbol's address, or data."""
        if address in self._slots:
            self.name(self._slots[address])
        else:
            self._waiting.append(address)

    def instructions(self) -> Iterator[Instruction]:
        """Every instruction on the way, once; what they refer to is on the way, too."""
        seen, begun = set[int](), set[int]()
        while self._waiting:
            at = self._waiting.pop()
            piece = self._piece(at)
            if piece is None:
                continue
            # All of a function counts, and what something jumps into the middle of besides.
            for start in (piece.start, at):
                if start not in begun:
                    begun.add(start)
                    yield from self._decoded(piece, start, seen)

    def _decoded(self, piece: _Piece, start: int, seen: set[int]) -> Iterator[Instruction]:
        from iced_x86 import Decoder, OpKind

        first = start - piece.section.address
        code = piece.section.content[first : piece.end - piece.section.address]
        for instruction in Decoder(64, code, ip=start):
            if instruction.ip in seen:
                return
            seen.add(instruction.ip)
            if instruction.op0_kind == OpKind.NEAR_BRANCH64:
                self.address(instruction.near_branch_target)
            if instruction.is_ip_rel_memory_operand:
                self.address(instruction.ip_rel_memory_address)
            yield instruction

    def _piece(self, address: int) -> _Piece | None:
        number = bisect_right(self._starts, address)
        found = self.pieces[number - 1] if number else None
        return found if found is not None and address < found.end else None


def _pieces(code: SharedObject) -> Iterator[_Piece]:
    functions = [s for s in code.symbols if s.function and s.section != UNDEFINED and s.size]
    functions.sort(key=lambda each: (each.address, -each.size))
    for section in code.code:
        end = section.address + section.size
        if section.name in STUBS:
            for at in range(section.address, end, STUB_BYTES):
                yield _Piece(section, at, min(at + STUB_BYTES, end), True)
        else:
            inside = [s for s in functions if section.address <= s.address < end]
            yield from _of_section(section, inside)


def _of_section(section: Section, functions: list[Symbol]) -> Iterator[_Piece]:
    at, end = section.address, section.address + section.size
    for function in functions:
        if function.address > at:
            yield _Piece(section, at, function.address, False)
        begin, stop = max(at, function.address), min(function.address + function.size, end)
        if stop > begin:
            yield _Piece(section, begin, stop, True)
        at = max(at, stop)
    if at < end:
        yield _Piece(section, at, end, False)
