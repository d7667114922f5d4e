"""The launch plan: what is launched, with which numbers, on which buffers; nothing to execute.

A plan is resolved by the builder for one shape, comes from an untrusted process, and is
checked here before a runner binds buffers to it. The whole plan with its fills is the
timed unit. Shape and words: `docs/launch-plan.md`.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping, Sequence
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
    offset: int = Field(default=0, ge=0)
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
        if dtype == "bool" and value not in (0, 1):
            raise OverflowError("a bool is 0 or 1")
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
    """Refuse a plan that names what is not there, overruns a buffer, launches nothing, asks for
    more than the contract promises, or leaves out a result.

    Raises SpecError with the step and the parameter at fault.
    """
    where = f"plan {plan.label}"
    buffers = {b.name: b for b in plan.buffers}
    kernels = {k.id: k for k in plan.kernels}
    if len(buffers) < len(plan.buffers) or len(kernels) < len(plan.kernels):
        raise SpecError(f"{where}: two buffers or two kernels have one name")
    _check_buffers(where, buffers, argument_buffers(contract))
    if not plan.launches:
        raise SpecError(f"{where} launches no kernel")
    for kernel in plan.kernels:
        if min(kernel.block) < 1:
            raise SpecError(f"{where}: block {kernel.block} of `{kernel.id}`", valid="1 or more")
    for number, step in enumerate((*plan.setup, *plan.steps)):
        if isinstance(step, Fill):
            _check_fill(f"{where}, step {number}", step, buffers)
        else:
            _check_launch(f"{where}, step {number}", step, kernels.keys(), buffers)
    _check_outputs(where, plan.outputs, contract, buffers)


def _check_buffers(
    where: str, buffers: Mapping[str, PlanBuffer], wanted: Sequence[PlanBuffer]
) -> None:
    for buffer in wanted:
        have = buffers.get(buffer.name)
        if have is None or (have.role, have.nbytes) != (buffer.role, buffer.nbytes):
            raise SpecError(
                f"{where}: buffer `{buffer.name}` must exist as an argument of "
                f"{buffer.nbytes} bytes"
            )
        if have.align > buffer.align:
            raise SpecError(
                f"{where}: buffer `{buffer.name}` asks for an alignment of {have.align}",
                valid=f"up to {buffer.align}, which the contract promises",
            )
    names = [b.name for b in wanted]
    for name, buffer in buffers.items():
        if buffer.role == "argument" and name not in names:
            raise SpecError(f"{where}: no argument `{name}`", valid=", ".join(names))


def _check_outputs(
    where: str,
    outputs: Sequence[PlanOutput],
    contract: BoundContract,
    buffers: Mapping[str, PlanBuffer],
) -> None:
    found = [(o.name, o.dtype, o.shape) for o in outputs]
    wanted = [(a.name, a.argument.dtype, a.shape) for a in contract.outputs]
    if found != wanted:
        raise SpecError(f"{where}: outputs are {found}", valid=f"those of the contract: {wanted}")
    for output in outputs:
        if len(output.strides) != len(output.shape) or min(output.strides, default=0) < 0:
            raise SpecError(
                f"{where}, output {output.name}: strides {output.strides}",
                valid=f"{len(output.shape)} of 0 or more",
            )
        last = sum((n - 1) * s for n, s in zip(output.shape, output.strides, strict=True))
        nbytes = 0 if 0 in output.shape else (last + 1) * DTYPES[output.dtype].itemsize
        _check_range(f"output {output.name}", buffers, output.buffer, output.offset, nbytes)


def _check_fill(where: str, fill: Fill, buffers: Mapping[str, PlanBuffer]) -> None:
    _check_range(where, buffers, fill.fill, fill.offset, fill.nbytes)
    size = len(fill.pattern) // 2
    if fill.nbytes % size:
        raise SpecError(
            f"{where}: {fill.nbytes} bytes of a pattern of {size}", valid="whole patterns"
        )


def _check_launch(
    where: str, launch: Launch, kernels: Collection[str], buffers: Mapping[str, PlanBuffer]
) -> None:
    if launch.launch not in kernels:
        raise SpecError(f"{where}: no kernel `{launch.launch}`", valid=", ".join(sorted(kernels)))
    x, y, z = launch.grid
    if min(launch.grid) < 1 or x * y * z > MAX_GRID:
        raise SpecError(f"{where}: grid {launch.grid}", valid="1 to 2**31 - 1 blocks in all")
    if len(launch.params) > MAX_PARAMS:
        raise SpecError(f"{where}: {len(launch.params)} parameters", valid=f"up to {MAX_PARAMS}")
    for param in launch.params:
        if isinstance(param, ScalarParam):
            _check_scalar(f"{where}, {param.arg}", param)
        elif param.buffer is not None:
            _check_range(f"{where}, {param.arg}", buffers, param.buffer, param.offset, 0)


def _check_scalar(where: str, param: ScalarParam) -> None:
    if param.type not in _FORMATS:
        raise SpecError(f"{where}: scalar type `{param.type}`", valid=", ".join(_FORMATS))
    if len(param.raw) // 2 != DTYPES[param.type].itemsize:
        raise SpecError(
            f"{where}: {len(param.raw) // 2} bytes for {param.type}",
            valid=f"{DTYPES[param.type].itemsize}",
        )


def _check_range(
    where: str, buffers: Mapping[str, PlanBuffer], name: str, offset: int, nbytes: int
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
