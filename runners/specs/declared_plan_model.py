"""What a spec or a candidate writes about its launches: expressions where a plan has numbers.

Resolved to a `plan.LaunchPlan` for one shape by `declared_plan.py`. Field texts travel into the
published JSON schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, Field, model_validator

from ..dtypes import DtypeName
from ..languages import LANGUAGES, LaunchForm
from .declared_fields import Axes, EntryName, HexText, Pattern, by_key, checked
from .part import Expression, Finite, Name, Part

TensorMapDtype = Literal[
    "uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64",
    "bfloat16", "float32_ftz", "tfloat32", "tfloat32_ftz",
]  # fmt: skip
"""In the order of CUtensorMapDataType."""


class BufferArg(Part):
    """An address in a buffer or array."""

    buffer: Name
    offset: Expression = 0
    """bytes"""


class ValueArg(Part):
    """A number passed by value."""

    value: Expression | Finite
    dtype: DtypeName = "int32"


class RawArg(Part):
    """Bytes passed by value (a struct), in hexadecimal."""

    raw: Annotated[HexText, Field(max_length=8192)]


class TensorMap(Part):
    """A CUtensorMap: sizes in elements, strides in bytes, fastest dimension first."""

    buffer: Name
    offset: Expression = 0
    """bytes"""
    dtype: TensorMapDtype
    dims: tuple[Expression, ...] = Field(min_length=1, max_length=5)
    strides: tuple[Expression, ...] = ()
    """of all dimensions but the first"""
    box: tuple[Expression, ...]
    element_strides: tuple[Expression, ...] | None = None
    """None: all 1"""
    interleave: Expression = 0
    """0 none, 1 16 bytes, 2 32 bytes"""
    swizzle: Expression = 0
    """0 none, 1 32 bytes, 2 64 bytes, 3 128 bytes, 4 to 6 as in CUtensorMapSwizzle"""
    l2_promotion: Expression = 2
    """0 none, 1 64 bytes, 2 128 bytes, 3 256 bytes"""
    nan_fill: bool = False
    """elements out of bounds read as NaN instead of 0"""


class TensorMapArg(Part):
    """A tensor map passed by value (`const __grid_constant__ CUtensorMap`)."""

    tensormap: TensorMap


Arg = Annotated[
    Name | BufferArg | ValueArg | RawArg | TensorMapArg | None,
    BeforeValidator(
        by_key(
            "an argument that is no name",
            {"buffer": BufferArg, "value": ValueArg, "raw": RawArg, "tensormap": TensorMapArg},
        )
    ),
]
"""A name: of an array or buffer (its address), a scalar argument, a symbol or parameter (int32).

null is the null pointer."""


class LaunchShape(Part):
    """How a kernel is launched. Expressions are over symbols, tunable parameters, scalar
    arguments, and `block_x`, `block_y`, `block_z`: this launch's own block."""

    grid: Axes
    """blocks along x, y, z"""
    block: Axes
    """threads along x, y, z; plain numbers become tunable parameters"""
    shared: Expression = 0
    """dynamic shared memory, bytes"""
    cluster: Axes | None = None
    """blocks of a cluster along x, y, z"""
    cooperative: bool = False
    """all blocks at once, for grid-wide synchronisation"""
    pdl: bool = False
    """programmatic dependent launch: may start before its predecessor ends"""
    args: tuple[Arg, ...] | None = Field(default=None, max_length=256)
    """None: the contract's arguments in order"""


class CudaLaunch(LaunchShape):
    """The one launch of a CUDA kernel."""

    entry: EntryName | None = None
    """a C++ name such as `tmpl<float, 128>`; None: metadata.kernel_name"""


class LaunchStep(LaunchShape):
    """A launch among the steps of a plan."""

    launch: EntryName
    """the kernel's C++ name: `scale`, `ns::scale`, `reduce<BLOCK>`"""


class FillStep(Part):
    """A memset of a byte pattern."""

    fill: Name
    """a buffer, or an array argument that the kernel writes"""
    offset: Expression = 0
    """bytes"""
    nbytes: Expression | None = None
    """None: to the end"""
    pattern: Pattern = "00"
    """bytes in hexadecimal, repeated"""


