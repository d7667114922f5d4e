"""The launch plan: what is launched, with which numbers, on which buffers; nothing to execute.

A plan is resolved by the builder for one shape, comes from an untrusted process, and is
checked (`plan_check.py`) before a runner binds buffers to it. The whole plan with its fills is the
timed unit. Shape and words: `docs/launch-plan.md`.
"""

from __future__ import annotations

import struct
from typing import Annotated, Any, Literal

from pydantic import Field

from ..errors import SpecError
from ..model import Record
from ..specs.contract import BoundArgument, BoundContract

Dim3 = tuple[int, int, int]
ONE: Dim3 = (1, 1, 1)


class PlanKernel(Record):
    """One entry of one module, with the launch attributes that do not change between launches."""

    id: str
    entry: str
    sha256: str
    """of the machine code that holds the entry"""
    block: Dim3 = ONE
    shared: int = Field(default=0, ge=0)
    """dynamic shared memory, bytes"""
    cluster: Dim3 | None = None
    cooperative: bool = False
    pdl: bool = False


class Relocation(Record):
    """An address inside a const buffer: 8 bytes at `at` become that of `buffer` + `offset`."""

    at: int = Field(ge=0)
    buffer: str
    offset: int = Field(default=0, ge=0)


class PlanBuffer(Record):
    """Memory that the runner owns and binds."""

    name: str
    role: Literal["argument", "scratch", "launch_scratch", "const"]
    nbytes: int = Field(ge=0)
    align: int = Field(ge=1)
    sha256: str | None = None
    """const only: the content, a module of kind `bin`"""
    pointers: tuple[Relocation, ...] = ()
    """const only: what in the content is an address"""


class PointerParam(Record):
    """An address: a buffer and an offset in bytes; buffer null is the null pointer."""

    arg: str
    type: Literal["ptr"] = "ptr"
    buffer: str | None
    offset: int = Field(default=0, ge=0)


class ScalarParam(Record):
    """A value passed by value: the runner copies `raw` (hexadecimal), `value` is for people."""

    arg: str
    type: str
    """a dtype, or `bytes` for a struct"""
    value: int | float | None
    raw: str = Field(pattern=r"^([0-9a-f]{2}){1,4096}$")


class TensorMapParam(Record):
    """A CUtensorMap, encoded by the runner: sizes in elements, strides in bytes, fastest first.

    Fields as `cuTensorMapEncodeTiled` takes them; `strides` leaves the first dimension out.
    """

    arg: str
    type: Literal["tensormap"] = "tensormap"
    buffer: str
    offset: int = Field(default=0, ge=0)
    dtype: int = Field(ge=0, le=12)
    dims: tuple[int, ...] = Field(min_length=1, max_length=5)
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...] | None = None
    """None: all 1"""
    interleave: int = Field(default=0, ge=0, le=2)
    swizzle: int = Field(default=0, ge=0, le=6)
    l2_promotion: int = Field(default=2, ge=0, le=3)
    nan_fill: bool = False


Param = Annotated[PointerParam | TensorMapParam | ScalarParam, Field(union_mode="left_to_right")]


class Launch(Record):
    """One kernel launch."""

    launch: str
    grid: Dim3
    params: tuple[Param, ...]


class Fill(Record):
    """A memset of a byte pattern (hexadecimal) over part of a buffer."""

    fill: str
    offset: int = Field(ge=0)
    nbytes: int = Field(gt=0)
    pattern: str = Field(pattern=r"^([0-9a-f]{2}){1,8}$")


class SetSymbol(Record):
    """A copy into a `__constant__` or `__device__` variable: of raw bytes or from a buffer."""

    symbol: str
    """its name in the machine code"""
    kernel: str
    """a kernel of the plan whose module holds it"""
    offset: int = Field(default=0, ge=0)
    raw: str | None = Field(default=None, pattern=r"^([0-9a-f]{2})+$")
    buffer: str | None = None
    buffer_offset: int = Field(default=0, ge=0)
    nbytes: int = Field(gt=0)


Step = Launch | Fill | SetSymbol


