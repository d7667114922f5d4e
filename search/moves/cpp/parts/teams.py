"""Where a source has teams of threads already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....runners.c_source.nodes import inside, parents, text_of
from .program import Program

if TYPE_CHECKING:
    from tree_sitter import Node

TEAM = "omp parallel"
BY_HAND = (b"std::thread", b"pthread_create", b"std::async", b"std::execution")


def in_a_team(node: Node, program: Program) -> bool:
    """Whether a statement runs in a team of threads, or starts one: another one around it, or in
    it, would have each thread of the first start a team of its own."""
    if any(word in program.source for word in BY_HAND):
        return True
    return any(_has_team(each) for each in (node, *parents(node))) or any(
        TEAM in text_of(each) for each in inside(node) if each.type == "preproc_call"
    )


def _has_team(statement: Node) -> bool:
    """Whether a pragma right before a statement starts one for it."""
    before = statement.prev_named_sibling
    while before is not None and before.type == "preproc_call":
        if TEAM in text_of(before):
            return True
        before = before.prev_named_sibling
    return False
