"""Exact names of the metrics that rules look at, as they are on sm_80 and sm_90."""

from __future__ import annotations

from ...runners.profiling.wanted import SAMPLES

# SpeedOfLight; percent of the sustained peak
SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
L2 = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
L1 = "l1tex__throughput.avg.pct_of_peak_sustained_active"
BUSIEST_ATOMICS = "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed"
"""of the slice of L2 that works most on atomics: all of one address are done by one slice"""
TIME = "gpu__time_duration.sum"  # ns
CLOCK = "gpc__cycles_elapsed.avg.per_second"
PASSES = "profiler__replayer_passes"
SM_CYCLES = "sm__cycles_active.avg"
MOST_SM_CYCLES = "sm__cycles_active.max"

# ComputeWorkloadAnalysis, InstructionStats
TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
IPC = "sm__inst_executed.avg.per_cycle_active"
INSTRUCTIONS = "smsp__inst_executed.sum"
OPCODES = "sass__inst_executed_per_opcode"
LOCAL_LOADS = "sass__inst_executed_local_loads"
LOCAL_STORES = "sass__inst_executed_local_stores"

# SchedulerStats, WarpStateStats
ISSUE = "smsp__issue_active.avg.per_cycle_active"
LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
ACTIVE_THREADS = "smsp__thread_inst_executed_per_inst_executed.ratio"
WORKING_THREADS = "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"

# Occupancy, LaunchStats
THEORETICAL = "sm__maximum_warps_per_active_cycle_pct"
ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"
LIMIT_REGISTERS = "launch__occupancy_limit_registers"
LIMIT_SHARED = "launch__occupancy_limit_shared_mem"
LIMIT_WARPS = "launch__occupancy_limit_warps"
LIMIT_BLOCKS = "launch__occupancy_limit_blocks"
REGISTERS = "launch__registers_per_thread"
SHARED = "launch__shared_mem_per_block"
WAVES = "launch__waves_per_multiprocessor"
GRID = "launch__grid_size"
SMS = "device__attribute_multiprocessor_count"

# MemoryWorkloadAnalysis and its tables
DRAM_READ, DRAM_WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
L2_READ, L2_WRITTEN = "l1tex__m_xbar2l1tex_read_bytes.sum", "l1tex__m_l1tex2xbar_write_bytes.sum"
L1_HIT, L2_HIT = "l1tex__t_sector_hit_rate.pct", "lts__t_sector_hit_rate.pct"
LOADED = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"
STORED = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"
LOAD_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
STORE_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"
LOAD_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
STORE_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"

# SourceCounters
SECTORS = "memory_l2_theoretical_sectors_global"
IDEAL_SECTORS = "memory_l2_theoretical_sectors_global_ideal"
SHARED_WAVEFRONTS = "memory_l1_wavefronts_shared"
IDEAL_WAVEFRONTS = "memory_l1_wavefronts_shared_ideal"
LOCAL_SECTORS = "memory_l2_theoretical_sectors_local"


def stall(reason: str) -> str:
    """Warps that stand still for a reason, for each instruction issued (WarpStateStats)."""
    return f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


def section(name: str) -> str:
    """The section of ncu that collects a metric; empty for what is no metric of these."""
    return next((section for section, names in SECTIONS.items() if name in names), "") or (
        "WarpStateStats" if name.startswith("smsp__average_warps_issue_stalled_") else ""
    )


SECTIONS = {
    "SpeedOfLight": (SM, MEMORY, DRAM, L2, L1, BUSIEST_ATOMICS, TIME, CLOCK),
    "WorkloadDistribution": (SM_CYCLES, MOST_SM_CYCLES),
    "ComputeWorkloadAnalysis": (TENSOR, IPC),
    "InstructionStats": (INSTRUCTIONS, OPCODES, LOCAL_LOADS, LOCAL_STORES),
    "SchedulerStats": (ISSUE,),
    "WarpStateStats": (LATENCY, ACTIVE_THREADS, WORKING_THREADS),
    "Occupancy": (
        *(THEORETICAL, ACHIEVED),
        *(LIMIT_REGISTERS, LIMIT_SHARED, LIMIT_WARPS, LIMIT_BLOCKS),
    ),
    "LaunchStats": (REGISTERS, SHARED, WAVES, GRID, SMS),
    "MemoryWorkloadAnalysis": (L1_HIT, L2_HIT),
    "MemoryWorkloadAnalysis_Tables": (
        *(DRAM_READ, DRAM_WRITTEN, L2_READ, L2_WRITTEN, LOADED, STORED),
        *(LOAD_CONFLICTS, STORE_CONFLICTS, LOAD_WAVEFRONTS, STORE_WAVEFRONTS),
    ),
    "SourceCounters": (SECTORS, IDEAL_SECTORS, SHARED_WAVEFRONTS, IDEAL_WAVEFRONTS, SAMPLES),
}
"""which section of ncu collects what, read off reports of sm_90"""
