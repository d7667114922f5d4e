"""Loads, stores and atomic updates of a kernel, by array and element. Variables of a thread that
lie in memory: pieces at known places are values like registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..ptx import Variable
from .expressions import FLOATS, DType, Expr, Load, Name, Number, Pointer, Unreadable
from .frames import Values
from .machine import as_type, dtype_of, nbytes_of
from .rewriting import remade
from .statements import Argument, Let, Scatter, Statement, Store, Table
from .sums import lowest, packed, total, unpacked, width_of

BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "int8": 1, "uint8": 1,
         "bool": 1, "int16": 2,
         "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8}  # fmt: skip
"""of an element, by the types of a contract that are read"""
LOCAL, SHARED, TABLE = "local ", "shared ", "table "


def value_type(dtype: str) -> DType:
    """The type of values of elements of a contract's type."""
    return {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}.get(
        dtype, "int"
    )  # type: ignore[return-value]


@dataclass
class Memory:
    """The arrays of a kernel. Read a kernel twice: the first time says what it writes."""

    arguments: tuple[Argument, ...]
    written: frozenset[str]
    """arrays that are written: what is read of them is taken when it is read"""
    shared: dict[str, str] = field(default_factory=dict[str, str])
    """the type of elements of each array of a block, as its first access had it"""
    stores: set[str] = field(default_factory=set[str])
    """arrays that were written while the kernel was read"""
    taken: int = 0
    tables: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """variables of the program that hold what they began with, as nothing but the kernel's own code
    can reach them, and that must not write them"""

    variables: Mapping[str, Variable] = field(default_factory=dict[str, Variable])
    """of the program, that kernels read and others may set"""
    read: dict[str, Table] = field(default_factory=dict[str, Table])
    """those of `variables` that were read"""

    def load(
        self, kind: str, count: int, address: Expr, values: Values, out: list[Statement]
    ) -> list[Expr]:
        """So many neighbouring elements of a PTX type."""
        nbytes = nbytes_of(kind)
        return [
            self._load(kind, nbytes, _moved(address, nbytes * n), values, out) for n in range(count)
        ]

    def store(
        self,
        kind: str,
        given: Sequence[Expr | None],
        address: Expr,
        values: Values,
        out: list[Statement],
    ) -> None:
        """The same the other way round."""
        nbytes = nbytes_of(kind)
        for n, value in enumerate(given):
            pointer = _moved(address, nbytes * n)
            if pointer.array.startswith(LOCAL):
                store_piece(values, pointer.array, pointer.offset, nbytes, value)
                continue
            if value is None:
                raise Unreadable("a value that is unknown here")
            if pointer.array in self.variables:
                raise Unreadable(f"the variable {pointer.array} of the program is written")
            for place, each, size in self._pieces(pointer, kind, nbytes, value):
                index, dtype = self._element(place, kind, size)
                self.stores.add(pointer.array)
                kept = lowest(each, size) if dtype == "int" else each
                out.append(Store(pointer.array, index, as_type(kept, dtype)))

    def _pieces(
        self, pointer: Pointer, kind: str, nbytes: int, value: Expr
    ) -> list[tuple[Pointer, Expr, int]]:
        """A value that is stored as elements of its array: where each is, and its bytes."""
        size = self._element_size(pointer.array, kind, nbytes)
        if size >= nbytes:
            return [(pointer, value, nbytes)]
        parts = unpacked(value, size, nbytes // size)
        if parts is None:
            raise Unreadable(f"{pointer.array} is written in pieces of {nbytes} bytes")
        return [(_moved(pointer, size * at), each, size) for at, each in enumerate(parts)]

    def _element_size(self, array: str, kind: str, nbytes: int) -> int:
        """Bytes of an element of an array, where an access may have several."""
        if array.startswith(SHARED):
            return BYTES[self.shared[array]] if array in self.shared else nbytes
        size = next((BYTES.get(a.dtype, nbytes) for a in self.arguments if a.name == array), nbytes)
        return size if nbytes % size == 0 else nbytes

    def scatter(self, op: str, kind: str, address: Expr, value: Expr, out: list[Statement]) -> Expr:
        """An atomic update; what it gives back is a name that nothing defines."""
        pointer = _moved(address, 0)
        if pointer.array.startswith(LOCAL):
            raise Unreadable("an atomic update of a variable of one thread")
        if pointer.array in self.variables:
            raise Unreadable(f"the variable {pointer.array} of the program is written")
        index, dtype = self._element(pointer, kind, nbytes_of(kind))
        self.stores.add(pointer.array)
        out.append(Scatter(op, pointer.array, index, as_type(value, dtype)))
        return Name("?old", dtype)

    def _load(
        self, kind: str, nbytes: int, pointer: Pointer, values: Values, out: list[Statement]
    ) -> Expr:
        if pointer.array.startswith(LOCAL):
            found = load_piece(values, pointer.array, pointer.offset, nbytes)
            return found if isinstance(found, Pointer) else as_type(found, _kind_of(kind, found))
        if pointer.array.startswith(TABLE):
            return self._of_table(kind, nbytes, pointer)
        size = self._element_size(pointer.array, kind, nbytes)
        if size < nbytes:
            parts = [
                self._load(kind, size, _moved(pointer, size * at), values, out)
                for at in range(nbytes // size)
            ]
            return packed(parts, size)
        index, dtype = self._element(pointer, kind, nbytes)
        read = Load(pointer.array, index, dtype)
        if pointer.array not in self.written and not pointer.array.startswith(SHARED):
            return read
        return self.taken_now(read, out)

    def _of_table(self, kind: str, nbytes: int, pointer: Pointer) -> Expr:
        """A number of a table at a known place. Raises Unreadable at another."""
        held = self.tables[pointer.array.removeprefix(TABLE)]
        if not isinstance(pointer.offset, Number):
            raise Unreadable("a table is indexed by what is known only when it runs")
        at = int(pointer.offset.value)
        if not 0 <= at <= len(held) - nbytes:
            raise Unreadable("a table is read beyond its end")
        number = int.from_bytes(held[at : at + nbytes], "little", signed=kind[0] == "s")
        return as_type(Number(number), dtype_of(kind))

    def taken_now(self, value: Expr, out: list[Statement]) -> Name:
        """A name for a value that is another one later."""
        self.taken += 1
        name = f"t{self.taken}"
        out.append(Let(name, value))
        return Name(name, value.dtype)

    def _element(self, pointer: Pointer, kind: str, nbytes: int) -> tuple[Expr, DType]:
        """The index of an element, and its type."""
        array = pointer.array
        if array.startswith(SHARED):
            dtype = self._shared_type(array, kind)
        elif array in self.variables:
            dtype = self._table(array, kind, nbytes).dtype
        else:
            dtype = next((a.dtype for a in self.arguments if a.name == array), "")
        if BYTES.get(dtype) != nbytes:
            raise Unreadable(f"{array} is read or written in pieces of {nbytes} bytes")
        index = remade("elements", (pointer.offset, Number(nbytes)), "int")
        return index, value_type(dtype)

    def _table(self, name: str, kind: str, nbytes: int) -> Table:
        """A variable of the program whose elements are as its first access had them."""
        if name not in self.read:
            variable = self.variables[name]
            whole = (variable.length or 1) * nbytes_of(variable.type)
            sort = "float" if kind[0] == "f" else "uint" if kind[0] == "u" else "int"
            made = Table(name, f"{sort}{8 * nbytes}", whole // nbytes, variable.initial)
            self.read[name] = made
        return self.read[name]

    def _shared_type(self, array: str, kind: str) -> str:
        """A b32 that moves a float counts as one, once an access has said so."""
        said = f"{'float' if kind[0] == 'f' else 'int'}{kind.lstrip('bsuf')}"
        known = self.shared.get(array)
        if known is None or (said.startswith("float") and BYTES[known] == BYTES[said]):
            self.shared[array] = said
        return self.shared[array]


def _kind_of(kind: str, found: Expr) -> DType:
    """Bits have the type of what they are bits of."""
    return found.dtype if kind[0] == "b" and found.dtype in FLOATS else dtype_of(kind)


def _moved(address: Expr, nbytes: int) -> Pointer:
    if not isinstance(address, Pointer):
        raise Unreadable("an address that does not come from a parameter")
    moved = total((address, Number(nbytes)))
    assert isinstance(moved, Pointer)
    return moved


def _place(depot: str, offset: Expr) -> int:
    if not isinstance(offset, Number):
        raise Unreadable("an array of a thread is indexed by what is known only when it runs")
    return int(offset.value)


def store_piece(values: Values, depot: str, offset: Expr, nbytes: int, value: Expr | None) -> None:
    """Write a piece, a pack as its parts; what it overlaps is forgotten."""
    at = _place(depot, offset)
    width = 0 if value is None else width_of(value)
    if value is not None and 0 < width < nbytes:
        parts = unpacked(value, width, nbytes // width)
        for n, each in enumerate(parts or ()):
            store_piece(values, depot, Number(at + n * width), width, each)
        if parts is not None:
            return
    for key in [key for key in values if key.startswith(f"@{depot}+")]:
        first, _, length = key.rpartition("+")[2].partition(":")
        if int(first) < at + nbytes and at < int(first) + int(length):
            del values[key]
    if value is not None:
        values[f"@{depot}+{at}:{nbytes}"] = value


def load_piece(values: Values, depot: str, offset: Expr, nbytes: int) -> Expr:
    """Read a piece, or several as a pack. Raises Unreadable for one that was written in other
    pieces, or never."""
    at = _place(depot, offset)
    found = values.get(f"@{depot}+{at}:{nbytes}")
    for size in (2, 1, 4):
        if found is None and size < nbytes:
            parts = [values.get(f"@{depot}+{at + n}:{size}") for n in range(0, nbytes, size)]
            known = [each for each in parts if each is not None]
            found = packed(known, size) if len(known) == len(parts) else None
    if found is None:
        raise Unreadable("a variable is read in other pieces than it was written")
    return found
