"""Arrays that a loop adds into at places that only data tells: bins of a histogram, sums by key.

Iterations meet in them, and it does not matter in which order: every access adds something that
does not depend on what is there. A team can have bins of its own a thread, and add them up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .....runners.c_source.expressions import squeezed
from .....runners.c_source.nodes import inside, text_of
from .....runners.c_source.updates import update_of
from ...shared.affine import Form
from .bounds import bounds
from .effects import Access, Effects, loops_around
from .program import Loop
from .scope import SIZE, Scope
from .types import named_kind

MOST_BYTES: Final = 1 << 16
"""of the bins of one thread on any workload: they stay in its caches"""
STACK_BYTES: Final = 1 << 20
"""of the same for any legal sizes: half of the least stack that a thread usually has"""
WIDEST: Final = 8
"""bytes of an element"""
ADDED_EACH: Final = 4
"""sums a bin, at the least: below, adding up the bins of all threads is most of the work"""


@dataclass(frozen=True)
class Bins:
    """An array that a loop adds into."""

    name: str
    length: str
    """elements, as C++"""
    kind: str

    @property
    def rounds(self) -> bool:
        """Whether another order of what is added may give other bits."""
        return named_kind(self.kind) != "int"

    @property
    def clause(self) -> str:
        """For OpenMP: each thread has them for its own, and they are added up."""
        return f" reduction(+:{self.name}[:{self.length}])"


def bins_of(array: str, loop: Loop, effects: Effects, scope: Scope) -> Bins | str | None:
    """The bins that an array is for a loop; why it cannot be, though the loop only adds to it; None
    where it does something else with it. `effects`: of the loop's body."""
    accesses = effects.of(array)
    if not all(_adds(access) for access in accesses):
        return None
    length = scope.elements(array)
    spelled = None if length is None else scope.spelled(length)
    if length is None or spelled is None:
        return f"neither the contract nor an argument says how many elements `{array}` has"
    if (most := length.value(_largest(scope))) * WIDEST > STACK_BYTES:
        return (
            f"`{array}` may have {most} elements by `symbols`, too many for each thread's stack: "
            f"up to {STACK_BYTES // WIDEST} are divided"
        )
    for workload in (each for each in scope.spec.workloads if not each.held_out):
        sizes = {SIZE + name: value for name, value in workload.symbols.items()}
        elements = length.value(sizes)
        added = sum(_times(access, loop, scope, sizes) for access in accesses if access.writes)
        if elements * WIDEST > MOST_BYTES or added < ADDED_EACH * elements:
            return (
                f"each thread would need a `{array}` of its own, which pays up to "
                f"{MOST_BYTES // WIDEST} elements and from {ADDED_EACH} sums an element: on "
                f"`{workload.name}` it has {elements}, and {added} sums are known to go into them"
            )
    return Bins(array, spelled, scope.arrays[array])


def _largest(scope: Scope) -> dict[str, int]:
    """The largest legal value of each size."""
    spec = scope.spec
    return {
        SIZE + name: max(w.symbols[name] for w in spec.workloads) if symbol is None else symbol.max
        for name, symbol in spec.symbols.items()
    }


def _times(access: Access, loop: Loop, scope: Scope, sizes: dict[str, int]) -> int:
    """How often the loop comes to an access; 0 where that is not known."""
    times = 1
    for each in (loop, *loops_around(access.node, loop.node)):
        limits = bounds(each, scope)
        span = Form() if limits is None else limits[1] - limits[0]
        times *= max(0, span.value(sizes)) if span.names <= sizes.keys() else 0
    return times


def _adds(access: Access) -> bool:
    """Whether an access is of an element, by the array's own name, that something is added to
    which reads no other."""
    place, node = access.node, access.node.parent
    if not any(text_of(each) == access.place.array for each in inside(place)):
        return False
    while node is not None and node.type not in ("assignment_expression", "update_expression"):
        node = node.parent
    if node is None or node.parent is None or node.parent.type != "expression_statement":
        return False
    if node.type == "update_expression":
        return node.named_children[0] == place
    update = update_of(node)
    return update is not None and update.sign == "+" and squeezed(update.target) == squeezed(place)
