"""Parameter values written into a source: defaults of guarded macros, or of Python names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...runners.languages import KernelType, Syntax, language_of
from ...search.moves.shared.knobs_python import named_integers

GUARD = (
    r"(?P<head>^[ \t]*#[ \t]*ifndef[ \t]+{name}\b[^\n]*\n[ \t]*#[ \t]*define[ \t]+{name}[ \t]+)"
    r"(?P<value>[^\s/]+)"
)


@dataclass(frozen=True)
class Baked:
    """A source with values in it; `flags` are those parameters that have no place in it."""

    source: str
    values: dict[str, int]
    flags: dict[str, int]


def bake(source: str, parameters: Mapping[str, int], kernel_type: KernelType = "cpp") -> Baked:
    """The source with as many of the values in it as it has places for."""
    bake_in = BAKERS.get(language_of(kernel_type).syntax)
    if bake_in is None:
        return Baked(source, {}, dict(sorted(parameters.items())))
    return bake_in(source, parameters)


def _bake_python(source: str, parameters: Mapping[str, int]) -> Baked:
    """Set constexpr defaults, module constants and keywords of launches, each named once."""
    places = named_integers(source.encode())
    found = {n: [c for c in places if c.name == n] for n in parameters}
    once = [same[0] for same in found.values() if len(same) == 1]
    data = source.encode()
    for place in sorted(once, key=lambda c: -c.start):
        data = data[: place.start] + str(parameters[place.name]).encode() + data[place.end :]
    values = {c.name: parameters[c.name] for c in once}
    flags = {n: v for n, v in sorted(parameters.items()) if n not in values}
    return Baked(data.decode(), values, flags)


def _bake_cpp(source: str, parameters: Mapping[str, int]) -> Baked:
    """Set the default in every `#ifndef NAME / #define NAME n`, where there is exactly one."""
    values, flags = dict[str, int](), dict[str, int]()
    for name, value in sorted(parameters.items()):
        pattern = re.compile(GUARD.format(name=re.escape(name)), re.MULTILINE)
        if len(pattern.findall(source)) == 1:
            source = pattern.sub(rf"\g<head>{value}", source)
            values[name] = value
        else:
            flags[name] = value
    return Baked(source, values, flags)


BAKERS: Mapping[Syntax, Callable[[str, Mapping[str, int]], Baked]] = {
    "c": _bake_cpp,
    "python": _bake_python,
}
