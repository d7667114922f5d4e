"""How many iterations a loop has in the workloads, where its bounds are sizes."""

from __future__ import annotations

from .....runners.specs.spec import KernelSpec
from .bounds import bounds
from .program import Loop
from .scope import SIZE, Scope


def most_trips(loop: Loop, scope: Scope, spec: KernelSpec) -> int | None:
    """The most iterations in any visible workload; None where its bounds do not say."""
    limits = bounds(loop, scope)
    if limits is None or loop.step != 1:
        return None
    extent = limits[1] - limits[0]
    visible = [w.symbols for w in spec.workloads if not w.held_out]
    values = [{SIZE + name: size for name, size in symbols.items()} for symbols in visible]
    if not values or any(not extent.names <= known.keys() for known in values):
        return None
    return max(extent.value(known) for known in values)
