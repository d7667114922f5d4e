"""Tuning knobs in C++ and CUDA.

- `#define NAME 32`, or an integer `constexpr` or `const` with a literal for its value;
- defined once, and code or a macro uses it. A use in a parameter list does not count: the
  size of an array in the interface is no choice.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ....runners.c_source.comments import without_comments
from ....runners.c_source.declarators import unbraced
from ....runners.c_source.literals import INTEGER, integer_value
from ....runners.c_source.nodes import qualifiers_of, text_of, walk
from ....runners.c_source.parsing import parse_cpp
from ....runners.c_source.preprocessor import preproc_text
from .knobs import Constant, reads_like_knob

if TYPE_CHECKING:
    from tree_sitter import Node

IDENTIFIER = re.compile(rb"[A-Za-z_]\w*")
INTEGRAL = re.compile(r"\b(int|unsigned|signed|short|long|char|auto|\w*size_t|u?int\w*_t)\b")


def cpp_knobs(source: bytes) -> tuple[Constant, ...]:
    """The tuning knobs of a C++ or CUDA source, in order."""
    return tuple(c for c in cpp_constants(source) if c.value >= 1 and reads_like_knob(c.name))


def cpp_constants(source: bytes) -> tuple[Constant, ...]:
    """Every named integer constant of it, whatever its name and value, in order."""
    constants: list[Constant] = []
    uses: Counter[str] = Counter()
    definitions: Counter[str] = Counter()
    for node in walk(parse_cpp(without_comments(source)).root_node, without=("ERROR",)):
        if node.type == "preproc_arg":
            words = IDENTIFIER.findall(preproc_text(node.text or b"") or b"")
            uses.update(word.decode() for word in words)
        elif node.type in ("identifier", "type_identifier"):
            if _defines(node):
                definitions[text_of(node)] += 1
            elif _is_use(node):
                uses[text_of(node)] += 1
        elif (constant := _constant(node)) is not None:
            constants.append(constant)
    return tuple(c for c in constants if uses[c.name] and definitions[c.name] == 1)


def _defines(node: Node) -> bool:
    """Whether the identifier is the one that a #define or a declarator introduces."""
    parent = node.parent
    if parent is None or parent.type not in (
        "preproc_def",
        "preproc_function_def",
        "init_declarator",
        "array_declarator",
        "parameter_declaration",
        "declaration",
    ):
        return False
    field = "name" if parent.type.startswith("preproc") else "declarator"
    return parent.child_by_field_name(field) == node


def _is_use(node: Node) -> bool:
    """Not a guard's name (#ifndef NAME), not part of a parameter list."""
    parent = node.parent
    if parent is not None and parent.type == "preproc_ifdef":
        return False
    while parent is not None:
        if parent.type == "parameter_list":
            return False
        parent = parent.parent
    return True


def _constant(node: Node) -> Constant | None:
    if node.type == "preproc_def":
        value = node.child_by_field_name("value")
    elif node.type == "init_declarator" and _is_const_integer(node.parent):
        value = node.child_by_field_name("value")
        value = None if value is None else unbraced(value)
    else:
        return None
    name = node.child_by_field_name("name" if node.type == "preproc_def" else "declarator")
    if name is None or name.type != "identifier" or value is None:
        return None
    text = text_of(value)
    match = INTEGER.match(text)
    if match is None or (preproc_text(text.encode()) or b"").decode() != match[0]:
        return None
    number, start = integer_value(match[0]), value.start_byte
    if number is None:
        return None
    end = start + len(match[0].encode())
    return Constant(text_of(name), number, match["suffix"], start, end)


def _is_const_integer(declaration: Node | None) -> bool:
    if declaration is None or declaration.type != "declaration":
        return False
    kind = text_of(declaration.child_by_field_name("type"))
    return bool(qualifiers_of(declaration) & {"const", "constexpr"}) and (
        INTEGRAL.search(kind) is not None
    )
