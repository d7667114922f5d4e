"""The launch plan: what is launched, with which numbers, on which buffers; nothing to execute.

A plan is resolved by the builder for one shape, comes from an untrusted process, and is
checked here before a runner binds buffers to it. The whole plan with its fills is the
timed unit. Shape and words: `docs/launch-plan.md`.
"""

from __future__ import annotations

import struct
from typing import Any, Literal

from pydantic import Field

from .contract import BoundArgument, BoundContract
from .dtypes import DTYPES
from .errors import SpecError
from .model import Record

Dim3 = tuple[int, int, int]
ONE: Dim3 = (1, 1, 1)
MAX_GRID = 2**31 - 1
MAX_PARAMS = 256


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


class PlanBuffer(Record):
    """Memory that the runner owns and binds."""

    name: str
    role: Literal["argument", "scratch", "launch_scratch", "const"]
    nbytes: int = Field(ge=0)
    align: int = Field(ge=1)


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
    value: int | float
    raw: str = Field(pattern=r"^([0-9a-f]{2}){1,16}$")


Param = PointerParam | ScalarParam


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


class PlanOutput(Record):
    """Where a result lies once the plan has run."""

    name: str
    buffer: str
    offset: int = 0
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class LaunchPlan(Record):
    """Everything the runner needs beside the machine code, for one shape."""

    label: str
    kernels: tuple[PlanKernel, ...]
    buffers: tuple[PlanBuffer, ...]
    setup: tuple[Fill, ...] = ()
    steps: tuple[Launch | Fill, ...]
    outputs: tuple[PlanOutput, ...]

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The steps that launch a kernel, in order."""
        return tuple(s for s in self.steps if isinstance(s, Launch))


class Module(Record):
    """One file of machine code, found by its hash."""

    sha256: str
    kind: Literal["so", "cubin"]
    nbytes: int


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


_FORMATS = {
    "float64": "<d", "float32": "<f", "float16": "<e",
    "int64": "<q", "int32": "<i", "int16": "<h", "int8": "<b",
    "uint64": "<Q", "uint32": "<I", "uint16": "<H", "uint8": "<B", "bool": "<?",
}  # fmt: skip


def pack_scalar(bound: BoundArgument) -> ScalarParam:
    """A scalar argument as a parameter. Raises SpecError when the value does not fit its dtype."""
    dtype, value = bound.argument.dtype, bound.value
    assert value is not None
    form = _FORMATS.get(dtype)
    if form is None:
        raise SpecError(f"scalar `{bound.name}` is {dtype}", valid=", ".join(_FORMATS))
    try:
        raw = struct.pack(form, value)
    except (struct.error, OverflowError) as error:
        raise SpecError(f"scalar `{bound.name}` = {value} does not fit {dtype}: {error}") from error
    return ScalarParam(arg=bound.name, type=dtype, value=value, raw=raw.hex())


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


def check_plan(plan: LaunchPlan, contract: BoundContract) -> None:
    """Refuse a plan that names what is not there, overruns a buffer, or launches nothing.

    Raises SpecError with the step and the parameter at fault.
    """
    buffers = {b.name: b for b in plan.buffers}
    kernels = {k.id for k in plan.kernels}
    for wanted in argument_buffers(contract):
        have = buffers.get(wanted.name)
        if have is None or have.nbytes != wanted.nbytes:
            raise SpecError(
                f"plan {plan.label}: buffer `{wanted.name}` must exist with {wanted.nbytes} bytes"
            )
    if not plan.launches:
        raise SpecError(f"plan {plan.label} launches no kernel")
    for number, step in enumerate((*plan.setup, *plan.steps)):
        where = f"plan {plan.label}, step {number}"
        if isinstance(step, Fill):
            _check_range(where, buffers, step.fill, step.offset, step.nbytes)
        else:
            _check_launch(where, step, kernels, buffers)
    for output in plan.outputs:
        size = DTYPES[output.dtype].itemsize
        last = sum((n - 1) * s for n, s in zip(output.shape, output.strides, strict=True))
        nbytes = 0 if 0 in output.shape else (last + 1) * size
        _check_range(f"output {output.name}", buffers, output.buffer, output.offset, nbytes)


def _check_launch(
    where: str, launch: Launch, kernels: set[str], buffers: dict[str, PlanBuffer]
) -> None:
    if launch.launch not in kernels:
        raise SpecError(f"{where}: no kernel `{launch.launch}`", valid=", ".join(sorted(kernels)))
    x, y, z = launch.grid
    if min(launch.grid) < 1 or x * y * z > MAX_GRID:
        raise SpecError(f"{where}: grid {launch.grid}", valid="1 to 2**31 - 1 blocks in all")
    if len(launch.params) > MAX_PARAMS:
        raise SpecError(f"{where}: {len(launch.params)} parameters", valid=f"up to {MAX_PARAMS}")
    for param in launch.params:
        if isinstance(param, PointerParam) and param.buffer is not None:
            _check_range(f"{where}, {param.arg}", buffers, param.buffer, param.offset, 0)


def _check_range(
    where: str, buffers: dict[str, PlanBuffer], name: str, offset: int, nbytes: int
) -> None:
    buffer = buffers.get(name)
    if buffer is None:
        raise SpecError(f"{where}: no buffer `{name}`", valid=", ".join(sorted(buffers)))
    if offset + nbytes > buffer.nbytes:
        raise SpecError(
            f"{where}: bytes {offset}..{offset + nbytes} of `{name}`",
            valid=f"it holds {buffer.nbytes} bytes",
        )


def without_names(plan: LaunchPlan) -> dict[str, Any]:
    """What of a plan decides its behaviour: for the hash that finds equal machine code."""
    content = plan.model_dump(mode="json", exclude={"label": True, "outputs": True})
    for kernel in content["kernels"]:
        del kernel["sha256"]
    return content
