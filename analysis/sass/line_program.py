"""Line number programs of DWARF 2 to 5, with NVIDIA's two operations for inlined calls.

The format is that of the DWARF standards, section 6.2. NVIDIA adds to it, as ptxas 12.8 to 13.5
write it: two extended operations, of which the first names the row (counted from 1 within its
sequence) at which the following rows are inlined, and four bytes after the file table, the start
of the names of functions in `.debug_str`. The names themselves are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..ptx import Frame, Place
from .line_header import Cursor, Header, read_header

COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, CONST_ADD_PC, FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9
END_SEQUENCE, SET_ADDRESS, DEFINE_FILE = 1, 2, 3
INLINED_CALL = 0x90
"""extended: the row at which what follows is inlined (0: not inlined), and a function's name"""
MAX_DEPTH = 100
"""of calls inlined in each other; compilers stay far below it"""


@dataclass(frozen=True, slots=True)
class Row:
    """From this address on, up to the next row, code comes from this place."""

    address: int
    """bytes from the start of what the sequence's relocation names"""
    place: Place
    """columns are 0: assemblers leave them out"""


@dataclass(frozen=True, slots=True)
class Sequence:
    """Rows of one run of machine code, by ascending address."""

    at: int
    """where in the section its start address lies, which a relocation fills in"""
    base: int
    """that address as the section holds it"""
    rows: tuple[Row, ...]
    end: int
    """the first address behind it"""


def read_line_programs(
    section: bytes, texts: bytes = b"", line_texts: bytes = b""
) -> Iterator[Sequence]:
    """The sequences of all programs of a `.debug_line`; `texts` are `.debug_str`, and `line_texts`
    `.debug_line_str`, where DWARF 5 keeps names of files.

    Linear in the section. Raises ValueError, IndexError or struct.error for one that is damaged.
    """
    begin = 0
    while begin < len(section):
        cursor = Cursor(section, begin)
        wide = False
        size = cursor.number("I")
        if size == 0xFFFFFFFF:
            wide, size = True, cursor.number("Q")
        end = cursor.at + size
        if end > len(section):
            raise ValueError("a line program ends after its section")
        unit = Cursor(section[begin:end], cursor.at - begin)
        header = read_header(unit, wide, texts, line_texts)
        yield from _sequences(unit, header, begin)
        begin = end


@dataclass(slots=True)
class State:
    """The registers of the machine that a program drives, and the rows it has made."""

    address: int = 0
    file: int = 1
    line: int = 1
    inlined_at: int = 0
    at: int = -1
    base: int = 0
    rows: list[Row] = field(default_factory=list[Row])
    last: tuple[int, int, int, int] | None = None
    """address, file, line and `inlined_at` of the newest row"""


def _sequences(cursor: Cursor, header: Header, begin: int) -> Iterator[Sequence]:
    """`begin`: where in the section the program begins."""
    state = State()
    files = dict(header.files)
    step = _const_add(header)
    while cursor.at < len(cursor.data):
        operation = cursor.number("B")
        if operation >= header.opcode_base:
            special = operation - header.opcode_base
            state.address += special // header.line_range * header.min_instruction
            state.line += header.line_base + special % header.line_range
            _append(state, files)
        elif operation == 0:
            size = cursor.unsigned()
            end = cursor.at + size
            if size and cursor.data[cursor.at] == END_SEQUENCE:
                yield Sequence(begin + state.at, state.base, tuple(state.rows), state.address)
                state = State()
            elif size:
                _extended(cursor, size, state, files)
            cursor.at = end
        elif operation == COPY:
            _append(state, files)
        elif operation == CONST_ADD_PC:
            state.address += step
        elif operation == FIXED_ADVANCE_PC:
            state.address += cursor.number("H")
        else:
            _standard(cursor, operation, header, state)
    if state.rows:
        raise ValueError("a line program ends within a sequence")


def _const_add(header: Header) -> int:
    return (255 - header.opcode_base) // header.line_range * header.min_instruction


def _standard(cursor: Cursor, operation: int, header: Header, state: State) -> None:
    """One whose operands are LEB128 numbers; those that say nothing of lines are skipped."""
    if operation == ADVANCE_LINE:
        state.line += cursor.signed()
    elif operation == ADVANCE_PC:
        state.address += cursor.unsigned() * header.min_instruction
    elif operation == SET_FILE:
        state.file = cursor.unsigned()
    else:
        for _ in range(header.operands[operation - 1]):
            cursor.unsigned()


def _extended(cursor: Cursor, size: int, state: State, files: dict[int, str]) -> None:
    operation = cursor.number("B")
    if operation == SET_ADDRESS:
        state.at = cursor.at
        state.base = state.address = cursor.number("I" if size == 5 else "Q")
    elif operation == DEFINE_FILE:
        files[len(files) + 1] = cursor.text()
    elif operation == INLINED_CALL:
        state.inlined_at = cursor.unsigned()


def _append(state: State, files: Mapping[int, str]) -> None:
    """A row; line 0 means code of no line of its own, which stays with the line before.

    A row that repeats the one before it, as ptxas writes them where a function begins that was
    not inlined, is no row: `INLINED_CALL` does not count it.
    """
    rows, now = state.rows, (state.address, state.file, state.line, state.inlined_at)
    if now == state.last:
        return
    state.last = now
    if state.inlined_at > len(rows):
        raise ValueError(f"a row is inlined at row {state.inlined_at}, which comes later")
    outer = rows[state.inlined_at - 1].place if state.inlined_at else ()
    if len(outer) >= MAX_DEPTH:
        raise ValueError(f"calls are inlined in each other more than {MAX_DEPTH} deep")
    if state.line > 0:
        place = (Frame(files.get(state.file, ""), state.line, 0), *outer)
    else:
        place = rows[-1].place if rows else ()
    rows.append(Row(state.address, place))
