"""`__restrict__` on pointer parameters, and `const` on those that are only read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....runners.c_source.nodes import text_of, walk
from ....runners.inferring.cpp_accesses import usages
from ....runners.inferring.cpp_indices import Indices
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit, edited, insert_before
from .parts.reading import CudaKernel, declaration_of, read_kernels

if TYPE_CHECKING:
    from tree_sitter import Node

RESTRICT = ("__restrict__", "__restrict", "restrict")


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    edits: dict[int, Edit] = {}
    changed = dict[str, None]()
    for kernel in kernels:
        if _overlapping(kernel, kernels):
            continue
        for edit in _edits(kernel):
            edits[edit.start] = edit
            changed[kernel.function.name] = None
    if not edits:
        return NotApplicable(
            "every pointer parameter that can have `__restrict__`, and `const` where it is only "
            "read, has it"
        )
    return (
        Candidate(
            method=MOVE.method,
            detail=f"const and __restrict__ in {', '.join(changed)}",
            source=edited(kernels[0].text, edits.values()),
            prior=0.25,
        ),
    )


def _overlapping(kernel: CudaKernel, kernels: tuple[CudaKernel, ...]) -> bool:
    """Whether some launch of the kernel hands it one array twice, or one that is not known."""
    same = [k for k in kernels if k.function.name == kernel.function.name]
    pointers = sum(p.pointers > 0 for p in kernel.function.parameters)
    return any(len({p.memory for p in k.pointers.values()}) < pointers for k in same)


def _edits(kernel: CudaKernel) -> list[Edit]:
    used = usages(kernel.function, Indices(kernel.function, cuda=True))
    found: list[Edit] = []
    for name in kernel.pointers:
        declared = declaration_of(kernel, name)
        declarator = declared.child_by_field_name("declarator") if declared else None
        kind = declared.child_by_field_name("type") if declared else None
        if declared is None or declarator is None or kind is None:
            continue
        if declarator.type != "pointer_declarator":
            continue
        if not any(text_of(n) in RESTRICT for n in walk(declarator)):
            named = declarator.child_by_field_name("declarator")
            if named is None or named.type != "identifier":
                continue
            found.append(insert_before(named, "__restrict__ "))
        modes = {access.mode for access in used[name].accesses}
        const = any(text_of(c) == "const" for c in declared.children)
        if modes == {"read"} and not used[name].escapes and not const:
            if _only_subscripts(kernel.body, name):
                found.append(insert_before(kind, "const "))
    return found


def _only_subscripts(body: Node, name: str) -> bool:
    """Whether the pointer is used as `p[i]` alone: all else might want one without const."""
    uses = [n for n in walk(body) if n.type == "identifier" and text_of(n) == name]
    return all(
        n.parent is not None
        and n.parent.type == "subscript_expression"
        and n.parent.child_by_field_name("argument") == n
        and not (n.parent.parent is not None and n.parent.parent.type == "pointer_expression")
        for n in uses
    )


MOVE = Move(
    id="restrict_pointers",
    method="cache_policy_cg",
    languages=("cuda",),
    why="Arguments of one call never overlap: `__restrict__` tells the compiler, with `const` "
    "for what is only read. Loads then go the read-only way and may move above stores. Pays where "
    "a loop stores and loads, or several elements a thread wait for each other.",
    write=_write,
)
