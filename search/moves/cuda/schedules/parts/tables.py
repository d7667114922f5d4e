"""Variables of a program that a kernel reads, `__constant__` or `__device__`, as C++ calls them."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ......analysis.lift.expressions import ZERO, Expr, Load, Name, Number, Unreadable
from ......analysis.lift.rewriting import rebuilt
from ......analysis.lift.statements import Lifted, Table, changed
from .c_text import TYPES, number_text

_PART = re.compile(r"(\d+)")
_FORMS = {"float32": "f", "float64": "d", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H",
          "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q"}  # fmt: skip


@dataclass(frozen=True)
class Tables:
    """What tables are called, and definitions of those that only the old kernel could name."""

    lifted: Lifted
    dtypes: Mapping[str, str]
    """by the names that loads have in `lifted`"""
    definitions: tuple[str, ...] = ()


def tables_of(lifted: Lifted, source: str) -> Tables:
    """The lift with its tables as C++ calls them. Raises Unreadable for one without a name."""
    known, scalars = dict[str, str](), dict[str, str]()
    dtypes, definitions = dict[str, str](), list[str]()
    for each in lifted.tables:
        inside, name = _name(each.name)
        if inside:
            name = f"{lifted.name}_{name}"
            definitions.append(_definition(each, name))
            known[each.name] = name
        elif _shape(name, each, source) == 0:
            scalars[each.name] = name
        else:
            known[each.name] = _pointer(name, each, source)
        dtypes[known.get(each.name, name)] = each.dtype
    if not lifted.tables:
        return Tables(lifted, {})

    def named(expr: Expr) -> Expr:
        made = rebuilt(expr, named)
        if isinstance(made, Load) and made.array in scalars and made.index == ZERO:
            return Name(scalars[made.array], made.dtype)
        if isinstance(made, Load) and made.array in known:
            return replace(made, array=known[made.array])
        return made

    return Tables(replace(lifted, body=changed(lifted.body, named)), dtypes, tuple(definitions))


def _name(mangled: str) -> tuple[bool, str]:
    """Whether a variable stands within a function, and its name in C++ without the function's."""
    if not mangled.startswith("_Z"):
        return False, mangled
    if mangled.startswith("_ZZ"):
        found = re.search(r"E(\d+)(\w+?)(?:_\d*)?$", mangled)
        if found is None:
            raise Unreadable(f"the variable {mangled} of the program has no name that is known")
        return True, found[2][: int(found[1])]
    parts, at = list[str](), mangled.find("N") + 1 if mangled.startswith("_ZN") else 2
    while (found := _PART.search(mangled, at)) is not None:
        begin, length = found.end(), int(found[1])
        parts.append(mangled[begin : begin + length])
        at = begin + length
    named = [each for each in parts if not each.startswith(("_GLOBAL__", "_INTERNAL_"))]
    if not named:
        raise Unreadable(f"the variable {mangled} of the program has no name that is known")
    return False, "::".join(named)


def _declared(name: str, source: str) -> re.Match[str] | None:
    last = name.rpartition("::")[2]
    return re.search(rf"([\w:]+)\s+{last}\s*((?:\[[^\]]*\]\s*)*)(?=[=;,{{])", source)


def _shape(name: str, table: Table, source: str) -> int:
    """The number of dimensions of a variable of a plain type; -1: of another type."""
    found = _declared(name, source)
    if found is None or found[1].rpartition(" ")[2] != TYPES.get(table.dtype):
        return -1
    return found[2].count("[")


def _pointer(name: str, table: Table, source: str) -> str:
    """An expression that is indexed like the elements of the variable."""
    dims = _shape(name, table, source)
    if dims == 1:
        return name
    return f"reinterpret_cast<const {TYPES[table.dtype]}*>(&{name})"


def _definition(table: Table, name: str) -> str:
    if table.initial is None or table.dtype not in _FORMS:
        raise Unreadable(f"what the variable {name} of the kernel holds is not known")
    values = struct.unpack(f"<{table.elements}{_FORMS[table.dtype]}", table.initial)
    kind = {"float32": "f32", "float64": "f64"}.get(table.dtype, "int")
    words = ", ".join(number_text(Number(each, kind)) for each in values)  # type: ignore[arg-type]
    return f"__constant__ {TYPES[table.dtype]} {name}[{table.elements}] = {{{words}}};"
