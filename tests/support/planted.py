"""A launch without a fault, and for each rule what has to change for it to fire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from profiles import launch, run

from kernelwright.analysis.profile import names as n
from kernelwright.analysis.rules.model import Facts
from kernelwright.runners.limits.limits import Work
from kernelwright.runners.profiling.model import Advice, Instruction, KernelProfile, Profile
from kernelwright.runners.profiling.wanted import SAMPLES, STALL

REASONS = (
    "barrier branch_resolving dispatch_stall drain imc_miss lg_throttle long_scoreboard "
    "math_pipe_throttle membar mio_throttle no_instruction not_selected selected short_scoreboard "
    "sleeping tex_throttle wait"
).split()
HEALTHY: Mapping[str, float] = {
    n.SM: 70, n.MEMORY: 65, n.DRAM: 60, n.L2: 50, n.L1: 45, n.TIME: 250_000,
    n.CLOCK: 1.7e9, n.PASSES: 20, n.SM_CYCLES: 1_000_000, n.MOST_SM_CYCLES: 1_010_000,
    n.TENSOR: 0, n.IPC: 2.8, n.INSTRUCTIONS: 1e8, n.LOCAL_LOADS: 0, n.LOCAL_STORES: 0,
    n.ISSUE: 0.7, n.LATENCY: 20, n.ACTIVE_THREADS: 32, n.WORKING_THREADS: 31,
    n.THEORETICAL: 100, n.ACHIEVED: 95, n.LIMIT_REGISTERS: 10, n.LIMIT_SHARED: 16,
    n.LIMIT_WARPS: 8, n.LIMIT_BLOCKS: 32, n.REGISTERS: 24, n.SHARED: 4096,
    n.WAVES: 8.0, n.GRID: 8448, n.SMS: 132,
    n.DRAM_READ: 5e8, n.DRAM_WRITTEN: 5e8, n.L2_READ: 5e8, n.L2_WRITTEN: 5e8,
    n.L1_HIT: 40, n.L2_HIT: 60, n.LOADED: 32, n.STORED: 32,
    n.LOAD_CONFLICTS: 0, n.STORE_CONFLICTS: 0, n.LOAD_WAVEFRONTS: 1e6, n.STORE_WAVEFRONTS: 1e6,
    n.BUSIEST_ATOMICS: 0, n.SECTORS: 3.2e7, n.IDEAL_SECTORS: 3.2e7, SAMPLES: 20_000,
    **{n.stall(reason): 20 / len(REASONS) for reason in REASONS},
}  # fmt: skip
OPCODES = {"FFMA": 6e7, "FADD": 1e6, "LDG": 1e7, "IADD3": 2e7, "BRA": 1e6}
FACTS = Facts(work=Work(bytes=1e9, flops=2e9), matrix_work=False)


@dataclass(frozen=True)
class Planted:
    """What differs from the healthy launch."""

    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    opcodes: Mapping[str, float] = field(default_factory=lambda: OPCODES)
    facts: Facts = FACTS
    hottest: int = 1
    """times as many samples at the first line as at each other"""


def _limit(name: str) -> Planted:
    return Planted({name: 2, n.THEORETICAL: 25, n.ACHIEVED: 24})


def _stall(reason: str) -> Planted:
    return Planted({n.stall(reason): 12, n.LATENCY: 22, n.ISSUE: 0.3})


PLANTED: Mapping[str, Planted] = {
    "severe_memory_bound": Planted({n.MEMORY: 92, n.DRAM: 92, n.SM: 30}),
    "near_peak_compute": Planted({n.SM: 91}),
    "latency_bound": Planted({n.MEMORY: 20, n.SM: 12}),
    "huge_dram_traffic": Planted({n.DRAM_READ: 4e9}),
    "low_l1_hit": Planted({n.L1_HIT: 3, n.L2: 85, n.L2_READ: 8e9}),
    "low_l2_hit": Planted({n.L2_HIT: 20, n.DRAM: 85, n.DRAM_READ: 4e9}),
    "tensor_unused": Planted(facts=FACTS.model_copy(update={"matrix_work": True})),
    "low_occupancy": Planted({n.THEORETICAL: 12, n.ACHIEVED: 12}),
    "occupancy_gap": Planted({n.ACHIEVED: 60}),
    "register_limited": _limit(n.LIMIT_REGISTERS),
    "smem_limited": _limit(n.LIMIT_SHARED),
    "warp_limited": _limit(n.LIMIT_WARPS),
    "block_limited": _limit(n.LIMIT_BLOCKS),
    "low_waves_per_sm": Planted({n.GRID: 16, n.WAVES: 0.02}),
    "tail_effect": Planted({n.WAVES: 1.1}),
    "high_waves_per_sm": Planted({n.WAVES: 500.5, n.TIME: 300_000}),
    "imbalance": Planted({n.MOST_SM_CYCLES: 2_000_000}),
    "atomic_contention": Planted(
        {n.BUSIEST_ATOMICS: 80, n.MEMORY: 2, n.SM: 1, n.ISSUE: 0.01},
        opcodes={"LDG": 5e5, "REDG": 5e5, "IMAD": 2e6},
    ),
    "poor_coalescing": Planted({n.IDEAL_SECTORS: 4e6, n.LOADED: 4}),
    "smem_bank_conflicts": Planted({n.LOAD_CONFLICTS: 31e6, n.LOAD_WAVEFRONTS: 32e6}),
    "register_spill": Planted({n.LOCAL_LOADS: 9e6, n.LOCAL_STORES: 2e6}),
    "stall_long_scoreboard": _stall("long_scoreboard"),
    "stall_short_scoreboard": _stall("short_scoreboard"),
    "stall_mio_throttle": _stall("mio_throttle"),
    "stall_lg_throttle": _stall("lg_throttle"),
    "stall_math_pipe": _stall("math_pipe_throttle"),
    "stall_barrier": _stall("barrier"),
    "stall_wait": _stall("wait"),
    "stall_membar": _stall("membar"),
    "low_ipc": Planted({n.ISSUE: 0.1, n.IPC: 0.4}),
    "divergence": Planted({n.ACTIVE_THREADS: 5, n.WORKING_THREADS: 4}),
    "non_fused_fp": Planted(opcodes={**OPCODES, "FADD": 3e7, "FMUL": 3e7}),
    "hot_line": Planted(hottest=30),
}
"""by rule; the others may fire as well where faults come together"""


def profile(planted: Planted, advice: tuple[Advice, ...] = ()) -> Profile:
    """The healthy launch with what was planted."""
    return run(planted_launch(planted, advice=advice))


def planted_launch(
    planted: Planted, kernel: str = "k", advice: tuple[Advice, ...] = ()
) -> KernelProfile:
    """The same as one launch of several."""
    return launch(
        {**HEALTHY, **planted.metrics},
        kernel=kernel,
        opcodes=planted.opcodes,
        advice=advice,
        instructions=instructions(planted.hottest),
    )


def instructions(hottest: int, lines: int = 20) -> tuple[Instruction, ...]:
    """As many lines of one instruction each, all with the same samples but for the first one."""
    return tuple(
        Instruction(
            offset=16 * number,
            sass=f"LDG.E R{number}, desc[UR4][R2.64]",
            file="/home/somebody/kernel.cu",
            line=10 + number,
            counters={
                SAMPLES: 100.0 * (1 if number else hottest),
                f"{STALL}long_scoreboard": 80.0 * (1 if number else hottest),
                f"{STALL}selected": 20.0 * (1 if number else hottest),
            },
        )
        for number in range(lines)
    )
