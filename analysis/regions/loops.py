"""Dominators and natural loops.

Dominators as in Cooper, Harvey and Kennedy: A Simple, Fast Dominance Algorithm (2001); natural
loops as in Aho, Lam, Sethi and Ullman: Compilers, 2nd edition, section 9.6.6.
"""

from __future__ import annotations

from typing import NamedTuple

from .flow import Block, predecessors, reverse_postorder


class Loop(NamedTuple):
    """One loop of a function."""

    name: str
    """L1, L2 ... in the order of the text"""
    header: int
    """the block through which it is entered"""
    blocks: frozenset[int]
    latches: tuple[int, ...]
    """the blocks that go back to the header"""
    parent: int | None
    """the index of the loop around it"""
    depth: int
    """1: no loop around it"""
    irreducible: bool
    """whether it can be entered past its header: then what is said of iterations is uncertain"""


def dominators(blocks: tuple[Block, ...]) -> list[int | None]:
    """The immediate dominator of each block; of the first its own index, None: never reached."""
    order = reverse_postorder(blocks)
    rank = {block: position for position, block in enumerate(order)}
    before = predecessors(blocks)
    found: list[int | None] = [None] * len(blocks)
    if not blocks:
        return found
    found[0] = 0
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            new: int | None = None
            for each in before[block]:
                if found[each] is not None:
                    new = each if new is None else _meet(each, new, found, rank)
            if new != found[block]:
                found[block], changed = new, True
    return found


def _meet(a: int, b: int, dominator: list[int | None], rank: dict[int, int]) -> int:
    """The nearest block that dominates both."""
    while a != b:
        while rank[a] > rank[b]:
            a = dominator[a] or 0
        while rank[b] > rank[a]:
            b = dominator[b] or 0
    return a


def dominates(a: int, b: int, dominator: list[int | None]) -> bool:
    """Whether every path to b leads through a."""
    at: int | None = b
    while at is not None:
        if at == a:
            return True
        above = dominator[at]
        at = None if above == at else above
    return False


def loops_of(blocks: tuple[Block, ...], dominator: list[int | None]) -> tuple[Loop, ...]:
    """The loops in the order of their headers, outer ones first."""
    reached = {*reverse_postorder(blocks)}
    before = [[b for b in found if b in reached] for found in predecessors(blocks)]
    latches, irreducible = dict[int, list[int]](), set[int]()
    for latch, header in _retreating(blocks):
        latches.setdefault(header, []).append(latch)
        if not dominates(header, latch, dominator):
            irreducible.add(header)
    bodies = {header: _body(header, found, before) for header, found in latches.items()}
    headers = sorted(bodies, key=lambda header: (header, -len(bodies[header])))
    inside: dict[int, list[int]] = {header: [] for header in headers}
    for index, header in enumerate(headers):
        for block in bodies[header] & inside.keys():
            inside[block].append(index)
    loops = list[Loop]()
    for index, header in enumerate(headers):
        around = [i for i in inside[header] if i < index and bodies[headers[i]] > bodies[header]]
        parent = min(around, key=lambda i: len(bodies[headers[i]]), default=None)
        loops.append(
            Loop(
                name=f"L{index + 1}",
                header=header,
                blocks=frozenset(bodies[header]),
                latches=tuple(sorted(latches[header])),
                parent=parent,
                depth=1 if parent is None else loops[parent].depth + 1,
                irreducible=header in irreducible,
            )
        )
    return tuple(loops)


def _retreating(blocks: tuple[Block, ...]) -> list[tuple[int, int]]:
    """Edges to a block that is not yet done when a depth-first search crosses them."""
    found, active, seen = list[tuple[int, int]](), {0}, {0}
    stack = [(0, iter(blocks[0].successors))] if blocks else []
    while stack:
        index, successors = stack[-1]
        for successor in successors:
            if successor in active:
                found.append((index, successor))
            elif successor not in seen:
                seen.add(successor)
                active.add(successor)
                stack.append((successor, iter(blocks[successor].successors)))
                break
        else:
            active.discard(index)
            stack.pop()
    return found


def _body(header: int, latches: list[int], before: list[list[int]]) -> set[int]:
    """The blocks that reach a latch without going through the header."""
    body, pending = {header}, list(latches)
    while pending:
        block = pending.pop()
        if block not in body:
            body.add(block)
            pending += before[block]
    return body


def innermost(loops: tuple[Loop, ...], count: int) -> list[int | None]:
    """Of each of `count` blocks, the index of the deepest loop around it."""
    found: list[int | None] = [None] * count
    for index in sorted(range(len(loops)), key=lambda i: loops[i].depth):
        for block in loops[index].blocks:
            found[block] = index
    return found
