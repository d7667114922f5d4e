"""Structs of several numbers of one type, such as a point of three floats: as elements, what CUDA's
own vectors are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from ..dtypes import DtypeName
from .aliases import resolved
from .comments import without_comments
from .types import Element, scalar_type

_STRUCT = re.compile(
    r"\bstruct\s*(?:(?:__align__|alignas)\s*\(\s*\d+\s*\)\s*)?(?P<tag>\w*)\s*"
    r"\{(?P<body>[^{}()]*)\}\s*(?P<name>\w*)\s*;"
)
_MEMBER = re.compile(r"(\w+)((?:\s*\[\s*\d+\s*\])*)")


def struct_element(kind: str, source: bytes) -> Element | None:
    """The elements of a struct that a source defines, all of whose members are of one type; None:
    no such struct."""
    members = _structs(source).get(kind.removeprefix("struct "))
    return None if members is None else _element(members, source)


@lru_cache(maxsize=32)
def _structs(source: bytes) -> Mapping[str, str]:
    """Members by name, of structs without functions; a name that is defined twice is none."""
    found = dict[str, set[str]]()
    for match in _STRUCT.finditer(without_comments(source).decode(errors="replace")):
        for name in {match["tag"], match["name"]} - {""}:
            found.setdefault(name, set()).add(match["body"])
    return {name: next(iter(bodies)) for name, bodies in found.items() if len(bodies) == 1}


def _element(members: str, source: bytes) -> Element | None:
    types, count = set[DtypeName | None](), 0
    for line in filter(str.strip, members.split(";")):
        first, *others = line.split(",")
        kind, _, last = first.replace("[", " [", 1).strip().partition(" [")
        kind, _, name = kind.strip().rpartition(" ")
        declared = [f"{name}[{last}" if last else name, *others]
        types.add(scalar_type(kind) or scalar_type(resolved(" ".join(kind.split()), source)))
        for each in declared:
            named = _MEMBER.fullmatch(each.strip())
            if named is None:
                return None
            size = 1
            for extent in re.findall(r"\d+", named[2]):
                size *= int(extent)
            count += size
    dtype = types.pop() if len(types) == 1 else None
    return None if dtype is None or not count else Element(dtype, count)
