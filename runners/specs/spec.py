"""KernelSpec: what the user writes down about a kernel, as it is read from JSON.

Field texts travel into the published JSON schema (`kernelwright spec --schema`).
Reading a spec from disk, with its sources and roots, is `files.py`.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from .. import openmp
from ..errors import ExpressionError
from ..languages import LANGUAGES, KernelType, Language
from .declared_plan_model import CudaLaunch, DeclaredPlan, TritonLaunch, parse_launch
from .expressions import names_in
from .io_contract import Contract
from .part import Expression, Finite, Name, Part


class Symbol(Part):
    """The legal values of a size. Without a domain only listed workloads are legal shapes."""

    min: int = Field(default=1, ge=0)
    max: int = Field(ge=0)
    multiple_of: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if -(-self.min // self.multiple_of) * self.multiple_of > self.max:
            raise ValueError("no multiple of multiple_of lies between min and max")
        return self


class Workload(Part):
    """A shape that really occurs: a value for every symbol, with a weight."""

    name: Name
    symbols: dict[Name, int]
    weight: Finite = Field(default=1.0, gt=0)
    held_out: bool = False
    """kept from planners, used to judge the winner"""


class Parameter(Part):
    """A tunable value: a macro in C++ and CUDA, a constexpr in Triton."""

    values: tuple[int, ...] = Field(min_length=1, max_length=256)
    default: int | None = None
    """the baseline's value; None: the first"""

    @model_validator(mode="after")
    def _default_is_legal(self) -> Self:
        if self.default is not None and self.default not in self.values:
            raise ValueError(f"default {self.default} is not among the values {self.values}")
        if len(set(self.values)) != len(self.values):
            raise ValueError("a value is listed twice")
        return self

    @property
    def start(self) -> int:
        """The value of the baseline."""
        return self.values[0] if self.default is None else self.default


class Metadata(Part):
    """Names that the source itself uses."""

    kernel_name: Name
    """the entry function; for CUDA a C++ name as well, `ns::kernel<float, 4>`"""


class Kernel(Part):
    """The source to start from."""

    kernel_type: KernelType
    source_code: str | None = None
    source_path: str | None = None
    files: tuple[str, ...] = ()
    """further files beside the spec that the source includes"""
    include_dirs: tuple[str, ...] = ()
    defines: dict[Name, str | int] = Field(default_factory=dict[str, str | int])
    metadata: Metadata
    compiler: str | None = None
    """g++ or clang++ for C++, nvrtc or nvcc for CUDA; None: the first that is present and, of
    CUDA's, takes the source"""
    flags: tuple[str, ...] | None = None
    """compiler flags in place of the default (-O3 -march=native -fopenmp -std=c++17 for C++,
    -O3 -std=c++17 for CUDA)"""
    environment: dict[str, str] = Field(default_factory=dict[str, str])
    """C++: OpenMP's variables (OMP_NUM_THREADS, OMP_WAIT_POLICY, ...) while it is timed, over those
    that are set where kernelwright is called"""
    launch: CudaLaunch | TritonLaunch | None = None
    """a single launch (CUDA, Triton)"""
    plan: DeclaredPlan | None = None
    """several steps, or buffers beside the arrays (CUDA)"""
    invocation_example: str = ""

    @property
    def language(self) -> Language:
        """What it is written in."""
        return LANGUAGES[self.kernel_type]

    @field_validator(
        "launch", mode="before", json_schema_input_type=CudaLaunch | TritonLaunch | None
    )
    @classmethod
    def _launch_of_its_language(cls, value: Any, info: ValidationInfo) -> Any:
        return parse_launch(value, info.data.get("kernel_type", "cuda"))

    @field_validator("environment")
    @classmethod
    def _openmp_alone(cls, value: dict[str, str]) -> dict[str, str]:
        if unknown := sorted(value.keys() - openmp.VARIABLES):
            raise ValueError(f"`{unknown[0]}` is none of {', '.join(sorted(openmp.VARIABLES))}")
        return value

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.source_code is None) == (self.source_path is None):
            raise ValueError("give exactly one of source_code and source_path")
        if self.environment and self.language.on_gpu:
            raise ValueError("an environment is for host code, a GPU kernel has none")
        if self.plan is not None and not self.language.planned:
            raise ValueError(f"a plan is for CUDA kernels, this one is {self.kernel_type}")
        if self.plan is not None and self.launch is not None:
            raise ValueError("give launch or plan, not both")
        return self


