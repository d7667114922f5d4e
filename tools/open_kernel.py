"""The verb `open_kernel`: from a spec to a kernel with a checked and timed baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator, model_validator

from ..evaluation.evidence.headroom import headroom
from ..runners.languages import KernelType
from ..runners.loading.files import LoadedKernel, load_data, load_file
from ..runners.model import Record
from ..runners.specs.spec import KernelSpec
from ..runners.wording import significant
from .base import Tool, WorkArguments
from .parts.calls import call
from .parts.kernel_best import kernel_best
from .parts.origin import load_path

if TYPE_CHECKING:
    from ..search.session.workbench import Workbench
    from ..store.records import KernelRecord


class OpenKernelArguments(WorkArguments):
    """Where the kernel comes from: exactly one of the four."""

    spec_path: str | None = None
    """a spec file (JSON); relative paths start at the first root"""
    spec: dict[str, Any] | None = None
    """the spec itself"""
    source_path: str | None = None
    """a CUDA, C++ or Triton file that has no spec: what it does not say is asked for"""
    goal: str | None = Field(default=None, max_length=2000)
    """with source_path: what you want, in words; `n = 4000000` in it fills the spec"""
    entry: str | None = None
    """with source_path: which of its functions"""
    kernel_id: str | None = None
    """a kernel that was opened before"""

    @field_validator("spec", mode="before")
    @classmethod
    def _is_no_path(cls, value: object) -> object:
        if isinstance(value, str):
            raise ValueError("the spec itself is an object; its file's path goes into spec_path")
        return value

    @model_validator(mode="after")
    def _one_origin(self) -> OpenKernelArguments:
        origins = (self.spec_path, self.spec, self.source_path, self.kernel_id)
        if sum(origin is not None for origin in origins) != 1:
            raise ValueError("give exactly one of spec_path, spec, source_path and kernel_id")
        if (self.entry is not None or self.goal) and self.source_path is None:
            raise ValueError("`entry` and `goal` go with source_path; a spec says it all")
        return self


class ParameterChoice(Record):
    """A tunable macro: its value in the incumbent, and all that are allowed."""

    now: int
    values: tuple[int, ...]


class VisibleWorkload(Record):
    """A shape that counts."""

    workload: str
    symbols: dict[str, int]
    weight: float
    baseline_ms: float | None = None
    """None: not timed, no GPU for it is here"""


class OpenedKernel(Record):
    """A kernel that can be worked on."""

    kernel_id: str
    tier: str
    """what runs beside the clock: `native` is a shared object in an executor of its own"""
    baseline: str
    incumbent: str
    """the kernel's best, by paired comparison"""
    incumbent_speedup: float
    """over the baseline"""
    entry: str
    """the entry function as every variant must define it"""
    workloads: tuple[VisibleWorkload, ...]
    held_out: int
    """workloads that only judge the winner"""
    parameters: dict[str, ParameterChoice]
    constraints: tuple[str, ...] = ()
    reference: str
    headroom: str
    source_lines: int
    notes: tuple[str, ...] = ()
    """what should be known of the opening: the GPU, how the baseline was chosen"""
    next: tuple[str, ...]
    """calls that can be made as they stand"""


def open_kernel(bench: Workbench, arguments: OpenKernelArguments) -> OpenedKernel:
    """Open a kernel: read its spec, build the baseline, check it against its reference, time it.

    Call it first; other tools need the kernel_id. A known kernel is not built again. A baseline
    that does not build or is wrong is refused with the reason; one whose GPU is not here is built
    and not timed. Takes 2 to 10 s for a new kernel, more where the baseline itself is slow.
    Example: {"spec_path": "examples/softmax/spec.json"}
    """
    if arguments.kernel_id is not None:
        kernel = bench.evaluator.kernel(arguments.kernel_id)
    else:
        kernel = bench.evaluator.open(_load(bench, arguments))
    return _described(bench, kernel)


def _load(bench: Workbench, arguments: OpenKernelArguments) -> LoadedKernel:
    folder = bench.roots.folders[0]
    if arguments.spec_path is not None:
        return load_file(folder / Path(arguments.spec_path), bench.roots)
    if arguments.source_path is not None:
        return load_path(bench, arguments.source_path, arguments.goal or "", arguments.entry)
    return load_data(arguments.spec, folder, bench.roots)


def _described(bench: Workbench, kernel: KernelRecord) -> OpenedKernel:
    spec, best = kernel.spec, kernel_best(bench, kernel.kernel_id)
    values = bench.evaluator.variant(kernel.incumbent).variant.parameters
    visible = [w for w in spec.workloads if not w.held_out]
    return OpenedKernel(
        kernel_id=kernel.kernel_id,
        tier=spec.kernel.language.tier,
        baseline=kernel.baseline,
        incumbent=best.incumbent,
        incumbent_speedup=best.speedup,
        entry=_entry(spec),
        workloads=tuple(
            VisibleWorkload(
                workload=w.name,
                symbols=w.symbols,
                weight=w.weight,
                baseline_ms=significant(kernel.baseline_ms[w.name], 4) if kernel.timed else None,
            )
            for w in visible
        ),
        held_out=len(spec.workloads) - len(visible),
        parameters={
            name: ParameterChoice(now=values.get(name, p.start), values=p.values)
            for name, p in spec.parameters.items()
        },
        constraints=spec.constraints,
        reference=_reference(kernel),
        headroom=headroom(bench, kernel, kernel.baseline_ms),
        notes=kernel.notes,
        source_lines=len(kernel.loaded.source.splitlines()),
        next=_next(kernel.kernel_id, bench.gpus.runs(kernel.loaded)),
    )


def _entry(spec: KernelSpec) -> str:
    """What every variant must define, in its language."""
    return ENTRIES.get(spec.kernel.kernel_type, _called_entry)(spec)


def _called_entry(spec: KernelSpec) -> str:
    names = ", ".join(a.name for a in spec.io.arguments)
    return f"`{spec.kernel.metadata.kernel_name}`; takes in this order: {names}"


def _triton_entry(spec: KernelSpec) -> str:
    names = ", ".join(a.name for a in spec.io.arguments)
    name = spec.kernel.metadata.kernel_name
    return f"`{name}`, a @triton.jit function or a wrapper; takes by name: {names}"


def _cpp_entry(spec: KernelSpec) -> str:
    from ..runners.toolchains.host_messages import expected_signature

    return expected_signature(spec.io, spec.kernel.metadata.kernel_name)


ENTRIES: Mapping[KernelType, Callable[[KernelSpec], str]] = {
    "triton": _triton_entry,
    "cuda": lambda spec: f"__global__ {_cpp_entry(spec)}",
    "cpp": _cpp_entry,
}


def _reference(kernel: KernelRecord) -> str:
    if kernel.loaded.reference is None:
        return "the baseline is the truth: compared by tolerance table, without fp64"
    return "called once with fp64 inputs and once natively (the trusted error)"


def _next(kernel_id: str, runs: bool) -> tuple[str, ...]:
    searches = [
        call("search_step", kernel_id=kernel_id, planner=planner) for planner in ("client", "rules")
    ]
    return (
        call("propose_moves", kernel_id=kernel_id),
        *(searches if runs else ()),
        call("inspect", what="kernel", id=kernel_id, part="source"),
    )


TOOL = Tool(
    name="open_kernel",
    title="Open a kernel",
    run=open_kernel,
    arguments=OpenKernelArguments,
    result=OpenedKernel,
    search_hint="start: make a kernel, matmul or function faster; optimize Triton, CUDA or C++ "
    "code; open a spec or source",
    starts=True,
    read_only=False,
    work=True,
)
