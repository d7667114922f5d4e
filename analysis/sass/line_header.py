"""Headers of line number programs: which files they name, and what their operations mean."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

PATH, DIRECTORY = 1, 2
"""what a field of a file table of DWARF 5 holds (DW_LNCT_*)"""


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


def read_header(cursor: Cursor, wide: bool, texts: bytes, line_texts: bytes) -> Header:
    """Read a header of DWARF 2 to 5; the cursor is at the first operation afterwards.

    Raises ValueError, IndexError or struct.error for one that is damaged.
    """
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
