"""Tuning knobs in C++ and CUDA.

- `#define NAME 32`, or an integer `constexpr` or `const` with a literal for its value;
- defined once, and code or a macro uses it. A use in a parameter list does not count: the
  size of an array in the interface is no choice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....runners.c_source.parsing import parse_cpp
from ....runners.c_source.preprocessor import preproc_text
from .knobs import Constant, reads_like_knob

if TYPE_CHECKING:
    from tree_sitter import Node

INTEGER = re.compile(
    r"(?P<digits>0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)(?P<suffix>[uUlLzZ]*)"
)
IDENTIFIER = re.compile(rb"[A-Za-z_]\w*")
INTEGRAL = re.compile(rb"\b(int|unsigned|signed|short|long|char|auto|\w*size_t|u?int\w*_t)\b")


def cpp_knobs(source: bytes) -> tuple[Constant, ...]:
    """The tuning knobs of a C++ or CUDA source, in order."""
    return tuple(c for c in cpp_constants(source) if c.value >= 1 and reads_like_knob(c.name))


def cpp_constants(source: bytes) -> tuple[Constant, ...]:
    """Every named integer constant of it, whatever its name and value, in order."""
    constants: list[Constant] = []
    uses: Counter[str] = Counter()
    definitions: Counter[str] = Counter()
    for node in _nodes(parse_cpp(source).root_node):
        if node.type == "preproc_arg":
            words = IDENTIFIER.findall(preproc_text(_text(node)) or b"")
            uses.update(word.decode() for word in words)
        elif node.type in ("identifier", "type_identifier"):
            if _defines(node):
                definitions[_text(node).decode()] += 1
            elif _is_use(node):
                uses[_text(node).decode()] += 1
        elif (constant := _constant(node)) is not None:
            constants.append(constant)
    return tuple(c for c in constants if uses[c.name] and definitions[c.name] == 1)


def _nodes(root: Node) -> Iterator[Node]:
    """Every node below root in the order of the source, parts that do not parse left out."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.is_error:
            continue
        yield node
        pending += reversed(node.children)


def _text(node: Node) -> bytes:
    return node.text or b""


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
        if value is not None and value.type == "initializer_list" and value.named_child_count == 1:
            value = value.named_children[0]
    else:
        return None
    name = node.child_by_field_name("name" if node.type == "preproc_def" else "declarator")
    if name is None or name.type != "identifier" or value is None:
        return None
    text = _text(value).decode()
    match = INTEGER.match(text)
    if match is None or (preproc_text(text.encode()) or b"").decode() != match[0]:
        return None
    digits, start = match["digits"].replace("'", ""), value.start_byte
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    if octal and set(digits) & {"8", "9"}:
        return None
    number = int(digits, 8 if octal else 0)
    end = start + len(match[0].encode())
    return Constant(_text(name).decode(), number, match["suffix"], start, end)


def _is_const_integer(declaration: Node | None) -> bool:
    if declaration is None or declaration.type != "declaration":
        return False
    qualifiers = {_text(n) for n in declaration.children if n.type == "type_qualifier"}
    kind = declaration.child_by_field_name("type")
    return bool(qualifiers & {b"const", b"constexpr"}) and (
        kind is not None and INTEGRAL.search(_text(kind)) is not None
    )
