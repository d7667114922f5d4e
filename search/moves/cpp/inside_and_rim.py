"""A loop whose body looks for the borders, divided into rim, inside and rim.

Inside, comparisons of the variable with the borders have one value and are left out. The order of
the iterations stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....runners.model import Candidate
from ..affine import Form
from ..base import Move, NotApplicable, Proposals, State
from ..cuda.edits import Edit, edited
from .effects import loops_around
from .program import Loop, Program, field, inside, loop_of, read_program, text
from .rewrite import counted, instead, outdented, rewritten, with_includes, written
from .scope import Scope, bounds

if TYPE_CHECKING:
    from tree_sitter import Node

PRIOR, OUTER_PRIOR = 0.35, 0.1
"""of an innermost loop (short ones in it do not count); of others, whose borders compilers often
move out themselves"""
WIDEST = 8
"""iterations at a border that still are a rim"""
PLAIN = frozenset({"identifier", "number_literal", "call_expression", "subscript_expression"})
OPEN = frozenset(
    {
        "init_declarator",
        "argument_list",
        "subscript_argument_list",
        "condition_clause",
        "parenthesized_expression",
    }
)
"""where an expression needs no parentheses"""


@dataclass(frozen=True)
class Rim:
    """How many iterations at each end are not inside."""

    first: int
    last: int


def _write(state: State) -> Proposals:
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    scope = Scope(program, program.entry, state.spec)
    found = list[Candidate]()
    for loop in reversed(program.entry.loops):
        candidate = _divided(program, loop, scope)
        if candidate is not None:
            found.append(candidate)
    if found:
        return tuple(found)
    return NotApplicable(
        "no loop's body compares its variable with values near the loop's own bounds"
    )


def _divided(program: Program, loop: Loop, scope: Scope) -> Candidate | None:
    limits = (scope.form(loop.lower), scope.form(loop.bound))
    if limits[0] is None or limits[1] is None or loop.step != 1 or loop.pragmas:
        return None
    if any(n.type in ("break_statement", "goto_statement") for n in inside(loop.body)):
        return None
    end = limits[1] + Form.number(1) if loop.inclusive else limits[1]
    comparisons = _Comparisons(loop, limits[0], end, scope)
    rim = comparisons.rim()
    if rim == Rim(0, 0):
        return None
    if loop.unsigned and not (end - Form.number(rim.last)).at_least(0, scope.lowest):
        return None
    lines = _lines(program, loop, rim, comparisons)
    edits = [*with_includes(program, "<algorithm>"), instead(program, loop.node, lines)]
    inside_of = f"{loop.variable} from {_plus(text(loop.lower), rim.first)} to {_end(loop, rim)}"
    inner = [each for n in inside(loop.body) if (each := loop_of(n)) is not None]
    innermost = all(each.bound.type == "number_literal" for each in inner)
    prior = PRIOR if innermost else OUTER_PRIOR
    return rewritten(program, MOVE.method, f"no border checks for {inside_of}", edits, prior)


def _plus(value: str, more: int) -> str:
    if value.isdigit():
        return str(int(value) + more)
    return f"{value} + {more}" if more else value


def _end(loop: Loop, rim: Rim) -> str:
    bound = text(loop.bound)
    if loop.inclusive:
        return (
            f"{bound} - {rim.last - 1}" if rim.last > 1 else loop.upper if not rim.last else bound
        )
    return f"{bound} - {rim.last}" if rim.last else bound


def _lines(program: Program, loop: Loop, rim: Rim, comparisons: _Comparisons) -> list[str]:
    v, kind = loop.variable, loop.kind
    first, end = _plus(text(loop.lower), rim.first), _end(loop, rim)
    as_it_is = written(program, loop.body)
    folded = _Folding(comparisons, rim).render(loop.body)
    plain = outdented(program, loop.body, folded).split("\n")
    lines = list[str]()
    if rim.first:
        until = f"std::min<{kind}>({first}, {loop.upper})"
        lines += _loop(counted(kind, v, text(loop.lower), until), as_it_is)
    lines += _loop(counted(kind, v, first, end), plain)
    if rim.last:
        last = f"std::max<{kind}>({first}, {end})"
        lines += _loop(counted(kind, v, last, loop.upper), as_it_is)
    return lines


def _loop(head: str, body: list[str]) -> list[str]:
    if body[0].startswith("{"):
        return [f"{head} {body[0]}", *body[1:]]
    return [f"{head} {{", *("    " + line for line in body), "}"]


class _Comparisons:
    """What is compared in a loop's body: `at least 0` of a form v + rest, or of rest - v."""

    def __init__(self, loop: Loop, lower: Form, end: Form, scope: Scope) -> None:
        self._loop, self._lower, self._end, self._scope = loop, lower, end, scope

    def rim(self) -> Rim:
        """The smallest rim outside of which every comparison that can be decided is."""
        first = last = 0
        for node in inside(self._loop.body):
            for point in self._points(node):
                at_start = (point - self._lower).constant
                at_end = (self._end - point).constant
                if at_start is not None and 0 < at_start <= WIDEST:
                    first = max(first, at_start)
                elif at_end is not None and 0 < at_end <= WIDEST:
                    last = max(last, at_end)
        return Rim(first, last)

    def value(self, node: Node, rim: Rim) -> bool | None:
        """Of a comparison, for all iterations inside; None where it is not decided."""
        signs = self._signs(node)
        if signs is None:
            return None
        form, sign = signs
        match sign:
            case ">=":
                return self._at_least(form, rim)
            case "<":
                decided = self._at_least(form, rim)
                return None if decided is None else not decided
            case _:  # == and !=
                above = self._at_least(form - Form.number(1), rim)
                below = self._at_least(-form - Form.number(1), rim)
                unequal = True if above or below else None
                return None if unequal is None else sign == "!="

    def chosen(self, call: Node, rim: Rim) -> Node | None:
        """Which argument a min or a max of two gives, for all iterations inside."""
        function, given = text(field(call, "function")), field(call, "arguments").named_children
        name = function.removeprefix("std::").partition("<")[0]
        if name not in ("min", "max") or len(given) != 2:
            return None
        forms = [self._scope.form(g) for g in given]
        if forms[0] is None or forms[1] is None:
            return None
        first_is_more = self._at_least(forms[0] - forms[1], rim)
        if first_is_more is None:
            second_is_more = self._at_least(forms[1] - forms[0], rim)
            if second_is_more is None:
                return None
            first_is_more = not second_is_more
        return given[0] if first_is_more == (name == "max") else given[1]

    def _points(self, node: Node) -> list[Form]:
        """Values of the variable from which on a comparison has another outcome."""
        if node.type == "call_expression":
            function, given = text(field(node, "function")), field(node, "arguments").named_children
            if (
                function.removeprefix("std::").partition("<")[0] in ("min", "max")
                and len(given) == 2
            ):
                a, b = self._scope.form(given[0]), self._scope.form(given[1])
                return [] if a is None or b is None else self._meets(a - b)
            return []
        signs = self._signs(node)
        if signs is None:
            return []
        form, sign = signs
        if sign in (">=", "<"):
            return self._turns(form)
        return [*self._turns(form), *self._turns(form - Form.number(1))]

    def _meets(self, form: Form) -> list[Form]:
        """Where two values that differ by the form are equal: either may be taken there."""
        read = self._read(form)
        if read is not None and read[0] == -1:
            form = -form
        later = self._turns(form - Form.number(1))
        at_end = any(self._near_end(point) for point in later)
        return later if at_end else self._turns(form)

    def _turns(self, form: Form) -> list[Form]:
        """Where `form >= 0` turns to what it is inside: the largest, or the least, v."""
        read = self._read(form)
        if read is None:
            return []
        factor, low, high = read
        if factor == 1:  # v + rest >= 0: surely from -low on, surely not below -high
            return [-low] if self._near_start(-low) else [-high]
        return [low + Form.number(1)] if self._near_end(low) else [high + Form.number(1)]

    def _near_start(self, point: Form) -> bool:
        distance = (point - self._lower).constant
        return distance is not None and distance <= WIDEST

    def _near_end(self, point: Form) -> bool:
        distance = (self._end - point).constant
        return distance is not None and distance <= WIDEST

    def _read(self, form: Form) -> tuple[int, Form, Form] | None:
        """(1 or -1, lowest, highest value of the rest) of a form that is v or -v plus a rest."""
        factor = form.coefficient(self._loop.variable)
        if factor is None or factor.constant not in (1, -1):
            return None
        low = high = form.without(self._loop.variable)
        for inner in self._inner():
            by = form.coefficient(inner.variable)
            if by is None:
                return None
            if not by.terms:
                continue
            limits = bounds(inner, self._scope)
            if limits is None or by.constant not in (1, -1):
                return None
            rest_low, rest_high = low.without(inner.variable), high.without(inner.variable)
            first, final = limits[0], limits[1] - Form.number(1)
            if by.constant == 1:
                low, high = rest_low + first, rest_high + final
            else:
                low, high = rest_low - final, rest_high - first
        return factor.constant, low, high

    def _inner(self) -> list[Loop]:
        found: dict[str, Loop] = {}
        for node in inside(self._loop.body):
            if node.type == "for_statement":
                for each in loops_around(node.named_children[0], self._loop.node):
                    found[each.variable] = each
        return list(found.values())

    def _at_least(self, form: Form, rim: Rim) -> bool | None:
        """Whether a form is at least 0 in every iteration inside; None: not in all alike."""
        read = self._read(form)
        if read is None:
            return None
        factor, low, high = read
        least = self._lower + Form.number(rim.first)
        most = self._end - Form.number(rim.last + 1)
        if factor == -1:
            least, most = -most, -least
        if _known(least + low, self._scope) is True:
            return True
        if _known(-(most + high) - Form.number(1), self._scope) is True:
            return False
        return None

    def _signs(self, node: Node) -> tuple[Form, str] | None:
        """A comparison as a form and how it compares with 0."""
        if node.type != "binary_expression":
            return None
        sign = text(node.children[1])
        left, right = self._scope.form(field(node, "left")), self._scope.form(field(node, "right"))
        if sign not in ("<", "<=", ">", ">=", "==", "!=") or left is None or right is None:
            return None
        match sign:
            case "<":
                return left - right, "<"
            case ">=":
                return left - right, ">="
            case ">":
                return right - left, "<"
            case "<=":
                return right - left, ">="
            case _:
                return left - right, sign


