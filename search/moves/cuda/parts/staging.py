"""Loops that stage tiles: copy into shared memory, barrier, compute, barrier, and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .....runners.c_source.declarators import declared
from .....runners.c_source.expressions import called, squeezed
from .....runners.c_source.loops import ForLoop, for_loop
from .....runners.c_source.names import changed_in, names_in, uses_of, written_by
from .....runners.c_source.nodes import contains, inside, parents, statements_of, text_of, walk
from .dependence import Flow
from .reading import CudaKernel
from .staged_copies import base_name, calls_something, is_cast_call

if TYPE_CHECKING:
    from tree_sitter import Node

BARRIER = "__syncthreads()"
_LEAVES = ("return_statement", "goto_statement", "labeled_statement")
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop", "switch_statement")


@dataclass(frozen=True)
class SharedArray:
    """`__shared__ T name[rows][columns]`."""

    name: str
    node: Node
    """where its name is declared"""
    type: str
    sizes: tuple[Node | None, ...]


class NotStaged(Exception):
    """Why a loop cannot be taken apart so."""


@dataclass(frozen=True)
class StagedLoop:
    """One such loop, whose copies hang on the loop's counter and on nothing that it computes."""

    loop: ForLoop
    leading: bool
    """the barrier that guards the tiles stands before the copies, not at the body's end"""
    staging: tuple[Node, ...]
    barrier: Node
    """between copies and work"""
    work: tuple[Node, ...]
    steps: tuple[Node, ...]
    """statements of the work that move what the copies read: `A += T;`"""
    tiles: tuple[SharedArray, ...]
    """arrays of shared memory that the copies fill, as they are declared"""
    shared: tuple[Node, ...]
    """declarations of the staging that the work needs as well"""


def shared_arrays(kernel: CudaKernel) -> dict[str, SharedArray]:
    """The arrays of shared memory of one size that a kernel declares."""
    found = dict[str, SharedArray]()
    for node in walk(kernel.body):
        words = [text_of(c) for c in node.children if c.type != "init_declarator"]
        if node.type != "declaration" or "__shared__" not in words or "extern" in words:
            continue
        kind = text_of(node.child_by_field_name("type"))
        for each in node.children_by_field_name("declarator"):
            made = declared(each)
            if made.sizes and not made.pointers and made.node is not None:
                found[made.name] = SharedArray(made.name, made.node, kind, made.sizes)
    return found


def staged_loop(kernel: CudaKernel, node: Node, flow: Flow) -> StagedLoop:
    """The parts of a loop. Raises NotStaged."""
    loop = for_loop(node)
    if loop is None or not loop.kind or not loop.alone or not loop.counts_alone:
        raise NotStaged("no plain counter, declared in its head, counts it")
    if loop.relation == "!=":
        raise NotStaged("its counter ends at one value exactly, and copies go beyond it")
    if loop.body.type != "compound_statement" or (node.parent or node).type != "compound_statement":
        raise NotStaged("it stands without braces")
    if any(n.type.startswith(("preproc_if", "preproc_def")) for n in walk(loop.body)):
        raise NotStaged("lines of the preprocessor decide what stands in it")
    if any(_leaves(n) for n in loop.body.named_children):
        raise NotStaged("it is left by return, break, continue or goto")
    head = names_in(loop.bound) | (names_in(loop.step or loop.bound))
    if head & _changed_names(loop.body):
        raise NotStaged("its body changes how far it counts")
    leading, staging, barrier, work = _apart(loop)
    arrays = shared_arrays(kernel)
    filled = _filled(staging, arrays)
    _only_filled_there(kernel, loop, staging, filled)
    own = {n for s in staging if s.type == "declaration" for n in _names_declared(s)}
    steps = _steps(staging, work, own, frozenset(filled))
    moving = {loop.variable, *(n for s in steps for n in _changed_names(s))}
    _always_the_same_places(staging, filled, moving, flow)
    _memory_stays(kernel, staging, flow)
    shared = _shared_declarations(staging, work, steps, own)
    return StagedLoop(
        loop, leading, staging, barrier, tuple(w for w in work if w not in steps), steps,
        tuple(arrays[name] for name in filled), shared,
    )  # fmt: skip


