"""Whether this process may read a GPU's counters, as far as the system says."""

from __future__ import annotations

import re
from pathlib import Path

PARAMS, STATUS = Path("/proc/driver/nvidia/params"), Path("/proc/self/status")
SYS_ADMIN, PERFMON = 21, 38
"""capabilities, of which the driver accepts the second from release 565 on"""
WHY = "only administrators may read the GPU's counters here (ERR_NVGPUCTRPERM)"
HOW = (
    "run the server as root or with CAP_SYS_ADMIN (CAP_PERFMON from driver 565 on), or load the "
    "driver with NVreg_RestrictProfilingToAdminUsers=0; until then there are static findings and "
    "a roofline from measured times"
)


def why_no_counters(params: Path = PARAMS, status: Path = STATUS) -> str:
    """Why ncu will not be let near the counters; empty when nothing speaks against it."""
    restricted = re.search(r"^RmProfilingAdminOnly:\s*1$", _text(params), re.MULTILINE)
    held = re.search(r"^CapEff:\s*([0-9a-f]+)$", _text(status), re.MULTILINE)
    if restricted is None or held is None:
        return ""
    capabilities = int(held[1], 16)
    return "" if capabilities >> SYS_ADMIN & 1 or capabilities >> PERFMON & 1 else WHY


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
