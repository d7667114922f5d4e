"""The nouns of the evaluator: variant, artifact facts, gate results, comparison, evaluation.

All are frozen records: they travel between processes, into the store and out to clients.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from .kept import Evidence, Message

Tier = Literal["device", "native", "program"]


class Record(BaseModel):
    """A frozen value that is stored or sent; unknown fields are a mistake.

    What checks and writes a model is made when it is first used: a process that times kernels loads
    dozens of models and uses five, and making all of them took it a third of its start.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Ending(StrEnum):
    """How an evaluation ended; exactly one a variant."""

    build_failed = "build_failed"
    rejected = "rejected"  # the static screen or the plan check refused it
    launch_failed = "launch_failed"  # it crashed
    timed_out = "timed_out"
    wrong = "wrong"
    unsafe = "unsafe"  # it wrote where it must not
    cheated = "cheated"
    unstable = "unstable"  # noise kept it from a verdict
    slower = "slower"
    tie = "tie"
    faster = "faster"
    lost = "lost"  # our own process failed; nothing is known of the variant

    @property
    def measured(self) -> bool:
        """Whether a comparison belongs to this ending."""
        return self in (Ending.slower, Ending.tie, Ending.faster, Ending.unstable)

    @property
    def final(self) -> bool:
        """Whether the same variant must not be paid for again."""
        return self not in (Ending.lost, Ending.unstable)


def content_hash(value: Any, length: int = 12) -> str:
    """Hexadecimal digest of a JSON value; key order does not matter."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:length]


class BuildOptions(Record):
    """What the compiler is told beside the source."""

    compiler: str | None = None
    """g++, clang++ ...; None: the toolchain's first choice"""
    flags: tuple[str, ...] | None = None
    """None: the spec's flags, else the toolchain's default"""


class Variant(Record):
    """Source, plan, build options and parameter values of a kernel."""

    kernel_id: str
    source: str
    source_key: str
    """hash of the normalised source: layout and comments left out (`normalise.source_key`)"""
    plan: dict[str, Any] | None = None
    """a launch plan, or Triton's launch, in place of the spec's"""
    options: BuildOptions = BuildOptions()
    parameters: dict[str, int] = Field(default_factory=dict[str, int])

    @property
    def variant_id(self) -> str:
        """Content hash: the same kernel written with other names of files is the same variant."""
        content = {
            "kernel": self.kernel_id,
            "source": self.source_key,
            "plan": self.plan,
            "options": self.options.model_dump(),
            "parameters": self.parameters,
        }
        return "v" + content_hash(content)


class Proposed(Record):
    """What a planner may say of a candidate: a method, and what of the node changes."""

    method: str = Field(min_length=1, max_length=200)
    """canonical move id, or free text"""
    detail: str = ""
    """what exactly was changed, for the history"""
    source: str | None = None
    """the whole new file"""
    diff: str | None = None
    """unified diff against the node's source; line numbers need not be exact"""
    plan: dict[str, Any] | None = None
    options: BuildOptions | None = None
    parameters: dict[str, int] | None = None
    """values that change; the others stay as they are in the node"""
    knobs: dict[str, tuple[int, ...]] | None = None
    """values to be tuned together, as one candidate: of parameters, or of constants by name that
    its source holds (`#define TILE 32`, `constexpr int kUnroll = 4`, `BLOCK: tl.constexpr = 64`)"""
    prior: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """relative weight among the candidates of one question"""
    predicted_gain: float | None = None
    """expected speedup over the node minus 1; None: unknown"""


class Candidate(Proposed):
    """A concrete proposal: a method and any of diff, full source, plan, options, parameters."""

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.source is not None and self.diff is not None:
            raise ValueError("give source or diff, not both")
        for name, text in (("source", self.source), ("diff", self.diff), ("detail", self.detail)):
            if not _is_text(text or ""):
                raise ValueError(f"{name} holds half a surrogate pair, which is no text")
        parts = (self.source, self.diff, self.plan, self.options, self.parameters, self.knobs)
        if all(p is None for p in parts):
            raise ValueError("a candidate needs source, diff, plan, options, parameters or knobs")
        if self.knobs is not None and not (self.knobs and all(self.knobs.values())):
            raise ValueError("knobs are names with at least one value each")
        return self


