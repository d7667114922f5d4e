"""What a capture is asked for and what it found: records that travel as JSON files."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ..model import Record
from ..plans.plan import LaunchPlan, Module
from ..specs.devices import DeviceFacts
from ..specs.io_contract import Contract
from ..specs.spec import Parameter

FailureKind = Literal["", "refused", "raised", "does_not_compile", "does_not_fit"]


class CaptureRequest(Record):
    """One source, one shape, one device."""

    source_path: str
    """a file in the current folder, which is private to this build"""
    entry: str
    """a `@triton.jit` function, or a plain function that launches kernels"""
    contract: Contract
    symbols: dict[str, int]
    label: str
    device: DeviceFacts
    parameters: dict[str, int] = Field(default_factory=dict[str, int])
    """values of tunable parameters, declared or discovered"""
    launch: dict[str, Any] | None = None
    """grid, constexprs and options of a jit function"""
    defines: dict[str, str | int] = Field(default_factory=dict[str, str | int])
    as_values: tuple[str, ...] = ()
    """of a reading: constants of the compilation that are compiled as values of the launch"""


class EntryFacts(Record):
    """What is known of one compiled kernel: registers and bytes a thread."""

    registers: int
    spills: int
    """bytes of local memory, as the driver counts them; stack included"""
    stack: int
    static_shared: int
    """bytes a block"""


class CaptureResult(Record):
    """A plan with its modules, or one sentence that says why there is none."""

    plan: LaunchPlan | None = None
    modules: tuple[Module, ...] = ()
    """written into the current folder as `<sha256>.<kind>`"""
    entries: dict[str, EntryFacts] = Field(default_factory=dict[str, EntryFacts])
    """by the plan's kernel id"""
    parameters: dict[str, Parameter] = Field(default_factory=dict[str, Parameter])
    """tunables found in decorators and launches, with the source's own value as default"""
    configurations: tuple[dict[str, int], ...] = ()
    """those of `@triton.autotune`, in its order, over names of `parameters`"""
    tried: dict[str, str] = Field(default_factory=dict[str, str])
    """autotune configurations that were compiled -> `fits`, or why not"""
    refusal: str = ""
    """empty when captured"""
    kind: FailureKind = ""
    """what sort of refusal: no plan, the source raised, no machine code, too large for the GPU"""
    warnings: tuple[str, ...] = ()