def _known(form: Form, scope: Scope) -> bool | None:
    return form.at_least(0, scope.lowest) or None


class _Folding:
    """The text of a body with what is decided inside left out."""

    def __init__(self, comparisons: _Comparisons, rim: Rim) -> None:
        self._comparisons, self._rim = comparisons, rim

    def render(self, node: Node) -> str:
        """The text of a node, from its start to its end."""
        whole = self._whole(node)
        if whole is not None:
            return whole
        edits = [
            Edit(child.start_byte - node.start_byte, child.end_byte - node.start_byte, new)
            for child in node.named_children
            if (new := self.render(child)) != text(child)
        ]
        return edited(node.text or b"", edits)

    def value(self, node: Node) -> bool | None:
        """Of a condition inside; None: it is not decided."""
        if node.type in ("parenthesized_expression", "condition_clause"):
            given = node.child_by_field_name("value") or node.named_children[0]
            return self.value(given)
        if node.type == "unary_expression" and text(node.children[0]) == "!":
            inner = self.value(field(node, "argument"))
            return None if inner is None else not inner
        if node.type != "binary_expression":
            return None
        sign = text(node.children[1])
        if sign not in ("&&", "||"):
            return self._comparisons.value(node, self._rim)
        both = (self.value(field(node, "left")), self.value(field(node, "right")))
        decides = sign == "||"
        if decides in both:
            return decides
        return None if None in both else not decides

    def _whole(self, node: Node) -> str | None:
        """What takes the place of a node that is decided, in part or all; None: nothing does."""
        match node.type:
            case "conditional_expression":
                decided = self.value(field(node, "condition"))
                if decided is None:
                    return None
                branch = "consequence" if decided else "alternative"
                return self._in_place(field(node, branch), node)
            case "if_statement":
                return self._branch(node)
            case "call_expression":
                chosen = self._comparisons.chosen(node, self._rim)
                return None if chosen is None else self._in_place(chosen, node)
            case "binary_expression" if text(node.children[1]) in ("&&", "||"):
                return self._part(node)
            case "binary_expression":
                decided = self.value(node)
                return None if decided is None else str(decided).lower()
            case _:
                return None

    def _branch(self, node: Node) -> str | None:
        condition = field(node, "condition")
        if condition.child_by_field_name("initializer") is not None:
            return None
        decided = self.value(condition)
        if decided is None:
            return None
        if decided:
            return self.render(field(node, "consequence"))
        other = node.child_by_field_name("alternative")
        return ";" if other is None else self.render(other.named_children[0])

    def _part(self, node: Node) -> str | None:
        decided = self.value(node)
        if decided is not None:
            return str(decided).lower()
        left, right = field(node, "left"), field(node, "right")
        for one, other in ((left, right), (right, left)):
            if self.value(one) is not None:  # it changes nothing: true of &&, false of ||
                return self._in_place(other, node)
        return None

    def _in_place(self, chosen: Node, of: Node) -> str:
        while chosen.type == "parenthesized_expression":
            chosen = chosen.named_children[0]
        code = self.render(chosen)
        above = of.parent
        open_ = above is not None and (above.type in OPEN or _binds_alike(above, chosen))
        return code if chosen.type in PLAIN or open_ else f"({code})"


def _binds_alike(above: Node, chosen: Node) -> bool:
    """Whether both are && or both are ||."""
    if above.type != "binary_expression" or chosen.type != "binary_expression":
        return False
    return text(above.children[1]) == text(chosen.children[1]) in ("&&", "||")


MOVE = Move(
    id="inside_and_rim",
    method="pad_tail_and_mask",
    languages=("cpp",),
    why="Divides a loop that looks for the borders in every iteration into rim, inside and rim; "
    "the inside then has no conditions. Pays where these keep the compiler from vectorising, as in "
    "stencils and convolutions.",
    write=_write,
)
