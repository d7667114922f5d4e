"""Time on the device: chains that could be one kernel, operators far from their roof, copies,
casts, and float64."""

from __future__ import annotations

from collections.abc import Iterable

from ..costs.chains import chains_of
from .base import Finder, Found, Opportunity, by_hand, of_rung, places
from .pages import kernel_page

FEWEST_CHAINED = 2
NEAR_ROOF = 0.9
"""of its roof that a good kernel reaches"""
LEAST_SHARE = 0.02
MOST_KERNELS = 5
NARROW = ("float32", "float16", "bfloat16")


def fusion(found: Found) -> Iterable[Opportunity]:
    """Neighbours that only move memory, as one kernel each."""
    chains = [c for c in chains_of(found.ops) if len(c) >= FEWEST_CHAINED]
    if not chains:
        return
    now = sum(op.us for chain in chains for op in chain)
    longest = max(chains, key=lambda chain: sum(op.us for op in chain))
    names = " ".join(op.op.removeprefix("aten.") for op in longest[:8])
    yield of_rung(
        found,
        found.cost.predict(["fuses"]),
        kind="fusion",
        what=f"{len(chains)} chains of {sum(map(len, chains))} operators that only move memory take"
        f" {now / 1e3:.3g} ms; the longest: {names}",
        how="torch.compile makes about one kernel of each",
        error_class="fp32 rounding",
        steps=("compile",),
        where=places([op for chain in chains for op in chain]),
    )


def kernels(found: Found) -> Iterable[Opportunity]:
    """Operators far from their roof: what a better kernel alone would be worth."""
    groups = dict[str, list[int]]()
    for number, op in enumerate(found.ops):
        groups.setdefault(op.key, []).append(number)
    told = list[tuple[float, Opportunity]]()
    for numbers in groups.values():
        ops = [found.ops[n] for n in numbers]
        us, roof = sum(op.us for op in ops), sum(found.cost.roof_us(op) for op in ops)
        saved = us - roof / NEAR_ROOF
        if us < LEAST_SHARE * found.cost.busy_us or saved <= 0:
            continue
        first = ops[0]
        made = by_hand(
            found,
            found.cost.without(saved),
            kind="kernel",
            what=f"{first.op} on {first.shapes}, {len(ops)} times, takes {us:.4g} us and reaches "
            f"{100 * roof / us:.0f} % of its {found.cost.bound_of(first)} roof",
            how="a kernel of its own (kernelwright optimize), after fusion and precision",
            skill=kernel_page(found.on_gpu, found.cost.bound_of(first)),
            where=places(ops),
        )
        told.append((saved, made.model_copy(update={"error_class": "fp32 rounding"})))
    told.sort(key=lambda each: -each[0])
    yield from (each for _, each in told[:MOST_KERNELS])


def copies(found: Found) -> Iterable[Opportunity]:
    """Copies that only change the order in memory."""
    ops = [op for op in found.ops if op.strided]
    us = sum(op.us for op in ops)
    if us < LEAST_SHARE * found.cost.busy_us:
        return
    yield by_hand(
        found,
        found.cost.without(us, sum(len(op.kernels) for op in ops)),
        kind="copies",
        what=f"{len(ops)} copies that only change the order in memory (contiguous, reshape of a "
        f"transposed tensor, clone) take {us:.4g} us",
        how="keep one order through the module: write where the next operator reads, or let it "
        "read strides",
        where=places(ops),
    )


def casts(found: Found) -> Iterable[Opportunity]:
    """Changes of type."""
    ops = [op for op in found.ops if op.op == "aten._to_copy" and op.dtype != op.from_dtype]
    us = sum(op.us for op in ops)
    if us < LEAST_SHARE * found.cost.busy_us:
        return
    kinds = sorted({f"{op.from_dtype} to {op.dtype}" for op in ops})
    yield by_hand(
        found,
        found.cost.without(us, sum(len(op.kernels) for op in ops)),
        kind="casts",
        what=f"{len(ops)} changes of type ({', '.join(kinds)}) take {us:.4g} us",
        how="make the tensor in the type in which it is used, or cast once outside the module",
        where=places(ops),
    )


def doubles(found: Found) -> Iterable[Opportunity]:
    """Work in float64, which often nobody meant."""
    ops = [op for op in found.ops if op.dtype == "float64" and op.flops]
    ops += [op for op in found.ops if op.dtype == "float64" and op.from_dtype in NARROW]
    if not ops:
        return
    yield by_hand(
        found,
        None,
        kind="float64",
        what=f"{len(ops)} operators make float64 ({sum(op.us for op in ops):.4g} us)",
        how="a numpy scalar or a default of numpy may have widened them: make constants in the "
        "module's type",
        where=places(ops),
    )


FINDERS: tuple[Finder, ...] = (fusion, kernels, copies, casts, doubles)