def _leaves(node: Node) -> bool:
    if node.type in (*_LEAVES, "continue_statement", "break_statement"):
        return True
    if node.type in _LOOPS:
        return any(n.type in _LEAVES for n in walk(node))
    return any(_leaves(child) for child in node.named_children)


def _is_barrier(node: Node) -> bool:
    return node.type == "expression_statement" and squeezed(node).rstrip(";") == BARRIER


def _apart(loop: ForLoop) -> tuple[bool, tuple[Node, ...], Node, tuple[Node, ...]]:
    statements = tuple(s for s in statements_of(loop.body) if not s.type.startswith("preproc_"))
    barriers = [at for at, s in enumerate(statements) if _is_barrier(s)]
    if len(barriers) < 2:
        raise NotStaged("it has no two barriers, before and behind what it computes")
    leading = barriers[0] == 0
    first = barriers[1] if leading else barriers[0]
    if not leading and barriers[-1] != len(statements) - 1:
        raise NotStaged("no barrier ends its body")
    staging = statements[1 if leading else 0 : first]
    end = len(statements) if leading else len(statements) - 1
    work = statements[first + 1 : end]
    if not staging or not work:
        raise NotStaged("nothing is copied, or nothing computed, between its barriers")
    return leading, staging, statements[first], work


def _filled(staging: tuple[Node, ...], arrays: dict[str, SharedArray]) -> list[str]:
    """The shared arrays that the copies write; they write nothing else that outlives them."""
    own = {n for s in staging for d in walk(s) if d.type == "declaration"
           for n in _names_declared(d)}  # fmt: skip
    found = dict[str, None]()
    for node in (n for s in staging for n in inside(s)):
        if calls_something(node):
            raise NotStaged(f"its copies call `{called(node)}`, which may do anything")
        if node.type in ("gnu_asm_expression", "lambda_expression"):
            raise NotStaged("its copies hold inline assembly or a lambda")
        target = written_by(node)
        if target is None:
            continue
        name = base_name(target)
        if name in arrays:
            found[name] = None
        elif name not in own or target.type != "identifier":
            raise NotStaged(f"its copies change `{text_of(target)}`, which is no tile")
    if not found:
        raise NotStaged("before its first barrier nothing goes to an array of shared memory")
    return list(found)


def _only_filled_there(
    kernel: CudaKernel, loop: ForLoop, staging: tuple[Node, ...], filled: list[str]
) -> None:
    for name in filled:
        for use in uses_of(name, kernel.body):
            if (use.parent or use).type.endswith("declarator"):
                continue
            if not contains(loop.body, use):
                raise NotStaged(f"`{name}` is used beside the loop as well")
            if any(contains(s, use) for s in staging):
                continue
        outside = (n for n in inside(loop.body) if not any(contains(s, n) for s in staging))
        if any(base_name(t) == name for n in outside if (t := written_by(n)) is not None):
            raise NotStaged(f"`{name}` is written while it is computed with, too")


def _always_the_same_places(
    staging: tuple[Node, ...], tiles: list[str], moving: set[str], flow: Flow
) -> None:
    """Raises where an iteration may leave something of an earlier one in a tile."""
    for node in (n for s in staging for n in inside(s)):
        target = written_by(node)
        if target is None or base_name(target) not in tiles:
            continue
        if flow.names(target) & moving:
            raise NotStaged(f"`{text_of(target)}` is another place in each iteration")
        for above in parents(node):
            if above.start_byte < staging[0].start_byte:
                break
            if not _decides(above, base_name(target), moving, flow):
                continue
            raise NotStaged(f"`{text_of(target)}` is stored in some iterations alone")


def _decides(above: Node, tile: str, moving: set[str], flow: Flow) -> bool:
    """Whether a condition or loop around a store lets it happen in some iterations alone."""
    names = ("condition", "initializer", "update")
    heads = [h for f in names if (h := above.child_by_field_name(f)) is not None]
    if above.type not in ("if_statement", *_LOOPS):
        return False
    if not any(flow.names(head) & moving for head in heads):
        return False
    branches = [above.child_by_field_name(f) for f in ("consequence", "alternative")]
    return not all(b is not None and tile in map(base_name, _writes(b)) for b in branches)


