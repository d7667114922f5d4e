"""Variables of a kernel's module that it reads: the spec sets them to what the program had set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...c_source.functions import CppFunction
from ...c_source.nodes import text_of, walk
from ...c_source.parsing import parse_cpp
from ...errors import SpecError
from ..names import readable_names
from ..replaying.kept import KeptLaunch

MOST_BYTES = 64 << 10
"""of a variable that a spec sets"""
_DEFINED = ("function_definition", "struct_specifier", "class_specifier", "preproc_function_def")
_WORD = re.compile(r"\w+")


def variables_set(
    kept: KeptLaunch, function: CppFunction, sources: Sequence[str]
) -> list[dict[str, Any]]:
    """Steps of a plan's setup. `sources`: the kernel's file and those that it includes.

    Raises SpecError where the launch changes a variable, or where one is too large for a spec.
    """
    readable = readable_names([v.name for v in kept.variables])
    words = reached_words(text_of(function.node), sources) if kept.variables else frozenset[str]()
    made = list[dict[str, Any]]()
    for variable in kept.variables:
        name = readable.get(variable.name, variable.name).replace("(anonymous namespace)::", "")
        if variable.before != variable.after:
            raise SpecError(
                f"the kernel keeps state in `{name}`, a variable of its module: each launch is "
                "another one, and nothing could be compared",
                next_step="hand it to the kernel as an array",
            )
        if name.rpartition("::")[2] not in words:
            continue
        if variable.size > MOST_BYTES:
            raise SpecError(
                f"`{name}`, a variable that the kernel reads, has {variable.size} bytes; a spec "
                f"sets {MOST_BYTES} at most",
                next_step="hand it to the kernel as an array",
            )
        made.append({"set": name, "raw": variable.before.read_bytes().hex()})
    return made


def reached_words(kernel: str, sources: Sequence[str]) -> frozenset[str]:
    """Every name in a kernel, and in functions, classes and macros of the sources that it names."""
    defined = dict[str, set[str]]()
    for source in sources:
        for node in walk(parse_cpp(source.encode()).root_node):
            if node.type in _DEFINED:
                named = node.child_by_field_name("name") or node.child_by_field_name("declarator")
                name = _WORD.search(text_of(named).rpartition("*")[2]) if named else None
                if name is not None:
                    defined.setdefault(name[0], set()).update(_WORD.findall(text_of(node)))
    reached = set(_WORD.findall(kernel))
    waiting = list(reached)
    while waiting:
        new = defined.pop(waiting.pop(), set[str]()) - reached
        reached |= new
        waiting += new
    return frozenset(reached)