def _is_text(text: str) -> bool:
    """Whether it can be written to a file: JSON may hold half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class KernelFacts(Record):
    """What a compiler told about one GPU kernel; None: it did not tell."""

    entry: str
    registers: int | None = None
    """a thread"""
    spill_bytes: int | None = None
    """stored and loaded, a thread"""
    stack_bytes: int | None = None
    static_shared: int | None = None
    """bytes a block, without what the system reserves"""
    dynamic_shared: int = 0
    """bytes a block"""
    threads: int | None = None
    """a block"""
    instructions: int | None = None
    """machine instructions"""
    shapes: tuple[str, ...] = ()
    """workloads and gate shapes that it is launched for; a compiler may make several of one"""


class BuildFacts(Record):
    """What the compiler told about a build."""

    compiler: str
    """name and version"""
    command: str
    seconds: float
    warnings: tuple[Message, ...] = ()
    code_bytes: int | None = None
    registers: int | None = None
    """the most of all kernels; each of the three"""
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    """static and dynamic"""
    kernels: tuple[KernelFacts, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict[str, str])
    """of every tool that had a part in it"""
    stages: dict[str, float] = Field(default_factory=dict[str, float])
    """seconds of its parts, by name"""


class GateResult(Record):
    """What one gate found. `note` never blocks."""

    gate: str
    outcome: Literal["passed", "failed", "note", "skipped"]
    message: Message = ""
    evidence: Evidence = Field(default_factory=dict[str, Any])


Judgement = Literal["faster", "slower", "tie", "unstable"]


class Ratio(Record):
    """How much faster the candidate is than one other side, with a 95 % interval."""

    over: str
    """variant id of the other side"""
    speedup: float
    low: float
    """of the interval that is told: where buffers were placed anew (`Comparison.placements`), it
    holds one placement more, as a user has one"""
    high: float
    judgement: Judgement
    middle: tuple[float, float] | None = None
    """interval of the middle of all placements, on which `judgement` rests; None: low and high"""

    @property
    def judged(self) -> tuple[float, float]:
        """The interval on which `judgement` rests."""
        return self.middle or (self.low, self.high)

    @property
    def hangs_on_placement(self) -> bool:
        """Whether one placement more may be on the other side, or show no difference."""
        lost = {"faster": self.low <= 1, "slower": self.high >= 1}
        return self.middle is not None and lost.get(self.judgement, False)

    @property
    def placement_words(self) -> str:
        """What the interval that is told is, and what it is not judged by; empty where buffers lay
        in one place."""
        if self.middle is None:
            return ""
        words = f"; the middle of placements {self.middle[0]:.3g} to {self.middle[1]:.3g}"
        if self.hangs_on_placement:
            lost = "lead" if self.judgement == "faster" else "loss"
            words += f"; where buffers happen to lie can take the {lost} away"
        return words


class WorkloadTimes(Record):
    """Median times on one workload, of caches that hold nothing of the data unless it says hot."""

    workload: str
    weight: float
    median_ms: dict[str, float]
    blocks_ms: dict[str, tuple[float, ...]]
    """every block that counts, in run order"""
    calls: dict[str, int] = Field(default_factory=dict[str, int])
    """of one sample, by side"""
    loads: tuple[int, ...] = ()
    """which loading of the machine code each of these blocks belongs to"""
    hot_ms: dict[str, float] = Field(default_factory=dict[str, float])
    """medians with caches as a call before left them: to be told, never judged by"""
    sm_mhz: tuple[int, ...] = ()
    """the clock after each block that was run; empty: unknown"""
    celsius: tuple[int, ...] = ()
    """the temperature after each block that was run; empty: unknown"""
    spoiled: dict[str, str] = Field(default_factory=dict[str, str])
    """why blocks were dropped, by their number from 0"""


class Conditions(Record):
    """What a GPU said of itself around a block; empty on a host."""

    sm_mhz: tuple[int, ...] = ()
    """before and after"""
    celsius: tuple[int, ...] = ()
    """before and after"""
    reasons: tuple[str, ...] = ()
    """why clocks were held down, in NVML's words"""
    strangers: tuple[int, ...] = ()
    """processes on the device that are none of ours"""


