"""Rules on how memory is accessed: coalescing, bank conflicts, spills."""

from __future__ import annotations

from . import names as n
from .model import Blame, Hit, Rule, Severity, Values

FULL_SECTOR = 32


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
    return Hit(
        "high" if excess >= 0.5 else "medium" if excess >= 0.25 else "low",
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
        id="poor_coalescing",
        needs=(n.SECTORS, n.IDEAL_SECTORS, n.LOADED, n.STORED),
        judge=_poor_coalescing,
        role="cause",
        action="let neighbouring threads access neighbouring addresses (vector types, arrays of "
        "fields instead of structures, a transpose through shared memory)",
        because="NVIDIA's UncoalescedGlobalAccess counts the same excess from 0 on; ours: 10 % "
        "leaves unaligned edges alone. Sectors a request are no sign: 16 are perfect for float4",
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