def _steps(
    staging: tuple[Node, ...], work: tuple[Node, ...], own: set[str], tiles: frozenset[str]
) -> tuple[Node, ...]:
    """Statements of the work that move what the copies read."""
    read = frozenset[str]().union(*map(names_in, staging)) - own - tiles
    found: list[Node] = []
    for name in sorted(read & frozenset[str]().union(*map(_changed_names, work))):
        mine = [w for w in work if name in _changed_names(w)]
        others = [w for w in work if w not in mine]
        if any(name in names_in(w) for w in others) or not all(_is_step(w, name) for w in mine):
            raise NotStaged(f"what it computes may change `{name}`, which the next copies need")
        found += mine
    changed = frozenset[str]().union(*map(_changed_names, work))
    for step in found:
        if (names_in(step) - {next(iter(_changed_names(step)))}) & changed:
            raise NotStaged(f"`{text_of(step)}` moves by what is computed")
    return tuple(w for w in work if w in found)


def _is_step(statement: Node, name: str) -> bool:
    """Whether a statement is `name += something` or `++name` and nothing else."""
    inner = statement.named_children[0] if statement.named_child_count == 1 else None
    if statement.type != "expression_statement" or inner is None:
        return False
    target = written_by(inner)
    return target is not None and text_of(target) == name and len(list(_writes(inner))) == 1


def _writes(node: Node) -> Iterator[Node]:
    return (t for n in inside(node) if (t := written_by(n)) is not None)


def _changed_names(node: Node) -> frozenset[str]:
    """Variables and arrays that are written, lent, or handed to what may change them."""
    found = {n for n in changed_in(node) if n.isidentifier()} | {
        base_name(t) for t in _writes(node)
    }
    for call in (n for n in inside(node) if calls_something(n) and not called(n).startswith("__")):
        found |= names_in(call)
    return frozenset(found)


def _memory_stays(kernel: CudaKernel, staging: tuple[Node, ...], flow: Flow) -> None:
    """Raises where the kernel writes to what its copies read: they come earlier than they did."""
    pointers = kernel.pointers
    read = {n for s in staging for n in flow.names(s) if n in pointers}
    if read - pointers.keys() or not read:
        raise NotStaged("its copies read no array of the contract")
    written = set[str]()
    for node in inside(kernel.body):
        target = written_by(node)
        if target is not None and target.type != "identifier":
            name = base_name(target)
            base = next(iter(uses_of(name, target)), target) if name else target
            written |= {n for n in flow.names(base) if n in pointers}
        elif node.type == "call_expression" and not is_cast_call(node):
            names = flow.names(node) & pointers.keys()
            loads = called(node).startswith("__ld")
            written |= set() if loads else {n for n in names if "atomic" in called(node)}
            if calls_something(node):
                written |= {n for n in names if n in names_in(node)}
    both = {pointers[n].memory for n in read} & {pointers[n].memory for n in written}
    if both:
        raise NotStaged(f"the kernel writes to `{min(both)}`, which its copies read")


def _names_declared(node: Node) -> set[str]:
    return {declared(d).name for d in node.children_by_field_name("declarator")}


def _shared_declarations(
    staging: tuple[Node, ...], work: tuple[Node, ...], steps: tuple[Node, ...], own: set[str]
) -> tuple[Node, ...]:
    """Declarations that the work needs as well: they are made twice, so they must be plain."""
    wanted = own & frozenset[str]().union(*map(names_in, (*work,)))
    if not wanted:
        return ()
    found: list[Node] = []
    moving = frozenset[str]().union(*map(_changed_names, (*staging, *steps)))
    pending = set(wanted)
    for statement in reversed(staging):
        names = _names_declared(statement) if statement.type == "declaration" else set[str]()
        if not names & pending:
            continue
        reads = ("subscript_expression", "call_expression", "pointer_expression")
        if (
            names & moving
            or names_in(statement) & moving
            or any(n.type in reads for n in inside(statement))
        ):
            raise NotStaged(f"what it computes needs `{min(names)}`, which its copies load")
        found.append(statement)
        pending |= names_in(statement) & own
    return tuple(reversed(found))
