"""Rules on how memory is accessed: atomics, coalescing, bank conflicts, spills."""

from __future__ import annotations

from ..profile import names as n
from .derived import ATOMIC_OPCODE, ATOMICS
from .model import Blame, Hit, Rule, Severity, Values
from .parallelism import ISSUING_WELL
from .throughput import LATENCY

FULL_SECTOR = 32
IDLE = LATENCY / 2
"""percent of peak, below which neither memory nor compute is what a launch waits for"""


def _atomic_contention(v: Values) -> Hit | None:
    busiest, memory, sm = v[n.BUSIEST_ATOMICS], v[n.MEMORY], v[n.SM]
    if not v[ATOMICS] or busiest < LATENCY:
        return None
    if max(memory, sm) >= LATENCY or v[n.ISSUE] >= ISSUING_WELL:
        return None
    return Hit(
        "high" if max(memory, sm) < IDLE else "medium",
        f"{v[ATOMICS]:.3g} atomics of warps meet at few addresses: one slice of L2 works at them "
        f"{busiest:.0f} % of the time, with memory at {memory:.0f} % of its peak and compute at "
        f"{sm:.0f} %",
    )


def _poor_coalescing(v: Values) -> Hit | None:
    sectors, ideal = v[n.SECTORS], v[n.IDEAL_SECTORS]
    excess = 1 - ideal / sectors if sectors else 0.0
    if excess <= 0.1:
        return None
    used = [
        f"{what} use {v[name]:.0f} of {FULL_SECTOR} bytes of a sector"
        for what, name in (("loads", n.LOADED), ("stores", n.STORED))
        if 0 < v[name] < FULL_SECTOR
    ]
    severe = excess >= 0.5 and v[n.MEMORY] >= IDLE
    return Hit(
        "high" if severe else "medium" if excess >= 0.25 else "low",
        f"{100 * excess:.0f} % of the global sectors ({sectors - ideal:.3g} of {sectors:.3g}) are "
        "more than the bytes asked for need" + (f"; {', '.join(used)}" if used else ""),
    )


def _bank_conflicts(v: Values) -> Hit | None:
    wavefronts = v[n.LOAD_WAVEFRONTS] + v[n.STORE_WAVEFRONTS]
    conflicts = v[n.LOAD_CONFLICTS] + v[n.STORE_CONFLICTS]
    share = conflicts / wavefronts if wavefronts else 0.0
    if share < 0.1:
        return None
    severity: Severity = "high" if share >= 0.5 else "medium" if share >= 0.25 else "low"
    return Hit(
        severity,
        f"{100 * share:.0f} % of the shared memory wavefronts are bank conflicts "
        f"(loads {v[n.LOAD_CONFLICTS]:.3g} of {v[n.LOAD_WAVEFRONTS]:.3g}, stores "
        f"{v[n.STORE_CONFLICTS]:.3g} of {v[n.STORE_WAVEFRONTS]:.3g})",
    )


def _spill(v: Values) -> Hit | None:
    local = v[n.LOCAL_LOADS] + v[n.LOCAL_STORES]
    if local <= 0:
        return None
    share = local / max(1.0, v[n.INSTRUCTIONS])
    return Hit(
        "high" if share >= 0.05 else "medium" if share >= 0.01 else "low",
        f"{local:.3g} accesses of local memory, {100 * share:.2g} % of all instructions: spilled "
        "registers, or arrays that are indexed at run time",
    )


RULES = (
    Rule(
        id="atomic_contention",
        needs=(ATOMICS, n.BUSIEST_ATOMICS, n.MEMORY, n.SM, n.ISSUE),
        judge=_atomic_contention,
        role="cause",
        action="combine values before they meet: in registers, by shuffles, in bins of a block in "
        "shared memory; then one global atomic a block and address, or a second pass",
        because="ours: one slice of L2 does all atomics of an address. A slice at the 60 % of "
        "SOLBottleneck is one that all wait for, while no unit is there as a whole and schedulers "
        "are below the 0.6 of IssueSlotUtilization. On an H200 it was 80 % for 256 bins in global "
        "memory (the mean of the slices: 2) and 0 for 21 kernels without atomics",
        agrees=(("WorkloadImbalance", "L2 Slices"),),
        blame=Blame("inst_executed", opcode=ATOMIC_OPCODE),
    ),
    Rule(
        id="poor_coalescing",
        needs=(n.SECTORS, n.IDEAL_SECTORS, n.LOADED, n.STORED, n.MEMORY),
        judge=_poor_coalescing,
        role="cause",
        action="let neighbouring threads access neighbouring addresses (vector types, arrays of "
        "fields instead of structures, a transpose through shared memory)",
        because="NVIDIA's UncoalescedGlobalAccess counts the same excess from 0 on; ours: 10 % "
        "leaves unaligned edges alone, and it is severe only where a level of memory reaches 30 % "
        "of its peak. Sectors a request are no sign: 16 are perfect for float4",
        agrees=(
            ("UncoalescedGlobalAccess", ""),
            ("MemoryCacheAccessPattern", "L1TEX Global"),
            ("MemoryCacheAccessPattern", "L2 Global"),
        ),
        blame=Blame(n.SECTORS, n.IDEAL_SECTORS),
    ),
    Rule(
        id="smem_bank_conflicts",
        needs=(n.LOAD_CONFLICTS, n.STORE_CONFLICTS, n.LOAD_WAVEFRONTS, n.STORE_WAVEFRONTS),
        judge=_bank_conflicts,
        role="cause",
        action="pad rows by one element or swizzle columns, so that a warp's addresses fall into "
        "32 different banks; ldmatrix or TMA with a swizzle for tensor operands",
        because="NVIDIA's SharedMemoryConflicts: from 10 % of the wavefronts on; ours: half is "
        "every access twice",
        agrees=(("SharedMemoryConflicts", ""), ("UncoalescedSharedAccess", "")),
        blame=Blame(n.SHARED_WAVEFRONTS, n.IDEAL_WAVEFRONTS),
    ),
    Rule(
        id="register_spill",
        needs=(n.LOCAL_LOADS, n.LOCAL_STORES, n.INSTRUCTIONS),
        judge=_spill,
        role="cause",
        action="fewer values alive at once: smaller tiles, less unrolling, a higher register "
        "limit; arrays indexed by constants only",
        because="ours: any access says that it happens, its share of all instructions how much",
        agrees=(
            ("MemoryCacheAccessPattern", "L1TEX Local"),
            ("MemoryCacheAccessPattern", "L2 Local"),
        ),
        blame=Blame(n.LOCAL_SECTORS),
    ),
)