class SetStep(Part):
    """A copy into a `__constant__` or `__device__` variable."""

    set: str = Field(pattern=r"^[A-Za-z_][\w:]{0,200}$")
    """the variable's C++ name"""
    kernel: EntryName | None = Field(default=None, alias="in")
    """a kernel that uses it; None: all kernels of a plan lie in one module"""
    raw: HexText | None = None
    """the bytes in hexadecimal"""
    value: Expression | Finite | tuple[Expression | Finite, ...] | None = None
    """a number or a list of them, with `dtype`"""
    dtype: DtypeName = "int32"
    buffer: Name | None = None
    """copy from this buffer or array (in steps only)"""
    offset: Expression = 0
    """bytes into the buffer"""
    nbytes: Expression | None = None
    """None: to the buffer's end"""

    model_config = Part.model_config | {"serialize_by_alias": True}

    @model_validator(mode="after")
    def _one_content(self) -> Self:
        if sum(part is not None for part in (self.raw, self.value, self.buffer)) != 1:
            raise ValueError("give exactly one of raw, value and buffer")
        return self


class DeclaredBuffer(Part):
    """Memory beside the arrays, undefined when the plan begins."""

    dtype: DtypeName | None = None
    shape: tuple[Expression, ...] | None = Field(default=None, max_length=16)
    nbytes: Expression | None = None
    align: int = Field(default=256, ge=1, le=4096)
    """bytes, a power of two"""

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        typed = self.dtype is not None and self.shape is not None
        if typed == (self.nbytes is not None) or (self.dtype is None) != (self.shape is None):
            raise ValueError("give dtype and shape, or nbytes")
        if self.align & (self.align - 1):
            raise ValueError("align must be a power of two")
        return self


Step = Annotated[
    LaunchStep | FillStep | SetStep,
    BeforeValidator(by_key("a step", {"launch": LaunchStep, "fill": FillStep, "set": SetStep})),
]
SetupStep = Annotated[
    FillStep | SetStep,
    BeforeValidator(by_key("a step of setup", {"fill": FillStep, "set": SetStep})),
]


class DeclaredPlan(Part):
    """Launches, fills and sets in order; timed as one unit."""

    defines: dict[Name, int] = Field(default_factory=dict[str, int], max_length=64)
    """numbers that the plan and its source share: names in expressions, macros (`-DTILE=32`)"""
    buffers: dict[Name, DeclaredBuffer] = Field(default_factory=dict[str, DeclaredBuffer])
    setup: tuple[SetupStep, ...] = Field(default=(), max_length=64)
    """before each run, outside the clock"""
    steps: tuple[Step, ...] = Field(min_length=1, max_length=256)

    @property
    def launches(self) -> tuple[LaunchStep, ...]:
        """The steps that launch a kernel, in order."""
        return tuple(s for s in self.steps if isinstance(s, LaunchStep))

    @model_validator(mode="after")
    def _launches_something(self) -> Self:
        if not self.launches:
            raise ValueError("no step launches a kernel")
        return self


class TritonLaunch(Part):
    """The one launch of a Triton kernel. Expressions are over symbols, tunable parameters and
    scalar arguments; those of the grid over constexprs as well."""

    grid: Axes
    """programs along x, y, z"""
    constexprs: dict[Name, Expression | bool | Finite] = Field(
        default_factory=dict[str, Expression | bool | float]
    )
    """the kernel's parameters that are neither arguments nor tunable parameters"""
    num_warps: Expression | None = None
    """None: Triton's default; likewise below"""
    num_stages: Expression | None = None
    num_ctas: Expression | None = None
    maxnreg: Expression | None = None


TRITON_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
"""of a Triton launch, for its compiler"""
_LAUNCHES: Mapping[LaunchForm | None, type[Part]] = {"cuda": CudaLaunch, "triton": TritonLaunch}


def parse_launch(value: object, kernel_type: str) -> object:
    """`kernel.launch` as the model of its language. Raises ValueError (ValidationError)."""
    if value is None or not isinstance(value, dict):
        return value
    own = _LAUNCHES.get(LANGUAGES[kernel_type].launch)
    if own is None:
        raise ValueError(f"a {kernel_type} kernel is called, not launched: leave `launch` out")
    given = cast(dict[str, Any], value)
    for other, model in _LAUNCHES.items():
        foreign = [k for k in given if k in model.model_fields and k not in own.model_fields]
        if foreign:
            raise ValueError(
                f"`{foreign[0]}` belongs to a launch of a {other} kernel; "
                f"one of a {kernel_type} kernel has {', '.join(own.model_fields)}"
            )
    return checked(given, own)
