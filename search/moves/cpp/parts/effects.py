"""What a piece of code reads and writes, as far as it can be told from its text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .....runners.c_source.declarators import declared, declared_name
from .....runners.c_source.functions import CppParameter
from .....runners.c_source.nodes import contains, inside, parents, text_of
from .....runners.c_source.nodes import field as part
from .program import Function, Loop, Program, loop_of
from .scope import Place, Scope

if TYPE_CHECKING:
    from tree_sitter import Node

# fmt: off
PURE = frozenset({
    "abs", "acos", "asin", "atan", "atan2", "ceil", "copysign", "cos", "cosh", "erf", "erfc", "exp",
    "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "hypot", "isfinite",
    "isinf", "isnan", "log", "log10", "log1p", "log2", "lround", "max", "min", "nearbyint", "pow",
    "rint", "round", "sin", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc", "cbrt", "clamp",
    "int", "float", "double", "unsigned", "size_t", "long", "numeric_limits", "infinity", "lowest",
})
# fmt: on
"""functions of the standard library that only compute; those of C have an f or an l behind"""
CASTS = re.compile(r"(static_cast|numeric_limits|std::max|std::min)\b")
JUMPS = frozenset({"break_statement", "continue_statement", "return_statement", "goto_statement"})
OPAQUE = frozenset(
    {
        "lambda_expression",
        "co_await_expression",
        "delete_expression",
        "gnu_asm_expression",
        "new_expression",
        "throw_statement",
        "try_statement",
        "while_statement",
        "do_statement",
        "preproc_if",
        "preproc_ifdef",
        "preproc_def",
    }
)


@dataclass(frozen=True, eq=False)
class Access:
    """One use of an array's element."""

    place: Place
    node: Node
    reads: bool
    writes: bool


@dataclass(eq=False)
class Effects:
    """Of a piece of code, on what is declared outside it; `private` is what it declares itself."""

    accesses: list[Access] = field(default_factory=list[Access])
    scalars: dict[str, list[Node]] = field(default_factory=lambda: {})
    """outer scalars that it writes, with the statements' expressions"""
    jumps: list[Node] = field(default_factory=lambda: [])
    """that leave it, or a loop in it"""
    private: set[str] = field(default_factory=set[str])
    trouble: list[str] = field(default_factory=list[str])
    """what is done there that nobody can tell the effects of, in words"""

    @property
    def written(self) -> frozenset[str]:
        """Arrays that it writes."""
        return frozenset(a.place.array for a in self.accesses if a.writes)

    def of(self, array: str) -> list[Access]:
        """The accesses of one array."""
        return [a for a in self.accesses if a.place.array == array]


def effects_of(code: Node, scope: Scope, program: Program) -> Effects:
    """What a piece of code does; what cannot be told is in its `trouble`."""
    found = Effects()
    targets = dict[int, str]()  # by the node's id: written, or read and written
    for node in inside(code):
        match node.type:
            case "declaration":
                found.private |= {
                    declared_name(d) for d in node.children_by_field_name("declarator")
                }
            case "assignment_expression":
                sign = text_of(part(node, "operator"))
                how = "write" if sign == "=" else "both"
                _target(part(node, "left"), how, targets, found)
            case "update_expression":
                _target(part(node, "argument"), "both", targets, found)
            case "call_expression":
                _call(node, program, found)
            case "subscript_expression" | "pointer_expression":
                _access(node, scope, targets, found)
            case "reference_declarator":
                found.trouble.append(f"`{text_of(node)}` is another name for something")
            case kind if kind in JUMPS:
                found.jumps.append(node)
            case kind if kind in OPAQUE:
                what = kind.removesuffix("_expression").removesuffix("_statement")
                found.trouble.append(f"{what} in line {node.start_point[0] + 1}")
            case _:
                pass

    def own(name: str, at: Node) -> bool:
        declared = scope.declarator(name, at)
        return declared is not None and contains(code, declared)

    scalars = {n: [w for w in ws if not own(n, w)] for n, ws in found.scalars.items()}
    found.scalars = {name: writes for name, writes in scalars.items() if writes}
    found.accesses = [a for a in found.accesses if not own(a.place.array, a.node)]
    return found


