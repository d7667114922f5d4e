"""Pieces of C++ text that moves put together: renamed, indented, with names that are free."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .....runners.c_source.comments import comments_of
from .....runners.c_source.nodes import inside, text_of
from .....runners.model import Candidate
from ...shared.edits import Edit, edited, indent_of, replace_node
from .program import Loop, Program, loop_of

if TYPE_CHECKING:
    from tree_sitter import Node

STEP = "    "
INCLUDE = re.compile(r'(?m)^[ \t]*#[ \t]*include[ \t]*([<"][^>"]*[>"])')


def free_name(program: Program, wanted: str) -> str:
    """The name, with a number behind it where the source has it already."""
    taken = set(re.findall(rb"[A-Za-z_]\w*", program.source))
    name, number = wanted, 1
    while name.encode() in taken:
        number += 1
        name = f"{wanted}{number}"
    return name


def renamed(program: Program, node: Node, names: Mapping[str, str]) -> str:
    """The node's text with other texts in place of names; members and calls keep theirs."""
    edits = [
        replace_node(n, names[text_of(n)])
        for n in inside(node)
        if n.type == "identifier" and text_of(n) in names
    ]
    return edited(program.source, edits, node.start_byte, node.end_byte)


def outdented(program: Program, node: Node, code: str) -> str:
    """The code of a node without the blanks that its line begins with."""
    blanks = indent_of(program.source, node.start_byte)
    return code.replace("\n" + blanks, "\n")


def written(program: Program, node: Node, names: Mapping[str, str] | None = None) -> list[str]:
    """The lines of a node, from column 0, with other texts in place of names."""
    code = renamed(program, node, names or {})
    return outdented(program, node, code).split("\n")


def deeper(lines: Iterable[str], levels: int = 1) -> list[str]:
    """The lines one or more steps to the right; preprocessor lines stay."""
    blanks = STEP * levels
    return [line if not line.strip() or line.startswith("#") else blanks + line for line in lines]


def block(head: str, body: Iterable[str]) -> list[str]:
    """`head { body }`."""
    return [f"{head} {{".lstrip(), *deeper(body), "}"]


def counted(kind: str, variable: str, lower: str, upper: str, step: str = "") -> str:
    """`for (int i = lower; i < upper; i += step)`."""
    up = f"{variable} += {step}" if step else f"++{variable}"
    return f"for ({kind} {variable} = {lower}; {variable} < {upper}; {up})"


def placed(program: Program, node: Node, lines: Iterable[str]) -> str:
    """Lines as the text that takes a node's place: all but the first get its blanks."""
    blanks = indent_of(program.source, node.start_byte)
    first, *rest = lines
    return "\n".join([first, *(r if r.startswith("#") or not r else blanks + r for r in rest)])


def instead(program: Program, node: Node, lines: list[str]) -> Edit:
    """An edit that puts several statements in a node's place, in braces where one is wanted."""
    above = node.parent
    if above is not None and above.type in ("compound_statement", "translation_unit"):
        return Edit(node.start_byte, node.end_byte, placed(program, node, lines))
    return Edit(node.start_byte, node.end_byte, placed(program, node, block("", lines)).lstrip())


def instead_of_loop(program: Program, loop: Loop, lines: list[str]) -> Edit:
    """As `instead`, in place of a loop and of the pragmas that speak of it."""
    if not loop.pragmas:
        return instead(program, loop.node, lines)
    return Edit(loop.pragmas[0].start_byte, loop.node.end_byte, placed(program, loop.node, lines))


def with_includes(program: Program, *wanted: str) -> list[Edit]:
    """Edits that include headers (`<algorithm>`) that the source does not include yet."""
    code = program.source.decode()
    present = {match[1]: match for match in INCLUDE.finditer(code)}
    missing = sorted(set(wanted) - set(present))
    if not missing:
        return []
    lines = "".join(f"#include {name}\n" for name in missing)
    if present:
        last = max(match.end() for match in present.values())
        at = len(code[:last].encode())
        return [Edit(at, at, "\n" + lines.rstrip("\n"))]
    at = program.root.children[0].start_byte
    return [Edit(at, at, f"{lines}\n")]


def before_functions(program: Program, code: str) -> Edit:
    """An edit that puts code before the first function of the source and what is said of it."""
    first = min((f.node for f in program.functions), key=lambda n: n.start_byte)
    while first.parent is not None and first.parent.type != "translation_unit":
        first = first.parent
    at = first.start_byte
    for start, end in reversed(comments_of(program.source)):
        between = program.source[end:at]
        if end <= at and not between.strip() and between.count(b"\n") <= 1:
            at = start
    return Edit(at, at, f"{code}\n")


def rewritten(
    program: Program, method: str, detail: str, edits: Iterable[Edit], prior: float
) -> Candidate:
    """A candidate of the source with the edits made."""
    return Candidate(
        method=method, detail=detail, source=edited(program.source, edits), prior=prior
    )


def nest_from(loop: Loop) -> tuple[Loop, ...]:
    """The loop and those that are each the whole body of the one around it."""
    found = [loop]
    while len(found[-1].statements) == 1:
        inner = loop_of(found[-1].statements[0])
        if inner is None:
            break
        found.append(inner)
    return tuple(found)
