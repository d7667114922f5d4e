"""Line number programs of DWARF 2 to 5, with NVIDIA's two operations for inlined calls.

The format is that of the DWARF standards, section 6.2. NVIDIA adds to it, as ptxas 12.8 to 13.5
write it: two extended operations, of which the first names the row (counted from 1 within its
sequence) at which the following rows are inlined, and four bytes after the file table, the start
of the names of functions in `.debug_str`. The names themselves are not read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..places import Chain, Place

COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, CONST_ADD_PC, FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9
END_SEQUENCE, SET_ADDRESS, DEFINE_FILE = 1, 2, 3
INLINED_CALL = 0x90
"""extended: the row at which what follows is inlined (0: not inlined), and a function's name"""
MAX_DEPTH = 100
"""of calls inlined in each other; compilers stay far below it"""
PATH, DIRECTORY = 1, 2
"""what a field of a file table of DWARF 5 holds (DW_LNCT_*)"""


@dataclass(frozen=True, slots=True)
class Row:
    """From this address on, up to the next row, code is of this chain of places."""

    address: int
    """bytes from the start of what the sequence's relocation names"""
    chain: Chain


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


@dataclass(slots=True)
class Cursor:
    """A place in bytes, which reading moves on."""

    data: bytes
    at: int

    def number(self, form: str) -> int:
        """One number of a `struct` form."""
        packed = struct.Struct("<" + form)
        (value,) = packed.unpack_from(self.data, self.at)
        self.at += packed.size
        return value

    def unsigned(self) -> int:
        """A number in LEB128."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a number of more than 64 bits in a line program")

    def signed(self) -> int:
        """A signed number in LEB128."""
        start = self.at
        value = self.unsigned()
        negative = self.data[self.at - 1] & 0x40
        return value - (1 << 7 * (self.at - start)) if negative else value

    def text(self) -> str:
        """A string that ends with a zero byte."""
        end = self.data.index(b"\0", self.at)
        found = self.data[self.at : end].decode("utf-8", "replace")
        self.at = end + 1
        return found


@dataclass(frozen=True, slots=True)
class Header:
    """What the operations of a program mean, and its files by number."""

    min_instruction: int
    line_base: int
    line_range: int
    opcode_base: int
    operands: tuple[int, ...]
    """how many LEB128 numbers a standard operation takes, by its number from 1"""
    files: Mapping[int, str]


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
        header = _header(unit, wide, texts, line_texts)
        yield from _sequences(unit, header, begin)
        begin = end


def _header(cursor: Cursor, wide: bool, texts: bytes, line_texts: bytes) -> Header:
    """The header; the cursor is at the first operation afterwards."""
    version = cursor.number("H")
    if not 2 <= version <= 5:
        raise ValueError(f"a line program of DWARF {version}; versions 2 to 5 can be read")
    if version == 5:
        cursor.at += 2  # sizes of an address and of a segment selector
    length = cursor.number("Q" if wide else "I")
    start = cursor.at + length
    min_instruction = cursor.number("B")
    cursor.at += 2 if version >= 4 else 1  # operations of an instruction; is it a statement
    line_base, line_range, opcode_base = (cursor.number(form) for form in "bBB")
    if line_range == 0 or opcode_base == 0:
        raise ValueError("a line program without a range of lines")
    operands = tuple(cursor.number("B") for _ in range(opcode_base - 1))
    files = (
        _tables(cursor, wide, texts, line_texts) if version == 5 else dict(_plain_tables(cursor))
    )
    cursor.at = start
    return Header(min_instruction, line_base, line_range, opcode_base, operands, files)


def _plain_tables(cursor: Cursor) -> Iterator[tuple[int, str]]:
    """Files by number, before DWARF 5: folder 0 is that of the compilation."""
    folders = [""]
    while name := cursor.text():
        folders.append(name)
    number = 0
    while name := cursor.text():
        number += 1
        yield number, _path(folders, cursor.unsigned(), name)
        cursor.unsigned()  # time of change
        cursor.unsigned()  # size


def _tables(cursor: Cursor, wide: bool, texts: bytes, line_texts: bytes) -> dict[int, str]:
    """Files by number, in DWARF 5: both tables say themselves which fields they have."""
    folders = [str(row.get(PATH, "")) for row in _table(cursor, wide, texts, line_texts)]
    rows = list(_table(cursor, wide, texts, line_texts))
    return {
        number: _path(folders, int(row.get(DIRECTORY, 0)), str(row.get(PATH, "")))
        for number, row in enumerate(rows)
    }


def _table(
    cursor: Cursor, wide: bool, texts: bytes, line_texts: bytes
) -> list[dict[int, int | str]]:
    fields = [(cursor.unsigned(), cursor.unsigned()) for _ in range(cursor.number("B"))]
    count = cursor.unsigned()
    if count > len(cursor.data):
        raise ValueError("a table of files is longer than its section")
    return [
        {kind: _value(cursor, form, wide, texts, line_texts) for kind, form in fields}
        for _ in range(count)
    ]


def _value(cursor: Cursor, form: int, wide: bool, texts: bytes, line_texts: bytes) -> int | str:
    """A field, by its DW_FORM_*."""
    match form:
        case 0x08:  # string
            return cursor.text()
        case 0x0E | 0x1F:  # strp, line_strp
            strings = texts if form == 0x0E else line_texts
            return Cursor(strings, cursor.number("Q" if wide else "I")).text()
        case 0x0F:  # udata
            return cursor.unsigned()
        case 0x0B | 0x05 | 0x06 | 0x07:  # data1, data2, data4, data8
            return cursor.number({0x0B: "B", 0x05: "H", 0x06: "I", 0x07: "Q"}[form])
        case 0x1E:  # data16: a checksum
            cursor.at += 16
            return 0
        case 0x09:  # block
            size = cursor.unsigned()
            cursor.at += size
            return 0
        case _:
            raise ValueError(f"a table of files with a field of the unknown form {form:#x}")


def _path(folders: list[str], folder: int, name: str) -> str:
    inside = folders[folder] if folder < len(folders) else ""
    return name if name.startswith("/") or not inside else f"{inside}/{name}"


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
    outer = rows[state.inlined_at - 1].chain if state.inlined_at else ()
    if len(outer) >= MAX_DEPTH:
        raise ValueError(f"calls are inlined in each other more than {MAX_DEPTH} deep")
    if state.line > 0:
        chain = (Place(files.get(state.file, ""), state.line), *outer)
    else:
        chain = rows[-1].chain if rows else ()
    rows.append(Row(state.address, chain))
