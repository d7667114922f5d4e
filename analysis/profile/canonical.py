"""The numbers that people ask for first, under short names, as one dictionary."""

from __future__ import annotations

from collections.abc import Mapping

from ...runners.profiling.model import KernelProfile
from . import names

CANONICAL: Mapping[str, str] = {
    "time_ns": names.TIME,
    "sm_throughput_pct": names.SM,
    "memory_throughput_pct": names.MEMORY,
    "dram_throughput_pct": names.DRAM,
    "l2_throughput_pct": names.L2,
    "l1_hit_pct": names.L1_HIT,
    "l2_hit_pct": names.L2_HIT,
    "dram_read_bytes": names.DRAM_READ,
    "dram_written_bytes": names.DRAM_WRITTEN,
    "tensor_pipe_pct": names.TENSOR,
    "ipc": names.IPC,
    "issue_active": names.ISSUE,
    "theoretical_occupancy_pct": names.THEORETICAL,
    "achieved_occupancy_pct": names.ACHIEVED,
    "registers_per_thread": names.REGISTERS,
    "shared_bytes_per_block": names.SHARED,
    "waves_per_sm": names.WAVES,
    "shared_load_conflicts": names.LOAD_CONFLICTS,
    "shared_store_conflicts": names.STORE_CONFLICTS,
    "bytes_per_loaded_sector": names.LOADED,
    "bytes_per_stored_sector": names.STORED,
}
"""by our name, Nsight Compute's"""


def canonical(launch: KernelProfile) -> dict[str, float]:
    """What a launch has of these; one that was not collected, or is no number, is left out."""
    found = {ours: launch.metrics.get(theirs) for ours, theirs in CANONICAL.items()}
    return {
        ours: float(metric.value)
        for ours, metric in found.items()
        if metric is not None and not isinstance(metric.value, str)
    }