class PlanOutput(Record):
    """Where a result lies once the plan has run."""

    name: str
    buffer: str
    offset: int = Field(default=0, ge=0)
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class LaunchPlan(Record):
    """Everything the runner needs beside the machine code, for one shape."""

    label: str
    kernels: tuple[PlanKernel, ...]
    buffers: tuple[PlanBuffer, ...]
    setup: tuple[Fill | SetSymbol, ...] = ()
    """before each run but one, outside the clock: a call after it must do without, as who calls
    twice prepares once; never from a buffer: that would be untimed work"""
    steps: tuple[Step, ...]
    outputs: tuple[PlanOutput, ...]

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The steps that launch a kernel, in order."""
        return tuple(s for s in self.steps if isinstance(s, Launch))

    @property
    def located(self) -> tuple[tuple[str, Step], ...]:
        """Every step of setup and plan in order, with its place as messages name it."""
        setup = ((f"setup {number}", step) for number, step in enumerate(self.setup))
        steps = ((f"step {number}", step) for number, step in enumerate(self.steps))
        return (*setup, *steps)


class Module(Record):
    """One file of an artifact, found by its hash: machine code, a constant, or a listing."""

    sha256: str
    kind: Literal["so", "cubin", "bin", "ptx", "sass"]
    nbytes: int
    of: str | None = None
    """listings: the hash of the machine code that they show"""


def module_name(module: Module) -> str:
    """The file name of a module."""
    return f"{module.sha256}.{module.kind}"


class Artifact(Record):
    """What the builder made of a variant: machine code and one resolved plan for each shape."""

    variant_id: str
    toolchain: str
    target: str
    modules: tuple[Module, ...]
    plans: dict[str, LaunchPlan]
    """by the label of the workload or gate shape"""
    code_hash: str
    """of machine code and plans with names and debug data left out"""

    @property
    def loaded(self) -> tuple[Module, ...]:
        """The modules that a runner needs: all but the listings."""
        return tuple(m for m in self.modules if m.kind in ("so", "cubin", "bin"))


SCALAR_FORMATS = {
    "float64": "<d", "float32": "<f", "float16": "<e",
    "int64": "<q", "int32": "<i", "int16": "<h", "int8": "<b",
    "uint64": "<Q", "uint32": "<I", "uint16": "<H", "uint8": "<B", "bool": "<?",
}  # fmt: skip


def pack_scalar(bound: BoundArgument) -> ScalarParam:
    """A scalar argument as a parameter. Raises SpecError when the value does not fit its dtype."""
    assert bound.value is not None
    return pack(bound.name, bound.argument.dtype, bound.value)


def pack(name: str, dtype: str, value: int | float) -> ScalarParam:
    """A number as a parameter. Raises SpecError when the value does not fit its dtype."""
    try:
        raw = _bytes(dtype, value)
    except (struct.error, OverflowError) as error:
        raise SpecError(f"scalar `{name}` = {value} does not fit {dtype}: {error}") from error
    if raw is None:
        known = ", ".join((*SCALAR_FORMATS, "bfloat16"))
        raise SpecError(f"scalar `{name}` is {dtype}", valid=known)
    return ScalarParam(arg=name, type=dtype, value=value, raw=raw.hex())


def _bytes(dtype: str, value: int | float) -> bytes | None:
    if dtype == "bfloat16":  # the upper half of a float32, rounded to the nearest, ties to even
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
        if value != value:
            return b"\xc0\x7f"
        return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)
    form = SCALAR_FORMATS.get(dtype)
    if dtype == "bool" and value not in (0, 1):
        raise OverflowError("a bool is 0 or 1")
    return None if form is None else struct.pack(form, value)


def argument_buffers(contract: BoundContract) -> tuple[PlanBuffer, ...]:
    """The buffers that the contract itself asks for."""
    return tuple(
        PlanBuffer(name=a.name, role="argument", nbytes=a.nbytes, align=a.argument.align)
        for a in contract.arrays
    )


def contract_outputs(contract: BoundContract) -> tuple[PlanOutput, ...]:
    """The outputs where the contract puts them: at the start of their own buffers."""
    return tuple(
        PlanOutput(
            name=a.name,
            buffer=a.name,
            dtype=a.argument.dtype,
            shape=a.shape,
            strides=a.strides,
        )
        for a in contract.outputs
    )


def without_names(plan: LaunchPlan) -> dict[str, Any]:
    """What of a plan decides its behaviour: for the hash that finds equal machine code."""
    content = plan.model_dump(mode="json", exclude={"label": True, "outputs": True})
    for kernel in content["kernels"]:
        del kernel["sha256"]
    return content