class Reference(Part):
    """The truth: a Python `reference(**arrays)` that returns the outputs in order."""

    source_code: str | None = None
    source_path: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.source_code is None) == (self.source_path is None):
            raise ValueError("give exactly one of source_code and source_path")
        return self


class DeviceProfile(Part):
    """The device that a variant is built for."""

    gpu_name: str = ""
    arch: str = "native"


class KernelSpec(Part):
    """What is to be made faster, and what must stay true of it."""

    name: Name
    kernel: Kernel
    io: Contract
    symbols: dict[Name, Symbol | None] = Field(default_factory=dict[str, Symbol | None])
    """sizes; null: only the listed workloads are legal"""
    workloads: tuple[Workload, ...] = Field(min_length=1, max_length=32)
    parameters: dict[Name, Parameter] = Field(default_factory=dict[str, Parameter])
    constraints: tuple[str, ...] = ()
    """expressions over parameters that must be true"""
    reference: Reference | Literal["baseline"]
    """its path, or its source; `baseline`: the baseline itself is the truth, no fp64 then, and
    every result says so"""
    device_profile: DeviceProfile = DeviceProfile()
    weight: Finite = Field(default=1.0, gt=0)
    """how much it counts among the kernels of one run, as the share of a program's time that it
    takes: those are searched first whose weight times the share of time above the floor is largest
    """

    @field_validator("reference", mode="before", json_schema_input_type=Reference | str)
    @classmethod
    def _reference_by_path(cls, value: Any) -> Any:
        if isinstance(value, str) and value != "baseline":
            return {"source_path": value}
        return value

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        symbols, parameters = set(self.symbols), set(self.parameters)
        if both := sorted(symbols & parameters):
            raise ValueError(f"both a symbol and a parameter: {', '.join(both)}")
        for where, text in self._expressions():
            allowed = parameters if where == "constraints" else symbols
            if unknown := sorted(_names(where, text) - allowed):
                known = ", ".join(sorted(allowed)) or "none"
                raise ValueError(f"{where}: `{unknown[0]}` is not declared (known: {known})")
        self._check_workloads(symbols)
        return self

    def _expressions(self) -> list[tuple[str, Expression | float]]:
        found: list[tuple[str, Expression | float]] = [("constraints", c) for c in self.constraints]
        for a in self.io.arguments:
            sizes = [*a.shape, *(a.strides or ()), *(() if a.value is None else (a.value,))]
            found += [(f"io.arguments.{a.name}", s) for s in sizes]
        work = (("io.bytes", self.io.bytes), ("io.flops", self.io.flops))
        return found + [(where, e) for where, e in work if e is not None]

    def _check_workloads(self, symbols: set[str]) -> None:
        names = [w.name for w in self.workloads]
        if len(set(names)) != len(names):
            raise ValueError("two workloads have the same name")
        if all(w.held_out for w in self.workloads):
            raise ValueError("every workload is held out: at least one must be visible")
        for w in self.workloads:
            if set(w.symbols) != symbols:
                raise ValueError(
                    f"workload `{w.name}` binds {sorted(w.symbols)}, symbols are {sorted(symbols)}"
                )
            for name, size in w.symbols.items():
                _check_in_domain(w.name, name, size, self.symbols[name])


def _names(where: str, text: Expression | float) -> frozenset[str]:
    try:
        return names_in(text)
    except ExpressionError as error:
        raise ValueError(f"{where}: {error.message}; valid: {error.valid}") from error


def _check_in_domain(workload: str, name: str, size: int, domain: Symbol | None) -> None:
    if domain is None:
        return
    if not domain.min <= size <= domain.max or size % domain.multiple_of:
        raise ValueError(
            f"workload `{workload}`: {name} = {size} is outside its domain "
            f"({domain.min}..{domain.max}, multiple of {domain.multiple_of})"
        )