class Comparison(Record):
    """A paired, interleaved measurement of a candidate against one or more sides."""

    candidate: str
    ratios: tuple[Ratio, ...]
    workloads: tuple[WorkloadTimes, ...]
    resolution: float
    """a difference below this is not told from noise by these blocks (0.02 = 2 %); of the ratio
    that decided when to stop, the first"""
    samples: int
    seconds: float
    busy_s: float = 0.0
    """seconds that the GPU worked for it; 0: not known"""
    blocks: int = 0
    """of each workload, dropped ones included"""
    hot: tuple[Ratio, ...] = ()
    """with caches as a call before left them, over placements; to be told, never judged by. Empty:
    not taken so, or only medians are known (`WorkloadTimes.hot_ms`)"""
    apart: tuple[Ratio, ...] = ()
    """one call between other work, over placements; to be told, never judged by. Empty: not taken
    so, or calls are too short for it"""
    placements: int = 0
    """blocks that count, where each had memory of its own and offsets that the declared alignment
    allows, and intervals hold the difference between them; 0: buffers lay in one place"""
    dropped_blocks: int = 0
    """over all workloads"""
    drift: float = 0.0
    """of the baseline's times from the first blocks to the last (0.02 = 2 %)"""
    conditions: Conditions = Conditions()
    """over all blocks: least and greatest clock and temperature, every reason and stranger"""

    def over(self, variant_id: str) -> Ratio | None:
        """The ratio over that side, None when it did not take part."""
        return next((r for r in self.ratios if r.over == variant_id), None)

    def seen_by(self, over: str) -> tuple[float, float] | None:
        """The interval in which a user's figure falls, however their program calls: in a row on
        fresh data, again and again on the same buffers, or once between other work. None where the
        other side did not take part."""
        kinds = (*self.ratios, *self.hot, *self.apart)
        found = [ratio for ratio in kinds if ratio.over == over]
        return (min(r.low for r in found), max(r.high for r in found)) if found else None

    @property
    def median_ms(self) -> dict[str, float]:
        """Of the candidate, by workload. Equal machine code shares its comparison, so these may be
        the times of a variant that the candidate is not named after."""
        return {w.workload: w.median_ms[self.candidate] for w in self.workloads}


class ReferenceTimes(Record):
    """How long the reference itself takes, in the kernel's own types and with warm caches: where
    it calls a library, that is the expert to compare with."""

    where: str
    """what computes it: `numpy on the host`"""
    ms: dict[str, float]
    """of its fastest call, by visible workload"""


class Evaluation(Record):
    """All that happened to a variant, with exactly one ending."""

    evaluation_id: str
    variant_id: str
    kernel_id: str
    ending: Ending
    tier: Tier
    message: Message
    """one line for the reader: why this ending"""
    build: BuildFacts | None = None
    gates: tuple[GateResult, ...] = ()
    comparison: Comparison | None = None
    speedup: float | None = None
    """over the baseline; None unless measured"""
    interval: tuple[float, float] | None = None
    became_incumbent: bool = False
    code_hash: str | None = None
    """hash of machine code and resolved plan; equal code shares its measurement"""
    same_code_as: str | None = None
    """variant whose measurement is shared"""
    seconds: dict[str, float] = Field(default_factory=dict[str, float])
    """where the time went: build, wait (for a device), check, compare, promote; and `gpu`, what
    the GPU worked for checks and comparison"""
    device: str | None = None
    """UUID of the GPU that ran it; None: the host did, or nothing was run"""
    finished_at: str = ""
    printed: Message = ""
    """what the kernel printed when it was checked, on the public seed alone"""
    build_limit_s: float | None = None
    """what its build did not end within, where a sweep allowed it less than any build has"""

    @model_validator(mode="after")
    def _ending_fits(self) -> Self:
        if self.ending.measured and self.comparison is None:
            raise ValueError(f"`{self.ending}` without a comparison")
        if not self.ending.measured and self.speedup is not None:
            raise ValueError(f"`{self.ending}` cannot have a speedup")
        return self


def ordered(parameters: Mapping[str, int]) -> str:
    """`ORDER=2 TILE=64`, for people."""
    return " ".join(f"{name}={value}" for name, value in sorted(parameters.items()))
