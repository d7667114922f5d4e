"""Rules on warps that wait: for what, where, and whether it matters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...runners.profiling.wanted import SAMPLES, STALL
from ..profile import names as n
from .derived import HOT_REASON, HOT_SHARE, UNFUSED, UNFUSED_SHARE
from .model import Blame, Hit, Role, Rule, Values
from .parallelism import ISSUING

SATURATED = 80.0
"""percent of what a unit can do, with which waiting is no fault"""
HALF_BUSY = 60.0
"""percent, from which on waiting is no severe one: SOLBottleneck calls no such launch latency
bound"""
CPI_STALL = "NVIDIA's CPIStall: 30 % of the latency, and less than 0.8 instructions a cycle issued"
BESIDE_BUSY_UNITS = (
    "; ours: no severe fault while a unit is at 60 % of its peak, a note at 80: warps that feed it "
    "wait by design, as those of a wgmma pipeline at its barriers (37 % of their time on an H200, "
    "with tensor cores at 94)"
)
WARP = 32
FEW_THREADS = 24
UNITS = {n.TENSOR: "tensor cores", n.SM: "compute", n.MEMORY: "memory"}
COMPUTE = (n.TENSOR, n.SM)
"""what a full queue of memory instructions is held against: where memory is busy as well, too many
of them are what it is busy with"""
Judge = Callable[[Values], Hit | None]


def _stalled(reason: str, words: str, share_of_latency: float) -> Judge:
    def judge(v: Values) -> Hit | None:
        share = v[n.stall(reason)] / v[n.LATENCY] if v[n.LATENCY] else 0.0
        if v[n.ISSUE] >= ISSUING or share <= share_of_latency:
            return None
        return Hit(
            "high" if share >= 0.5 else "medium",
            f"{100 * share:.0f} % of a warp's time between two instructions "
            f"({v[n.stall(reason)]:.1f} of {v[n.LATENCY]:.1f} cycles) it waits {words}",
        )

    return judge


def _less_beside(units: Sequence[str], judge: Judge) -> Judge:
    """The same rule, which says less the nearer the busiest of these units is to its peak."""

    def judge_beside(v: Values) -> Hit | None:
        hit, name = judge(v), max(units, key=lambda unit: v[unit])
        if hit is None or v[name] < HALF_BUSY:
            return hit
        if v[name] < SATURATED:
            return replace(hit, severity="medium")
        return replace(
            hit,
            severity="low",
            text=f"{hit.text}; with {UNITS[name]} at {v[name]:.0f} % of the peak that costs little",
        )

    return judge_beside


def _waiting_for_memory(v: Values) -> Hit | None:
    judge = _stalled("long_scoreboard", "for data of global or local memory", 0.3)
    hit = judge(v)
    if hit is None or v[n.MEMORY] < SATURATED:
        return _less_beside(tuple(UNITS), judge)(v)
    busy = f"with memory at {v[n.MEMORY]:.0f} % of its peak more loads in flight bring nothing"
    return Hit("low", f"{hit.text}; {busy}", "take load off the busiest level of memory first")


def _stall_rule(
    rule: str,
    reason: str,
    words: str,
    action: str,
    *,
    title: str,
    role: Role = "symptom",
    least: float = 0.3,
    units: tuple[str, ...] = tuple(UNITS),
    page: str = "",
) -> Rule:
    ours = f"ours: {least:.0%} of the latency, issue slots as in NVIDIA's CPIStall"
    return Rule(
        id=rule,
        needs=(n.stall(reason), n.LATENCY, n.ISSUE, *units),
        judge=_less_beside(units, _stalled(reason, words, least)),
        role=role,
        action=action,
        because=(CPI_STALL if least == 0.3 else ours) + BESIDE_BUSY_UNITS,
        agrees=(("CPIStall", title),),
        blame=Blame(STALL + reason),
        page=page,
    )


def _low_ipc(v: Values) -> Hit | None:
    if v[n.ISSUE] >= 0.6 or v[n.TENSOR] >= 60 or v[n.MEMORY] >= SATURATED:
        return None
    return Hit(
        "medium" if v[n.ISSUE] < 0.2 else "low",
        f"a scheduler issues {v[n.ISSUE]:.2f} instructions a cycle (a multiprocessor "
        f"{v[n.IPC]:.2f} of 4)",
    )


def _divergence(v: Values) -> Hit | None:
    threads = min(v[n.ACTIVE_THREADS], v[n.WORKING_THREADS])
    if threads >= FEW_THREADS:
        return None
    off = "" if v[n.ACTIVE_THREADS] < FEW_THREADS else " (the others are predicated off)"
    return Hit(
        "high" if threads < 12 else "medium" if threads < 20 else "low",
        f"{threads:.1f} of {WARP} threads of a warp work on average{off}",
    )


def _non_fused(v: Values) -> Hit | None:
    if v[UNFUSED] <= 0.1 or v[UNFUSED_SHARE] < 0.1:
        return None
    return Hit(
        "low",
        f"up to {100 * v[UNFUSED_SHARE]:.0f} % of the instructions are pairs of an fp32 addition "
        f"and a multiplication that are not fused ({v[UNFUSED]:.2g} of them for each FFMA)",
    )


def _hot_line(v: Values) -> Hit | None:
    if v[n.ISSUE] >= ISSUING or v[HOT_SHARE] <= 0.1 or v[HOT_REASON] <= 0.3:
        return None
    return Hit(
        "medium" if v[HOT_SHARE] >= 0.4 else "low",
        f"{100 * v[HOT_SHARE]:.0f} % of all samples lie at one line, "
        f"{100 * v[HOT_REASON]:.0f} % of these for one reason",
    )


RULES = (
    Rule(
        id="stall_long_scoreboard",
        needs=(n.stall("long_scoreboard"), n.LATENCY, n.ISSUE, *UNITS),
        judge=_waiting_for_memory,
        role="symptom",
        action="load earlier than needed (software pipeline, cp.async, TMA), more loads in flight "
        "a thread, more reuse from shared memory",
        because=CPI_STALL + BESIDE_BUSY_UNITS,
        agrees=(("CPIStall", "Long Scoreboard"),),
        blame=Blame(f"{STALL}long_scoreboard"),
    ),
    _stall_rule(
        "stall_short_scoreboard",
        "short_scoreboard",
        "for shared memory or the special function unit",
        "look for bank conflicts; wider accesses of shared memory; fewer special functions "
        "(exp2 for exp, multiplications by a reciprocal)",
        title="Short Scoreboard",
    ),
    _stall_rule(
        "stall_mio_throttle",
        "mio_throttle",
        "because the queue of shared memory and special functions is full",
        "fewer and wider instructions of shared memory; shuffles or registers in their place",
        title="MIO Throttle",
        units=COMPUTE,
    ),
    _stall_rule(
        "stall_lg_throttle",
        "lg_throttle",
        "because the queue of global and local memory is full",
        "fewer and wider global accesses (16 bytes a thread); no spills",
        title="LG Throttle",
        units=COMPUTE,
        page="vectorised-access",
    ),
    _stall_rule(
        "stall_math_pipe",
        "math_pipe_throttle",
        "for a busy arithmetic unit",
        "mix instructions of different units, or do the same with fewer (fused, packed, tensor)",
        title="Math Pipe Throttle",
        role="cause",
    ),
    _stall_rule(
        "stall_barrier",
        "barrier",
        "at a barrier of its block",
        "fewer barriers (double buffers, warp-level ones), smaller blocks, equal work for all "
        "warps before each barrier",
        title="Barrier",
        role="cause",
    ),
    _stall_rule(
        "stall_wait",
        "wait",
        "for the fixed latency of its own instruction",
        "more independent instructions: unroll, several accumulators, more warps",
        title="Wait",
        least=0.2,
    ),
    _stall_rule(
        "stall_membar",
        "membar",
        "at a memory fence",
        "fewer or narrower fences (block instead of device), fewer outstanding stores before them",
        title="Membar",
        role="cause",
        least=0.2,
    ),
    Rule(
        id="low_ipc",
        needs=(n.ISSUE, n.IPC, n.TENSOR, n.MEMORY),
        judge=_low_ipc,
        role="symptom",
        action="see what warps wait for: the largest stall says more",
        because="NVIDIA's IssueSlotUtilization: 0.6; ours: no fault while tensor cores are at 60 % "
        "or a level of memory at 80 %, which few instructions can keep busy",
        agrees=(("IssueSlotUtilization", ""),),
    ),
    Rule(
        id="divergence",
        needs=(n.ACTIVE_THREADS, n.WORKING_THREADS),
        judge=_divergence,
        role="cause",
        action="let all threads of a warp take the same way: sort or group work, branch by warp "
        "instead of by thread, arithmetic in place of short branches",
        because="NVIDIA's ThreadDivergence: 24 of 32 threads",
        agrees=(("ThreadDivergence", ""),),
        blame=Blame("smsp__branch_targets_threads_divergent"),
    ),
    Rule(
        id="non_fused_fp",
        needs=(UNFUSED, UNFUSED_SHARE),
        judge=_non_fused,
        role="cause",
        action="write a * b + c so that it fuses, or allow contraction where the contract's math "
        "does",
        because="NVIDIA's FPInstructions: 0.1 of the fused ones; ours: and a tenth of all, of "
        "those that can be pairs, since additions alone, as in a sum, have nothing to fuse with",
        agrees=(("FPInstructions", "FP32"),),
    ),
    Rule(
        id="hot_line",
        needs=(HOT_SHARE, HOT_REASON, n.ISSUE),
        judge=_hot_line,
        role="symptom",
        action="work on that line first: ptx_for_source_span shows its instructions",
        because="as NVIDIA's CPIStall marks lines: a tenth of all samples, 30 % for one reason, "
        "and less than 0.8 instructions a cycle issued",
        blame=Blame(SAMPLES),
    ),
)
