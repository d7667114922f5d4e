"""What a loop's body compares its variable with, and which of it has one value but at the ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .....runners.c_source.nodes import field, inside, text_of
from .....runners.c_source.types import may_be_unsigned
from ...shared.affine import Form
from .bounds import bounds
from .effects import loops_around
from .program import Loop
from .scope import Scope
from .signs import has_unsigned, pieces

if TYPE_CHECKING:
    from tree_sitter import Node

WIDEST = 8
"""iterations at a border that still are a rim"""


@dataclass(frozen=True)
class Rim:
    """How many iterations at each end are not inside."""

    first: int
    last: int


class Comparisons:
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
        if not self._are_numbers((field(node, "left"), field(node, "right")), rim):
            return None
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
        name, given = _extreme(call)
        forms = [self._scope.form(g) for g in given]
        if not name or forms[0] is None or forms[1] is None:
            return None
        if not self._are_numbers(given, rim, kind=_between_angles(call)):
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
            _, given = _extreme(node)
            forms = [self._scope.form(g) for g in given]
            if not given or forms[0] is None or forms[1] is None:
                return []
            begun = self._begins(given, kind=_between_angles(node))
            return [*self._meets(forms[0] - forms[1]), *begun]
        signs = self._signs(node)
        if signs is None:
            return []
        form, sign = signs
        begun = self._begins((field(node, "left"), field(node, "right")))
        if sign in (">=", "<"):
            return [*self._turns(form), *begun]
        return [*self._turns(form), *self._turns(form - Form.number(1)), *begun]

    def _are_numbers(self, sides: Sequence[Node], rim: Rim, kind: str = "int") -> bool:
        """Whether expressions that meet are the numbers that their forms are, inside.

        Where something without a sign takes part, all of it has to be known not to be below 0.
        `kind`: the type that they are both taken for.
        """
        if not any(has_unsigned(s, self._scope) for s in sides) and not may_be_unsigned(kind):
            return True
        forms = (self._scope.form(p) for s in sides for p in pieces(s, self._scope))
        return all(f is not None and self._not_negative(f, rim) for f in forms)

    def _begins(self, sides: Sequence[Node], kind: str = "int") -> list[Form]:
        """Where expressions without a sign turn from what is below 0, or to it."""
        if not any(has_unsigned(s, self._scope) for s in sides) and not may_be_unsigned(kind):
            return []
        forms = (self._scope.form(p) for s in sides for p in pieces(s, self._scope))
        return [point for f in forms if f is not None for point in self._turns(f)]

    def _not_negative(self, form: Form, rim: Rim) -> bool:
        if self._loop.variable in form.names:
            return self._at_least(form, rim) is True
        limits = self._limits(form)
        return limits is not None and _known(limits[0], self._scope) is True

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
        limits = self._limits(form)
        return None if limits is None else (factor.constant, *limits)

    def _limits(self, form: Form) -> tuple[Form, Form] | None:
        """Lowest and highest value of what stands beside the variable, over all inner loops."""
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
        return low, high

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
        sign = text_of(node.children[1])
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


def _extreme(call: Node) -> tuple[str, Sequence[Node]]:
    """`min` or `max` with its two arguments; nothing of any other call."""
    function, given = text_of(field(call, "function")), field(call, "arguments").named_children
    name = function.removeprefix("std::").partition("<")[0]
    return (name, given) if name in ("min", "max") and len(given) == 2 else ("", ())


def _between_angles(call: Node) -> str:
    """The type of `std::min<type>(a, b)`; `int` where none is written."""
    return text_of(field(call, "function")).partition("<")[2].removesuffix(">") or "int"


def _known(form: Form, scope: Scope) -> bool | None:
    return form.at_least(0, scope.lowest) or None