def _target(node: Node, how: str, targets: dict[int, str], found: Effects) -> None:
    while node.type == "parenthesized_expression":
        node = node.named_children[0]
    if node.type == "identifier":
        statement = node.parent
        assert statement is not None
        if not _is_step(statement):
            found.scalars.setdefault(text_of(node), []).append(statement)
    elif node.type in ("subscript_expression", "pointer_expression"):
        targets[node.id] = how
    else:
        found.trouble.append(f"`{text_of(node)}` is written")


def _is_step(statement: Node) -> bool:
    """Whether it is how a loop's head counts."""
    above = statement.parent
    return (
        above is not None
        and above.type == "for_statement"
        and above.child_by_field_name("update") == statement
        and loop_of(above) is not None
    )


def _access(node: Node, scope: Scope, targets: dict[int, str], found: Effects) -> None:
    above = node.parent
    if (
        above is not None
        and above.type == "subscript_expression"
        and above.named_children[0] == node
    ):
        return  # the whole of a[i][j] counts
    if node.type == "pointer_expression" and text_of(node.children[0]) == "&":
        if above is None or above.type != "init_declarator":
            found.trouble.append(f"`{text_of(node)}` gives an address away")
        return
    if above is not None and above.type == "pointer_expression" and text_of(above)[0] == "&":
        return  # no value is read
    place, how = scope.place(node), targets.get(node.id, "read")
    if place is None:
        found.trouble.append(f"`{text_of(node)}` is no element of a known array")
        return
    found.accesses.append(Access(place, node, how != "write", how != "read"))


def _call(node: Node, program: Program, found: Effects) -> None:
    called = text_of(part(node, "function"))
    name = called.split("::")[-1].split("<")[0].strip()
    if CASTS.match(called) or name in PURE or name.rstrip("fl") in PURE or _builtin(name):
        return
    own = next((f for f in program.functions if f.name == name), None)
    if own is None or not _only_computes(own, program, (name,)):
        found.trouble.append(f"`{called}` is called, whose effects are not known")


def _builtin(name: str) -> bool:
    return name.startswith("__builtin_") and name.removeprefix("__builtin_").rstrip("fl") in PURE


def _only_computes(function: Function, program: Program, callers: tuple[str, ...]) -> bool:
    """Whether a function takes numbers, gives a number and does nothing else."""
    if any(text_of(c) == "static" and c.parent and c.parent.type == "declaration"
           for c in inside(function.body)):  # fmt: skip
        return False
    if any(not _is_number(p) for p in function.parameters):
        return False
    local = {text_of(n) for n in inside(function.node) if n.type == "identifier"} & {
        declared_name(d)
        for n in inside(function.node)
        if n.type in ("declaration", "parameter_declaration")
        for d in n.children_by_field_name("declarator")
    }
    for node in inside(function.body):
        if node.type in ("assignment_expression", "update_expression"):
            target = node.named_children[0]
            if target.type != "identifier" or text_of(target) not in local:
                return False
        elif node.type == "call_expression":
            called = text_of(part(node, "function")).split("::")[-1].split("<")[0]
            known = called in PURE or called.rstrip("fl") in PURE or CASTS.match(called)
            if not known and called not in ("memcpy", "bit_cast") and called not in callers:
                other = next((f for f in program.functions if f.name == called), None)
                if other is None or not _only_computes(other, program, (*callers, called)):
                    return False
        elif node.type in OPAQUE:
            return False
    return True


def _is_number(parameter: CppParameter) -> bool:
    made = declared(parameter.node.child_by_field_name("declarator"))
    return made.is_plain and made.name != ""


def loops_around(node: Node, outermost: Node) -> tuple[Loop, ...]:
    """The counted loops inside `outermost` that the node stands in, the innermost first."""
    found = list[Loop]()
    for above in parents(node):
        if above == outermost:
            break
        loop = loop_of(above)
        if loop is not None:
            found.append(loop)
    return tuple(found)
