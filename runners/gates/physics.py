"""The physics floor: a time that the declared work cannot be done in is no measurement.

Only datasheet peaks count here (design, "Physics floor"): a measured bandwidth can be beaten. And
of those the fastest that could honestly do the work, as a legal trick must never look like a
cheat: fp32 products in three TF32 passes, fp64 on tensor cores, any input of 16 bits on 16-bit
tensor cores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..limits.limits import work
from ..model import Comparison, GateResult
from ..specs.contract import BoundContract
from ..specs.devices import Datasheet, DeviceFacts, datasheet
from ..specs.io_contract import Contract

FLOOR_SHARE = 0.95
"""What a datasheet and declared work may be off by."""
IMPLAUSIBLE = 10.0
"""A speedup over the baseline that somebody should look at (KernelBench flags the same)."""
TF32_PASSES = 3
"""A fp32 product of fp32 quality takes three TF32 ones (Ootomo and Yokota, 2022)."""
NARROW = {"float16", "bfloat16"}
BYTE_WIDE = {"float8_e4m3fn", "float8_e5m2", "int8", "uint8", "bool"}


@dataclass(frozen=True, slots=True)
class Floor:
    """The least seconds that the declared work of one workload takes, and why."""

    workload: str
    seconds: float
    why: str


@dataclass(frozen=True, slots=True)
class Floors:
    """The floors that are known; none: `missing` says what is not."""

    known: tuple[Floor, ...] = ()
    missing: str = ""


def floors(
    contract: Contract, workloads: Sequence[BoundContract], device: DeviceFacts | None
) -> Floors:
    """The floors of a kernel's workloads on a GPU.

    Raises ExpressionError and SpecError for declared work that is no amount.
    """
    if contract.bytes is None and contract.flops is None:
        return Floors(missing="the contract declares neither bytes nor flops")
    if device is None:
        return Floors(missing="a host has no datasheet, and measured peaks can be beaten")
    sheet = datasheet(device.name)
    if sheet is None:
        return Floors(missing=f"no datasheet of {device.name} is known")
    found = (_floor(contract, bound, device, sheet) for bound in workloads)
    return Floors(known=tuple(found))


def obeys_physics(comparison: Comparison, floors: Floors, baseline: str) -> GateResult:
    """No median lies below 0.95 of its floor.

    Where the baseline's does so, too, what is declared is wrong: of that workload it is a note.
    """
    gate = "obeys_physics"
    if not floors.known:
        return GateResult(gate=gate, outcome="skipped", message=floors.missing)
    times = {w.workload: w.median_ms for w in comparison.workloads}
    shares, doubted = dict[str, float](), None
    for floor in floors.known:
        measured = times.get(floor.workload)
        if measured is None or not floor.seconds:
            continue
        share = shares[floor.workload] = measured[comparison.candidate] * 1e-3 / floor.seconds
        if share >= FLOOR_SHARE:
            continue
        evidence = {
            "workload": floor.workload,
            "time_ms": measured[comparison.candidate],
            "floor_ms": floor.seconds * 1e3,
            "floor": floor.why,
            "time_over_floor": round(share, 4),
        }
        told = (
            f"on `{floor.workload}` {evidence['time_ms']:.4g} ms, and {floor.why} take at least "
            f"{evidence['floor_ms']:.4g} ms"
        )
        slow = measured.get(baseline)
        if slow is not None and slow * 1e-3 < FLOOR_SHARE * floor.seconds:
            told += "; the baseline is below that, too: are the declared bytes and flops right?"
            doubted = doubted or GateResult(
                gate=gate, outcome="note", message=told, evidence=evidence
            )
            continue
        return GateResult(gate=gate, outcome="failed", message=told, evidence=evidence)
    return doubted or GateResult(
        gate=gate,
        outcome="passed",
        message=", ".join(f"{s:.3g} x the floor on `{name}`" for name, s in shares.items()),
        evidence={"time_over_floor": {name: round(s, 3) for name, s in shares.items()}},
    )


def most_speedup(
    floors: Floors, baseline_ms: Mapping[str, float], weights: Mapping[str, float]
) -> float | None:
    """The largest speedup that physics allows: the weighted geometric mean, over the workloads in
    `weights`, of the baseline's time over its floor. None where one of them has no floor, and where
    the baseline is below it: then what is declared is wrong, and allows nothing to be said."""
    known = {floor.workload: FLOOR_SHARE * floor.seconds for floor in floors.known}
    if not weights or any(not known.get(name) or name not in baseline_ms for name in weights):
        return None
    logs = (w * math.log(baseline_ms[name] * 1e-3 / known[name]) for name, w in weights.items())
    found = math.exp(sum(logs) / sum(weights.values()))
    return found if found >= 1 else None


def is_plausibly_fast(comparison: Comparison, baseline: str) -> GateResult:
    """A speedup over ten is flagged, not refused: some baselines are that slow."""
    gate, ratio = "is_plausibly_fast", comparison.over(baseline)
    if ratio is None:
        return GateResult(gate=gate, outcome="skipped", message="not timed against the baseline")
    evidence = {"speedup": ratio.speedup, "flagged_above": IMPLAUSIBLE}
    if ratio.speedup <= IMPLAUSIBLE:
        return GateResult(gate=gate, outcome="passed", evidence=evidence)
    message = f"{ratio.speedup:.3g}x the baseline: worth a look at how it does that"
    return GateResult(gate=gate, outcome="note", message=message, evidence=evidence)


def _floor(
    contract: Contract, bound: BoundContract, device: DeviceFacts, sheet: Datasheet
) -> Floor:
    declared = work(contract, bound.symbols)
    memory = compute = 0.0
    if declared.bytes is not None:
        # A sample starts with cold caches, so all that is read comes from memory. What is
        # written may stay in L2 beyond the end of a sample.
        stays = min(sum(a.nbytes for a in bound.outputs), device.l2_bytes)
        memory = max(0.0, declared.bytes - stays) / sheet.bytes_per_s
    if declared.flops is not None:
        compute = declared.flops / fastest_flops(contract, sheet)
    if memory >= compute:
        why = f"the declared {declared.bytes or 0:.4g} bytes, less the outputs that stay in L2,"
        return Floor(bound.label, memory, why)
    return Floor(bound.label, compute, f"the declared {declared.flops or 0:.4g} operations")


def fastest_flops(contract: Contract, sheet: Datasheet) -> float:
    """Operations a second of the fastest unit that could honestly do a contract's work."""
    inputs = {a.dtype for a in contract.arguments if a.role in ("input", "inout")}
    if inputs & BYTE_WIDE:
        return 2 * sheet.fp16  # 8-bit tensor cores
    if inputs & NARROW or contract.math == "fast":
        return sheet.fp16
    if "float32" in inputs:
        return max(sheet.fp32, sheet.tf32 / (TF32_PASSES if contract.math == "ieee" else 1))
    if "float64" in inputs:
        return 2 * sheet.fp64  # fp64 tensor cores
    return 2 * sheet.fp16  # integers
