"""Rules on what a launch is bound by, and on traffic and reuse."""

from __future__ import annotations

from ..profile import names as n
from .derived import COPIED, DRAM_BUSY, DRAM_TRAFFIC, L2_TRAFFIC, MATRIX_WORK, TENSOR_INSTRUCTIONS
from .model import Hit, Rule, Values

HIGH, LATENCY, BALANCE = 80.0, 60.0, 10.0
"""percent of peak: what NVIDIA's SOLBottleneck calls high throughput, below which it calls a launch
latency bound, and how far apart memory and compute must be for one to be the bottleneck"""
LITTLE_LEFT = 90.0
"""percent of a unit's peak, from which on other faults cost little"""
DRAM_IDLE = 40.0
"""percent of its peak, below which the bytes that DRAM moves cost next to nothing"""
BOTTLENECK = "thresholds of NVIDIA's SOLBottleneck: 80 high, 60 latency, 10 balance"


_RELIEF = (
    (n.DRAM, "DRAM", ""),
    (
        n.L2,
        "L2",
        "ask less of L2: keep what is read again in shared memory or registers (larger tiles), use "
        "whole sectors, no spills; fewer bytes from DRAM alone do not help",
    ),
    (
        n.L1,
        "L1 and shared memory",
        "ask less of L1 and shared memory: wider accesses (16 bytes a thread), no bank conflicts, "
        "whole sectors, operands that stay in registers; fewer bytes from DRAM do not help",
    ),
)
"""the levels of memory, and what takes load off them where it is not what the rule says"""


def _severe_memory_bound(v: Values) -> Hit | None:
    memory, sm = v[n.MEMORY], v[n.SM]
    if memory < LATENCY or memory - sm < BALANCE:
        return None
    busiest, where, relief = max(_RELIEF, key=lambda level: v[level[0]])
    dram = "" if busiest == n.DRAM else f", DRAM {v[n.DRAM]:.0f} %"
    return Hit(
        "high" if memory >= HIGH else "medium",
        f"memory works at {memory:.0f} % of its peak, compute at {sm:.0f} %; busiest is {where} "
        f"({v[busiest]:.0f} %{dram})",
        relief,
    )


def _near_peak_compute(v: Values) -> Hit | None:
    busiest = max(v[n.SM], v[n.TENSOR])
    if busiest < HIGH:
        return None
    which = "tensor cores" if v[n.TENSOR] >= v[n.SM] else "compute units"
    return Hit(
        "high" if busiest >= LITTLE_LEFT else "medium",
        f"{which} work at {busiest:.0f} % of their peak",
    )


def _latency_bound(v: Values) -> Hit | None:
    memory, sm = v[n.MEMORY], v[n.SM]
    if max(memory, sm) >= LATENCY:
        return None
    return Hit(
        "high" if max(memory, sm) < LATENCY / 2 else "medium",
        f"neither memory ({memory:.0f} %) nor compute ({sm:.0f} %) comes near its peak: warps wait",
    )


def _huge_dram_traffic(v: Values) -> Hit | None:
    ratio, busy = v[DRAM_TRAFFIC], v[DRAM_BUSY]
    if ratio <= 1.5:
        return None
    text = f"DRAM moves {ratio:.1f} times the bytes that the contract declares"
    if busy < DRAM_IDLE:
        return Hit(
            "low",
            f"{text}, but works at {busy:.0f} % of its peak alone",
            "see to the other findings first: bytes of DRAM cost little until it is busy",
        )
    return Hit("high" if ratio > 3 and busy >= LATENCY else "medium", text)


def _low_l1_hit(v: Values) -> Hit | None:
    if v[n.L1_HIT] >= 20 or v[n.L2] < 60 or v[L2_TRAFFIC] <= 1.5 or v[COPIED] > 0.5:
        return None
    return Hit(
        "medium",
        f"L1 answers {v[n.L1_HIT]:.0f} % of its sectors while L2 works at {v[n.L2]:.0f} % and "
        f"moves {v[L2_TRAFFIC]:.1f} times the declared bytes",
    )


