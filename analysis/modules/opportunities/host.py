"""Time of the host: launches that it cannot enqueue fast enough, waits, loops, and graph breaks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ....runners.modules.common.messages import OpRow
from .base import Finder, Found, Opportunity, by_hand, of_rung, places

TINY_US = 6.0
"""a kernel shorter than about a launch"""
MANY_TINY = 10
LONG_LOOP = 8
"""times that a line calls an operator in one call of the module"""


def capture(found: Found) -> Iterable[Opportunity]:
    """A device that waits for the host."""
    cost = found.cost
    if not found.on_gpu:
        return
    idle = 1 - cost.busy_us / 1e3 / cost.eager.ms
    tiny = [op for op in found.ops if op.kernels and op.us / len(op.kernels) < TINY_US]
    if idle < 0.05 and len(tiny) < MANY_TINY:
        return
    waits = any(op.waits for op in found.ops)
    hindered = "; first the places where the host waits have to go" if waits else ""
    yield of_rung(
        found,
        cost.predict(["captures"]),
        kind="host-bound",
        what=f"the GPU is idle {100 * max(0.0, idle):.0f} % of {cost.eager.ms:.4g} ms: the host "
        f"takes {cost.eager.host_ms:.4g} ms to enqueue {cost.launches} kernels, of which "
        f"{sum(len(op.kernels) for op in tiny)} are shorter than {TINY_US:g} us",
        how=f"one CUDA graph of the whole call{hindered}",
        error_class="bit-equal",
        steps=("graphs",),
        where=places(tiny),
    )
    yield of_rung(
        found,
        cost.predict(["fuses", "captures"]),
        kind="host-bound",
        what=f"of {cost.launches} launches the compiler leaves "
        f"{getattr(cost.predict(['fuses']), 'launches', 0)}",
        how=f"torch.compile, and a CUDA graph of what it makes{hindered}",
        error_class="fp32 rounding",
        steps=("compile", "graphs"),
    )


def waits(found: Found) -> Iterable[Opportunity]:
    """Places where the host waits for a value of the device."""
    ops = [op for op in found.ops if op.waits]
    if not ops:
        return
    cost = found.cost
    ms = max(cost.eager.host_ms, cost.busy_us / 1e3) if found.on_gpu else None
    yield by_hand(
        found,
        None if ms is None else min(ms, cost.eager.ms),
        kind="synchronisation",
        what=f"the host waits for the device {len(ops)} times a call "
        f"({', '.join(sorted({op.op.removeprefix('aten.') for op in ops}))})"
        + ("" if found.on_gpu else "; on a CPU this costs little, on a GPU it empties the queue"),
        how="keep the value on the device: torch.where for a branch, a mask for a selection, sizes "
        "that are known before",
        where=places(ops),
    )


def uploads(found: Found) -> Iterable[Opportunity]:
    """Tensors that the call makes on the host and copies to the device."""
    ops = [op for op in found.ops if op.uploads]
    if not ops:
        return
    launches = sum(len(op.kernels) for op in ops)
    yield by_hand(
        found,
        found.cost.without(sum(op.us for op in ops), launches),
        kind="uploads",
        what=f"{len(ops)} tensors are made on the host and copied to the device in each call",
        how="buffers of the module (register_buffer), or factories with device=x.device",
        where=places(ops),
    )


def loops(found: Found) -> Iterable[Opportunity]:
    """A line that calls the same small operators again and again: a loop of Python's."""
    by_line = defaultdict[tuple[str, str, str], list[OpRow]](list)
    for op in found.ops:
        if op.line:
            by_line[op.line, op.op, op.module].append(op)
    lines = defaultdict[str, list[OpRow]](list)
    for (line, _, _), ops in by_line.items():
        if len(ops) >= LONG_LOOP:
            lines[line] += ops
    for line, ops in lines.items():
        rounds = max(len(each) for key, each in by_line.items() if key[0] == line)
        saved = sum(op.us for op in ops) * (1 - 1 / rounds)
        launches = sum(len(op.kernels) for op in ops)
        yield by_hand(
            found,
            found.cost.without(saved, launches - launches // rounds),
            kind="loop",
            what=f"{line} runs {rounds} times a call, {len(ops)} operators in all "
            f"({sum(op.us for op in ops):.4g} us)",
            how="do all rounds in one operator over a further dimension; where one needs the last "
            "(a recurrence), a scan or a kernel of its own. The number is that of one round in "
            "place of all",
            where=(line,),
        )


def breaks(found: Found) -> Iterable[Opportunity]:
    """Places at which torch.compile begins a new graph."""
    told = found.cost.breaks
    if told is None or not told.found:
        return
    reasons = "; ".join(dict.fromkeys(each.reason for each in told.found[:3]))
    yield by_hand(
        found,
        None,
        kind="graph break",
        what=f"torch.compile makes {told.graphs} graphs of the module: {reasons}",
        how="take what breaks it out of forward (prints, .item(), branches on values): each graph "
        "costs a launch of its own, and nothing is fused across",
        where=tuple(dict.fromkeys(each.line for each in told.found if each.line)),
    )


FINDERS: tuple[Finder, ...] = (capture, waits, uploads, loops, breaks)
