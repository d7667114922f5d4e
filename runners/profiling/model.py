"""What a profile says: counters, NVIDIA's advice and what happened at each instruction.

Plain records, whoever read them: NVIDIA's module, or the tables that ncu prints. Units are ncu's
base units (ns, byte, byte/s, hz, %); what ncu did not collect is not there, and never 0.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..model import Record

AdviceKind = Literal["information", "optimization", "warning", "error"]
Scope = Literal["local", "global"]


class Metric(Record):
    """One value of a launch by its exact name; some have instances (by opcode, for example)."""

    value: float | str
    unit: str = ""
    instances: dict[str, float] = Field(default_factory=dict[str, float])
    """by what tells them apart, as text: of opcodes always (`wanted.py`), else when asked for"""


class Advice(Record):
    """What one of NVIDIA's rules says of a launch."""

    rule: str
    """identifier: CPIStall"""
    name: str
    section: str = ""
    kind: AdviceKind
    title: str = ""
    message: str
    """without its markup"""
    speedup_percent: float | None = None
    """NVIDIA's estimate; None: it gives none"""
    scope: Scope | None = None
    """what the estimate is of: `global` the launch, `local` one unit, which may be no bottleneck"""
    metrics: tuple[str, ...] = ()
    """that it looks at"""


class Instruction(Record):
    """One machine instruction and what was counted at it."""

    function: int = 0
    """which function of the launch, in the order of their addresses; 0 where there is one alone"""
    offset: int
    """bytes from the beginning of its function"""
    sass: str = ""
    ptx: str = ""
    """the text of its line of PTX"""
    file: str = ""
    line: int | None = None
    counters: dict[str, float] = Field(default_factory=dict[str, float])
    """by metric; a counter that is not there counted nothing"""


class LaunchShape(Record):
    """What was launched."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]


class KernelProfile(Record):
    """One launch of a kernel."""

    kernel: str
    """the entry, as the machine code calls it"""
    name: str
    """as the source calls it"""
    shape: LaunchShape
    device: str = ""
    capability: int | None = None
    """90 for sm_90"""
    metrics: dict[str, Metric]
    advice: tuple[Advice, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    """those at which anything was counted, by function and offset"""

    def number(self, name: str) -> float | None:
        """The value of a metric; None where it was not collected or is no number."""
        metric = self.metrics.get(name)
        return metric.value if metric and isinstance(metric.value, float) else None

    @property
    def nanoseconds(self) -> float | None:
        """The duration under the profiler: a share among launches, never a time to report."""
        return self.number("gpu__time_duration.sum")


class Profile(Record):
    """A report: every launch of one run, in order. `launches` is never empty."""

    launches: tuple[KernelProfile, ...] = Field(min_length=1)
    written_by: str = ""
    """version of ncu; empty: not known"""
    read_by: str = ""
    """what read it: "ncu-report 2026.3.1", "ncu --csv" """
