"""The model of cost: what an eager call takes, and what it would with other steps.

A call takes as long as its slower part, the host that enqueues or the device that works:
T = max(host, device). On the device an operator costs what was measured; a product in another type
what it was measured to cost in that type at its own shape; a chain of operators that only move
memory what a copy of as many bytes takes here (`chains`), over the share of it that fused kernels
reach. What is left between the model and the measured eager call is kept as one factor.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ....runners.modules.common.messages import (
    Attention,
    AttentionSite,
    Breaks,
    EagerTimes,
    OpRow,
    OwnShape,
    OwnShapes,
    Roofs,
    Trace,
)
from ....runners.modules.steps.base import Effect
from .chains import chain_bytes, chains_of, is_chained

FUSED_SHARE = 0.9
"""of the copy bandwidth that a fused kernel reaches (kernels of Inductor on an H200)"""
CAPTURED_HOST_US = 12.0
"""one launch of a graph, and of a copy for each input: no measured number, of their usual size"""
COMPILED_CALL_US, COMPILED_KERNEL_US = 25.0, 4.0
"""where they were not measured (on a CPU): of their usual size"""
CONVOLUTIONS = ("aten.convolution", "aten._convolution", "aten.cudnn_convolution")
WIDTHS = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Item:
    """A part of a call on the device: an operator, or what takes its place."""

    op: OpRow
    us: float
    scale: float = 1.0
    """of its bytes"""


@dataclass(frozen=True)
class Predicted:
    """What a call would take."""

    ms: float
    host_ms: float
    device_ms: float
    launches: int

    @property
    def bound(self) -> str:
        """Which part decides."""
        return "host" if self.host_ms > self.device_ms else "device"


@dataclass(frozen=True)
class CostModel:
    """An eager call as it was measured, and what can be told of others from it."""

    on_gpu: bool
    eager: EagerTimes
    trace: Trace
    roofs: Roofs
    own: OwnShapes
    attention: Attention
    breaks: Breaks | None = None
    input_bytes: int = 0

    @cached_property
    def busy_us(self) -> float:
        """Of all operators."""
        return sum(op.us for op in self.trace.ops)

    @cached_property
    def launches(self) -> int:
        """Kernels of one call; on a CPU operators."""
        if not self.on_gpu:
            return len(self.trace.ops)
        return sum(len(op.kernels) for op in self.trace.ops)

    @cached_property
    def factor(self) -> float:
        """What the model is off by on the eager call, where the device decides."""
        if self.on_gpu and self.eager.host_ms * 1e3 > self.busy_us:
            return 1.0
        return self.eager.ms * 1e3 / max(self.busy_us, 1e-9)

    def copy_us(self, nbytes: float) -> float:
        """Of a copy that reads and writes so many bytes in all: between measured sizes along the
        line on a double-logarithmic plot, beyond the last in proportion."""
        points = self.roofs.copies
        if nbytes <= points[0][0]:
            return points[0][1]
        for (low, below), (high, above) in pairwise(points):
            if nbytes <= high:
                share = math.log(nbytes / low) / math.log(high / low)
                return below * (above / below) ** share
        return points[-1][1] * nbytes / points[-1][0]

    def roof_us(self, op: OpRow) -> float:
        """The least that the operator can take here: its bytes by copies, its FLOPs by the peak."""
        peak = self.roofs.peaks.get(op.dtype, self.roofs.peaks.get("float32", math.inf))
        return max(self.copy_us(op.bytes), op.flops / peak * 1e6)

    def bound_of(self, op: OpRow) -> str:
        """`compute` or `memory`."""
        peak = self.roofs.peaks.get(op.dtype, self.roofs.peaks.get("float32", math.inf))
        return "compute" if op.flops / peak * 1e6 > self.copy_us(op.bytes) else "memory"

    def predict(self, effects: Collection[Effect]) -> Predicted | None:
        """A call with steps of these effects; None where the model says nothing of one."""
        if "threads" in effects or (self._waits and _changes_graphs(effects)):
            return None
        items = self._items(effects)
        if "fuses" in effects or "tunes" in effects:
            device, launches = self._fused(items)
            breaks = self.breaks.graphs if self.breaks is not None else 1
            call = self.roofs.compiled_call_us or COMPILED_CALL_US
            each = self.roofs.compiled_kernel_us or COMPILED_KERNEL_US
            host = max(1, breaks) * call + each * launches
        else:
            device = sum(item.us for item in items)
            launches = self._launches_of(items)
            host = self.eager.host_ms * 1e3 * launches / max(self.launches, 1)
        factor = self.factor
        if "captures" in effects:
            host, factor = CAPTURED_HOST_US, min(1.0, self.factor)
            device += self.copy_us(2 * self.input_bytes) if self.input_bytes else 0.0
        device *= factor
        if not self.on_gpu:
            host = 0.0  # the host is the device: its work is in every operator's time
        total = max(host, device)
        return Predicted(total / 1e3, host / 1e3, device / 1e3, launches)

    def without(self, us: float, launches: int = 0) -> float:
        """Milliseconds of a call, were so many microseconds of device time not there (Amdahl)."""
        device = max(0.0, self.busy_us - us) * self.factor
        host = 0.0
        if self.on_gpu:
            host = self.eager.host_ms * 1e3 * (1 - launches / max(self.launches, 1))
        return max(host, device) / 1e3

    @cached_property
    def _waits(self) -> bool:
        """Whether the host waits for values of the device: then nothing can be captured, and a
        compiler keeps pieces of the module as they are."""
        return self.on_gpu and any(op.waits for op in self.trace.ops)

    @cached_property
    def _own(self) -> dict[str, OwnShape]:
        return {each.key: each for each in self.own.found}

    def _items(self, effects: Collection[Effect]) -> list[Item]:
        """Operators in their order, with what the effects make of each."""
        items = list[Item]()
        sites = list(self.attention.found) if "sdpa" in effects else []
        replaced = {id(op) for op in self.attention_ops()} if sites else set[int]()
        for op in self.trace.ops:
            if id(op) not in replaced:
                items.append(self._item(op, effects))
        bf16 = "bf16" in effects
        for site in sites:
            us = site.us_bf16 if bf16 and site.us_bf16 is not None else site.us
            items.append(Item(_standing_for(site), us or 0.0))
        return items

    def _item(self, op: OpRow, effects: Collection[Effect]) -> Item:
        scale = 0.5 if "bf16" in effects and op.dtype == "float32" else 1.0
        if op.flops:
            return Item(op, self._heavy_us(op, effects), scale)
        us = op.us
        if scale != 1.0 and op.us:
            us *= self.copy_us(op.bytes * scale) / self.copy_us(op.bytes)
        return Item(op, us, scale)

    def _heavy_us(self, op: OpRow, effects: Collection[Effect]) -> float:
        own = self._own.get(op.key)
        if own is None or not own.us:
            return op.us
        fused = "fuses" in effects or "tunes" in effects
        last = "channels_last" in effects or (fused and self.on_gpu)
        layout = "channels_last" if last and op.op in CONVOLUTIONS else ""
        kind = "bf16" if "bf16" in effects else "tf32" if "tf32" in effects else ""
        wanted = ("+".join(filter(None, (layout, kind))), kind, layout)
        found = [own.variants[name] for name in wanted if name in own.variants]
        return op.us * found[0] / own.us if found else op.us

    def _fused(self, items: Sequence[Item]) -> tuple[float, int]:
        """Device time and launches, with every chain as one kernel."""
        order = sorted(items, key=lambda item: item.op.n)
        by_op = {id(item.op): item for item in order}
        ops = [item.op for item in order]
        total = sum(item.us for item in order if not is_chained(item.op))
        launches = sum(1 for item in order if not is_chained(item.op))
        for chain in chains_of(ops):
            last = chain[-1].n
            moved = chain_bytes(chain, (op for op in ops if op.n > last))
            scale = sum(by_op[id(op)].scale for op in chain) / len(chain)
            now = sum(by_op[id(op)].us for op in chain)
            total += min(now, self._chain_us(chain, moved * scale))
            launches += 1
        return total, launches

    def _chain_us(self, chain: Sequence[OpRow], moved: float) -> float:
        us = self.copy_us(moved) / FUSED_SHARE
        if not self.on_gpu:  # what an operator takes beyond its bytes is arithmetic: it stays
            us += sum(max(0.0, op.us - self.copy_us(op.bytes)) for op in chain)
        return us

    def attention_ops(self) -> list[OpRow]:
        """Operators of attention written by hand: products that make or read as many scores as a
        site has, and what reads or writes the scores between them."""
        counts = {_scores(site) for site in self.attention.found}
        return [op for op in self.trace.ops if _elements(op) & counts]

    def _launches_of(self, items: Sequence[Item]) -> int:
        if not self.on_gpu:
            return len(items)
        return sum(max(1, len(i.op.kernels)) if i.op.n < 0 else len(i.op.kernels) for i in items)


def _changes_graphs(effects: Collection[Effect]) -> bool:
    return any(effect in effects for effect in ("fuses", "tunes", "captures"))


def _standing_for(site: AttentionSite) -> OpRow:
    """A row for the one operator that takes a site's place; it is heavy, whatever its FLOPs."""
    return OpRow(n=-1, op="aten.scaled_dot_product_attention", module="", us=0.0, flops=1)


def _scores(site: AttentionSite) -> int:
    """How many scores a site has: queries by keys, of every head."""
    queries, keys = ([int(n) for n in part.split("x")] for part in site.shapes.split(", "))
    return math.prod(queries[:-1]) * keys[-2]


def _elements(op: OpRow) -> set[int]:
    """Element counts of what an operator reads and writes."""
    width = WIDTHS.get(op.dtype, WIDTHS.get(op.from_dtype, 4))
    return {size // width for _, _, size in (*op.reads, *op.writes)}
