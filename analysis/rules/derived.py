"""Values that rules need and no single metric is. None where one of their parts is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...runners.profiling.model import KernelProfile, Profile
from ...runners.profiling.wanted import SAMPLES
from ..profile import names
from ..profile.lines import hottest
from ..profile.shares import total, weighted
from .model import Facts

DRAM_TRAFFIC = "DRAM bytes over declared bytes"
L2_TRAFFIC = "L2 bytes over declared bytes"
DRAM_BUSY = "DRAM throughput of the run"
COPIED = "asynchronous copies among global loads"
ATOMICS = "global atomics"
TENSOR_INSTRUCTIONS = "tensor instructions of the run"
MATRIX_WORK = "multiplies matrices"
UNFUSED = "unfused fp32 operations over fused ones"
UNFUSED_SHARE = "unfused fp32 operations among all instructions"
HOT_SHARE = "samples at the hottest line"
HOT_REASON = "its first stall among them"

TENSOR_OPCODE = re.compile(r"(?:[HIDQB]G?MMA|OMMA|UTC\w*MMA)")
"""mma and wgmma of sm_70 to sm_100: HMMA, HGMMA, IMMA, IGMMA, DMMA, QGMMA, BMMA, UTCHMMA ..."""
ATOMIC_OPCODE = re.compile(r"ATOMG?|REDG?|UBLKRED|UTMAREDG")
"""of global or generic memory; ATOMS is of shared memory, REDUX of registers"""
COPY_OPCODE, LOAD_OPCODE = re.compile(r"LDGSTS|UBLKCP|UTMALDG"), re.compile(r"LDG?")
"""global loads into shared memory (cp.async, TMA), and into registers"""
ADDITION, MULTIPLICATION = "FADD", "FMUL"
FUSED_OPCODE = "FFMA"


@dataclass(frozen=True, slots=True)
class Derived:
    """What it is made of: metrics, and perhaps something beside the profile."""

    metrics: tuple[str, ...]
    of: Callable[[KernelProfile, Profile, Facts], float | None]
    beside: str = ""
    """what else is missing when all metrics are there"""


def _traffic(profile: Profile, facts: Facts, *metrics: str) -> float | None:
    parts = [total(profile, name) for name in metrics]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or not facts.work.bytes:
        return None
    return sum(known) / facts.work.bytes


def _dram(launch: KernelProfile, profile: Profile, facts: Facts) -> float | None:
    del launch
    return _traffic(profile, facts, names.DRAM_READ, names.DRAM_WRITTEN)


def _l2(launch: KernelProfile, profile: Profile, facts: Facts) -> float | None:
    del launch
    return _traffic(profile, facts, names.L2_READ, names.L2_WRITTEN)


def _dram_busy(launch: KernelProfile, profile: Profile, facts: Facts) -> float | None:
    del launch, facts
    return weighted(profile, names.DRAM)


def _copied(launch: KernelProfile, profile: Profile, facts: Facts) -> float | None:
    del profile, facts
    counts = _opcodes(launch)
    copies = _executed(counts, COPY_OPCODE)
    loads = copies + _executed(counts, LOAD_OPCODE)
    return copies / max(1.0, loads) if counts else None


def _atomics(launch: KernelProfile, profile: Profile, facts: Facts) -> float | None:
    del profile, facts
    counts = _opcodes(launch)
    return _executed(counts, ATOMIC_OPCODE) if counts else None


def _tensor(launch: KernelProfile, profile: Profile, facts: Facts) -> float | None:
    del launch, facts
    by_launch = [_opcodes(each) for each in profile.launches]
    if not all(by_launch):
        return None
    return sum(_executed(counts, TENSOR_OPCODE) for counts in by_launch)


def _matrix(launch: KernelProfile, profile: Profile, facts: Facts) -> float | None:
    del launch, profile
    return None if facts.matrix_work is None else float(facts.matrix_work)


def _unfused(launch: KernelProfile, profile: Profile, facts: Facts) -> float | None:
    del profile, facts
    counts = _opcodes(launch)
    if not counts:
        return None
    return _unpaired(counts) / max(1.0, counts.get(FUSED_OPCODE, 0.0))


def _unfused_share(launch: KernelProfile, profile: Profile, facts: Facts) -> float | None:
    del profile, facts
    counts = _opcodes(launch)
    return _unpaired(counts) / sum(counts.values()) if counts else None


def _hot_share(launch: KernelProfile, profile: Profile, facts: Facts) -> float | None:
    del profile, facts
    found = hottest(launch.instructions) if SAMPLES in launch.metrics else None
    return None if found is None else found[0]


def _hot_reason(launch: KernelProfile, profile: Profile, facts: Facts) -> float | None:
    del profile, facts
    found = hottest(launch.instructions) if SAMPLES in launch.metrics else None
    return None if found is None else found[1]


def _opcodes(launch: KernelProfile) -> Mapping[str, float]:
    metric = launch.metrics.get(names.OPCODES)
    return {} if metric is None else metric.instances


def _executed(counts: Mapping[str, float], opcode: re.Pattern[str]) -> float:
    """Warp instructions of these opcodes."""
    return sum(number for name, number in counts.items() if opcode.fullmatch(name))


def _unpaired(counts: Mapping[str, float]) -> float:
    return in_pairs(counts.get(ADDITION, 0.0), counts.get(MULTIPLICATION, 0.0))


def in_pairs(additions: float, multiplications: float) -> float:
    """How many of these operations at most are pairs that one FMA would do."""
    return 2 * min(additions, multiplications)


_BYTES = "bytes of the contract"
_BY_OPCODE = "its instances by opcode"
_BY_LINE = "samples by instruction"
DERIVED: Mapping[str, Derived] = {
    DRAM_TRAFFIC: Derived((names.DRAM_READ, names.DRAM_WRITTEN), _dram, _BYTES),
    L2_TRAFFIC: Derived((names.L2_READ, names.L2_WRITTEN), _l2, _BYTES),
    DRAM_BUSY: Derived((names.DRAM,), _dram_busy, "durations of the launches"),
    COPIED: Derived((names.OPCODES,), _copied, _BY_OPCODE),
    ATOMICS: Derived((names.OPCODES,), _atomics, _BY_OPCODE),
    TENSOR_INSTRUCTIONS: Derived((names.OPCODES,), _tensor, _BY_OPCODE),
    MATRIX_WORK: Derived((), _matrix, "whether it multiplies matrices"),
    UNFUSED: Derived((names.OPCODES,), _unfused, _BY_OPCODE),
    UNFUSED_SHARE: Derived((names.OPCODES,), _unfused_share, _BY_OPCODE),
    HOT_SHARE: Derived((SAMPLES,), _hot_share, _BY_LINE),
    HOT_REASON: Derived((SAMPLES,), _hot_reason, _BY_LINE),
}
