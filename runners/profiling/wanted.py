"""What is collected, and which instances of it are kept."""

from __future__ import annotations

SECTIONS = (
    "SpeedOfLight",
    "LaunchStats",
    "Occupancy",
    "SchedulerStats",
    "WarpStateStats",
    "MemoryWorkloadAnalysis",
    "MemoryWorkloadAnalysis_Chart",
    "MemoryWorkloadAnalysis_Tables",
    "ComputeWorkloadAnalysis",
    "InstructionStats",
    "SourceCounters",
    "WorkloadDistribution",
)
"""What the rules need, and no more: rooflines and sampling over time cost passes and half of the
report (5 s against 8 s of `--set full` for one kernel on an H100)."""

BY_OPCODE = frozenset({"sass__inst_executed_per_opcode"})
"""metrics whose instances are kept with the metric"""

SAMPLES = "smsp__pcsamp_sample_count"
STALL = "smsp__pcsamp_warps_issue_stalled_"
NOT_ISSUED = "_not_issued"
BY_INSTRUCTION = frozenset(
    {
        SAMPLES,
        "inst_executed",
        "thread_inst_executed_true",
        "memory_l2_theoretical_sectors_global",
        "memory_l2_theoretical_sectors_global_ideal",
        "memory_l2_theoretical_sectors_local",
        "memory_l1_wavefronts_shared",
        "memory_l1_wavefronts_shared_ideal",
        "smsp__branch_targets_threads_divergent",
    }
)


def by_instruction(name: str) -> bool:
    """Whether the instances of a metric, by address, are kept. Stall reasons are, all samples of
    each; those at cycles without an issue are a part of them."""
    stall = name.startswith(STALL) and not name.endswith(NOT_ISSUED)
    return stall or name in BY_INSTRUCTION
