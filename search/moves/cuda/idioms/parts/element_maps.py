"""Values that are computed from one element of an input, as C++ that another kernel can use."""

from __future__ import annotations

from ....shared.edits import Edit, edited
from .facts import Facts
from .scope import Place, Scope
from .syntax import Expr, Item, Name, Opaque, within
from .unfit import Unfit


def element_map(facts: Facts, scope: Scope, value: Expr) -> tuple[Place, str]:
    """The element, and the value as C++ over `element`; Unfit where it depends on more.

    `value`: as `Scope.value` gives it.
    """
    items = [e for e in within(value) if isinstance(e, Item)]
    places = {scope.place(item) for item in items}
    place = next(iter(places)) if len(places) == 1 else None
    if place is None or place.array not in facts.inputs:
        raise Unfit("what is added is no function of one element of an input")
    inside = [e for item in items for index in item.indices for e in within(index)]
    if any(isinstance(e, Name | Opaque) for e in within(value) if e not in inside):
        raise Unfit("what is added depends on more than the element")
    named = [Edit(*item.span, "element") for item in items]
    return place, edited(facts.source, named, *value.span)