def _low_l2_hit(v: Values) -> Hit | None:
    if v[n.L2_HIT] >= 50 or v[n.DRAM] < 60 or v[DRAM_TRAFFIC] <= 1.5:
        return None
    return Hit(
        "medium",
        f"L2 answers {v[n.L2_HIT]:.0f} % of its sectors while DRAM works at {v[n.DRAM]:.0f} % and "
        f"moves {v[DRAM_TRAFFIC]:.1f} times the declared bytes",
    )


def _tensor_unused(v: Values) -> Hit | None:
    if not v[MATRIX_WORK] or v[TENSOR_INSTRUCTIONS] > 0:
        return None
    return Hit("high", "it multiplies matrices without one instruction of the tensor cores")


RULES = (
    Rule(
        id="severe_memory_bound",
        needs=(n.MEMORY, n.SM, n.DRAM, n.L2, n.L1),
        judge=_severe_memory_bound,
        role="class",
        action="move fewer bytes: fuse what reads the same data, keep it in shared memory or "
        "registers, use narrower types; more parallelism does not help",
        because=BOTTLENECK,
        agrees=(("SOLBottleneck", "High Memory Throughput"), ("SOLBottleneck", "High Throughput")),
    ),
    Rule(
        id="near_peak_compute",
        needs=(n.SM, n.TENSOR),
        judge=_near_peak_compute,
        role="class",
        action="do less work, or move it to a faster unit (tensor cores, narrower types); little "
        "else is left",
        because="80 % is high throughput for SOLBottleneck and very high for HighPipeUtilization; "
        "ours: from 90 % on a tenth at most is left for all else together, so it comes first",
        agrees=(
            ("SOLBottleneck", "High Compute Throughput"),
            ("HighPipeUtilization", "High Utilization"),
            ("HighPipeUtilization", "Very High Utilization"),
        ),
    ),
    Rule(
        id="latency_bound",
        needs=(n.MEMORY, n.SM),
        judge=_latency_bound,
        role="class",
        action="see what warps wait for (stalls); give each scheduler more to choose from: more "
        "warps, more independent loads in flight, larger tiles with pipelined loads",
        because=BOTTLENECK + "; below half of the latency line it is severe (ours)",
        agrees=(("SOLBottleneck", "Latency Issue"),),
    ),
    Rule(
        id="huge_dram_traffic",
        needs=(DRAM_TRAFFIC, DRAM_BUSY),
        judge=_huge_dram_traffic,
        role="cause",
        action="read each value once: tile for reuse, order blocks so that neighbours share L2, "
        "drop intermediate arrays by fusing launches",
        because="ours: caches are flushed before a launch, so 1.0 is a perfect kernel; 1.5 leaves "
        "room for write-allocation and metadata, 3 is a third of the bandwidth used well. Traffic "
        "costs time where DRAM is busy: severe from the 60 % of SOLBottleneck on, a note below 40, "
        "as products of matrices on an H200 moved 15 times their bytes at 1 % of the peak",
        of_run=True,
    ),
    Rule(
        id="low_l1_hit",
        needs=(n.L1_HIT, n.L2, L2_TRAFFIC, COPIED),
        judge=_low_l1_hit,
        role="cause",
        action="keep what is read again in shared memory or registers; let neighbouring threads "
        "read neighbouring data at the same time",
        because="ours: a streaming kernel has 0 % and is right, so L2 must be busy and its traffic "
        "beyond the declared bytes as well; asynchronous copies to shared memory pass L1, and what "
        "is read again is kept there",
    ),
    Rule(
        id="low_l2_hit",
        needs=(n.L2_HIT, n.DRAM, DRAM_TRAFFIC),
        judge=_low_l2_hit,
        role="cause",
        action="order blocks so that those which run together read the same data (grouped or "
        "swizzled block order), or work on less at a time",
        because="ours: as for L1, only where DRAM is busy with bytes that were read before",
    ),
    Rule(
        id="tensor_unused",
        needs=(MATRIX_WORK, TENSOR_INSTRUCTIONS),
        judge=_tensor_unused,
        role="cause",
        action="use tl.dot, wmma, mma or wgmma with types and tile sizes that tensor cores take",
        because="ours, by opcodes: on an H100 the counter of the tensor pipe read 3 % for a kernel "
        "without one tensor instruction, so a threshold on it misleads",
        of_run=True,
    ),
)
