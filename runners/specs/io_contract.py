"""The IOContract as a spec writes it: arguments, how they are made, how exact outputs must be."""

from __future__ import annotations

import re
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from ..dtypes import DTYPES, DtypeName
from .part import Expression, Finite, Name, Part
from .tensor import Tensor

Role = Literal["input", "output", "inout", "scalar"]
InitKind = Literal["randn", "uniform", "zeros", "ones", "full", "arange", "randint", "file", "data"]
StressKind = Literal[
    "zeros", "offset", "cancellation", "tiny", "large", "wide", "special", "exchanged",
    "generic", "spike", "half", "sorted", "lone", "few", "mixed", "unknown", "unlike",
    "uneven",
]  # fmt: skip
"""Other values than inits draw: those that ask more of a kernel's numerics (`stress.KINDS`), and
those that a kernel has to read (`structured.STRUCTURED`)."""


class Init(Part):
    """How an array's values are made; every kind but the constant ones follows the seed."""

    kind: InitKind
    low: Finite = 0.0
    """lower bound (uniform, randint) or start (arange)"""
    high: Finite = 1.0
    """upper bound, exclusive (uniform, randint)"""
    value: float = 0.0
    """the value (full)"""
    scale: Finite = 1.0
    """standard deviation (randn) or step (arange)"""
    shift: Finite = 0.0
    """mean (randn)"""
    path: str | None = None
    """a .npy file beside the spec (file)"""
    data: Tensor | None = None
    """the values themselves (data), of the argument's shape: small recorded inputs"""
    constant: bool = False
    """a kernel may take these values for known (zeros, ones, full, arange, file, data): no
    other ones
    will ever occur. Without it, before a variant becomes the incumbent it meets others"""
    reason: str = Field(default="", max_length=400)
    """why it is constant: "offsets of a fixed mesh"; wanted with `constant`, as whoever reads a
    result has to know what it holds for"""

    @property
    def has_a_shape(self) -> bool:
        """Whether the values are given, so that an array of them has one shape alone."""
        return self.kind in ("file", "data")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind == "file" and not self.path:
            raise ValueError("init `file` needs `path`, a .npy file beside the spec")
        if (self.kind == "data") is not (self.data is not None):
            raise ValueError(
                "`data` goes with init `data`: {dtype, shape, zlib}, as kernelwright spec --tensor "
                "FILE.npy prints it"
            )
        if self.kind in ("uniform", "randint") and not self.low < self.high:
            raise ValueError(f"init `{self.kind}` needs low < high")
        if self.kind == "randint" and not (self.low.is_integer() and self.high.is_integer()):
            raise ValueError("init `randint` needs whole numbers as low and high")
        self._check_constant()
        return self

    def _check_constant(self) -> None:
        if self.constant and self.kind in ("randn", "uniform", "randint"):
            raise ValueError(
                f"init `{self.kind}` draws values for every seed: none of them is constant; "
                "constant is for zeros, ones, full, arange, file and data"
            )
        if self.constant and not self.reason.strip():
            raise ValueError(
                "a constant init needs `reason`: why no other values can occur. Leave `constant` "
                "out if they can"
            )
        if self.reason and not self.constant:
            raise ValueError("`reason` says why an init is constant: give `constant: true` too")


class Tolerance(Part):
    """When an output counts as right: error <= factor * error of the trusted result + floor."""

    factor: Finite = Field(default=2.0, ge=0)
    """how much worse than the trusted low-precision result is accepted"""
    floor: Finite | None = Field(default=None, ge=0)
    """error relative to the row's RMS that is always accepted; None: by the dtypes of this
    output and of all inputs"""


class Argument(Part):
    """One argument of the kernel, in the order of its parameter list."""

    name: Name
    role: Role
    dtype: DtypeName
    shape: tuple[Expression, ...] = Field(default=(), max_length=16)
    """sizes, as numbers or expressions over symbols; empty for scalars"""
    strides: tuple[Expression, ...] | None = None
    """in elements; None: row-major and contiguous"""
    align: int = Field(16, ge=1, le=4096)
    """the alignment in bytes that a caller promises; a power of two"""
    init: Init | None = None
    """how inputs and inouts are filled (a text is its `kind`); default randn for floats,
    randint 0..10 for integers"""
    nonfinite: bool = False
    """Inf, NaN and -0 may occur among the values of this input, and the result must be the
    reference's then, too; before a variant becomes the incumbent it meets some"""
    value: Expression | float | None = None
    """a scalar's value: a number or an expression over symbols"""
    tolerance: Tolerance = Tolerance()

    @field_validator("init", mode="before", json_schema_input_type=InitKind | Init | None)
    @classmethod
    def _init_by_name(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.role == "scalar":
            if self.shape or self.strides or self.init:
                raise ValueError(f"scalar `{self.name}` has a value, no shape, strides or init")
            if self.value is None:
                raise ValueError(f"scalar `{self.name}` needs `value`, a number or expression")
        else:
            if not self.shape:
                raise ValueError(f"`{self.name}` needs a shape; a single number is shape [1]")
            if self.value is not None:
                raise ValueError(f"`{self.name}` is an array: give `init`, not `value`")
        filled_float = self.role in ("input", "inout") and DTYPES[self.dtype].floor is not None
        if self.nonfinite and not filled_float:
            raise ValueError(f"`{self.name}`: nonfinite is for inputs and inouts of floats")
        if self.role == "output" and self.init:
            raise ValueError(
                f"output `{self.name}` is undefined on entry; one that needs a start value "
                "has role `inout`"
            )
        if self.strides is not None and len(self.strides) != len(self.shape):
            raise ValueError(
                f"`{self.name}` has {len(self.shape)} sizes, {len(self.strides)} strides"
            )
        if self.align & (self.align - 1):
            raise ValueError(f"align of `{self.name}` must be a power of two")
        return self

    @property
    def filled(self) -> Init:
        """The init that applies, the default made explicit."""
        if self.init is not None:
            return self.init
        if DTYPES[self.dtype].floor is not None:
            return Init(kind="randn")
        return Init(kind="randint", low=0, high=2 if self.dtype == "bool" else 10)


class Allowed(Part):
    """Something that a screen blocks and this kernel honestly needs."""

    name: str = Field(min_length=2, max_length=100)
    """as the finding tells it, or one word of it: `globaltimer`"""
    reason: str = Field(min_length=10, max_length=400)
    """why; told beside the finding wherever it is"""

    def covers(self, found: str) -> bool:
        """Whether a finding of this name is meant."""
        return self.name == found or self.name in re.findall(r"\w+", found)


class Contract(Part):
    """IOContract: what goes in, what comes out, how exact, and the work that must be done."""

    arguments: tuple[Argument, ...] = Field(min_length=1, max_length=64)
    deterministic: bool = True
    math: Literal["ieee", "tf32", "fast"] = "ieee"
    bytes: Expression | None = None
    """bytes that any implementation must move between memory and chip"""
    flops: Expression | None = None
    """floating-point operations that any implementation must do"""
    allow: tuple[Allowed, ...] = Field(default=(), max_length=16)
    """what screens block and variants may use all the same, by name and with the reason"""

    @model_validator(mode="after")
    def _has_outputs(self) -> Self:
        names = [a.name for a in self.arguments]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"argument names occur twice: {', '.join(twice)}")
        if not any(a.role in ("output", "inout") for a in self.arguments):
            raise ValueError("no argument has role `output` or `inout`: nothing could be checked")
        return self
