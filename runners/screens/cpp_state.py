"""Variables of C++ and CUDA C++ that outlive a call: what one call leaves, the next one finds.

Constants do not count, nor do functions that are called `static`, nor shared memory. On the host
every variable outside functions outlives a call, in device code those with `__device__`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..c_source.declarators import declared
from ..c_source.nodes import parents, qualifiers_of, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

CONSTANT = frozenset({"const", "constexpr", "constinit", "__constant__"})
LASTING = frozenset({"static", "thread_local"})
ON_DEVICE = frozenset({"__device__", "__managed__"})
OF_A_LAUNCH = frozenset({"__shared__"})
_DECLARATIONS = frozenset({"declaration", "field_declaration"})
_WORDS = frozenset({"storage_class_specifier", "type_qualifier"})
_BODIES = frozenset({"compound_statement", "for_statement", "if_statement"})
_POINTERS = frozenset({"pointer_declarator"})


@dataclass(frozen=True, slots=True)
class Kept:
    """A variable that is kept, and its line (from 1)."""

    name: str
    line: int


def kept_variables(root: Node, *, device: bool) -> Iterator[Kept]:
    """All of them, in the order of the source. `device`: of code for a GPU."""
    for node in walk(root):
        if node.type in _DECLARATIONS:
            yield from _kept(node, device)


def _kept(node: Node, device: bool) -> Iterator[Kept]:
    words = {text_of(child) for child in node.children if child.type in _WORDS}
    words |= {child.type for child in node.children if child.type.startswith("__")}
    if not _lasts(node, words, device):
        return
    for declarator in node.children_by_field_name("declarator"):
        name = _name(declarator)
        if name and not _is_constant(declarator, words):
            yield Kept(name, declarator.start_point.row + 1)


def _lasts(node: Node, words: set[str], device: bool) -> bool:
    if words & OF_A_LAUNCH or "__constant__" in words:
        return False
    if "extern" in words and not any(c.type == "init_declarator" for c in node.children):
        return False
    if words & LASTING and (not device or _in_a_body(node)):
        return True
    if device:
        return bool(words & ON_DEVICE)
    return node.type == "declaration" and not _in_a_body(node)


def _in_a_body(node: Node) -> bool:
    return any(above.type in _BODIES for above in parents(node))


def _is_constant(declarator: Node, words: set[str]) -> bool:
    """Whether neither the variable nor what it points to changes; `const float* p` may change."""
    if "constexpr" in words:
        return True
    if not words & CONSTANT or "volatile" in words:
        return False
    inner: Node | None = declarator
    while inner is not None and inner.type not in _POINTERS:
        inner = inner.child_by_field_name("declarator")
    return inner is None or "const" in qualifiers_of(inner)


def _name(declarator: Node) -> str:
    """The name of a variable; empty for a function."""
    made = declared(declarator)
    return "" if made.is_function else made.name
