"""The check that every plan passes before a runner binds buffers to it.

A plan comes from an untrusted process. What machine code itself says of its parameters is
checked beside the machine code.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..dtypes import DTYPES
from ..errors import SpecError
from ..specs.contract import BoundContract
from .plan import (
    ONE,
    SCALAR_FORMATS,
    Fill,
    Launch,
    LaunchPlan,
    PlanBuffer,
    PlanKernel,
    PlanOutput,
    ScalarParam,
    SetSymbol,
    TensorMapParam,
    argument_buffers,
)

MAX_GRID = 2**31 - 1
MAX_GRID_YZ = 65535
MAX_PARAMS = 256
MAX_THREADS = 1024
MAX_BLOCK_Z = 64
MAX_CLUSTER = 16
MAX_STEPS = 4096
"""in setup and plan together: each is prepared for every set of buffers"""
MAX_BYTES = 1 << 46
"""of all buffers: beyond what a GPU's page tables reach, and far from where numbers overflow"""
MAX_ALIGN = 4096
"""of buffers of the plan's own; where they lie on pages, they are aligned no better"""
MAX_BOX, MAX_ELEMENT_STRIDE, MAX_MAP_DIM, MAX_MAP_STRIDE = 256, 8, 1 << 32, 1 << 40
"""of tensor maps (CUDA driver API, cuTensorMapEncodeTiled)"""
SCALAR_TYPES = (*SCALAR_FORMATS, "bfloat16", "bytes")
TENSOR_MAP_ITEMSIZES = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)
"""bytes of an element, by CUtensorMapDataType"""


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
    if len(plan.located) > MAX_STEPS:
        raise SpecError(f"{where} has {len(plan.located)} steps", valid=f"up to {MAX_STEPS}")
    if not plan.launches:
        raise SpecError(f"{where} launches no kernel")
    for kernel in plan.kernels:
        _check_block(where, kernel)
    for place, step in plan.located:
        at = f"{where}, {place}"
        if isinstance(step, Fill):
            _check_fill(at, step, buffers, timed=place.startswith("step"))
        elif isinstance(step, SetSymbol):
            _check_symbol(at, step, kernels.keys(), buffers, timed=place.startswith("step"))
        else:
            _check_launch(at, step, kernels.keys(), buffers)
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
    total = sum(buffer.nbytes for buffer in buffers.values())
    if total > MAX_BYTES:
        raise SpecError(f"{where}: buffers of {total} bytes", valid=f"up to {MAX_BYTES} in all")
    names = [b.name for b in wanted]
    for name, buffer in buffers.items():
        if buffer.role == "argument" and name not in names:
            raise SpecError(f"{where}: no argument `{name}`", valid=", ".join(names))
        if buffer.align > MAX_ALIGN or buffer.align & (buffer.align - 1):
            raise SpecError(
                f"{where}: buffer `{name}` asks for an alignment of {buffer.align}",
                valid=f"a power of two up to {MAX_ALIGN}",
            )
        if (buffer.role == "const") != (buffer.sha256 is not None):
            raise SpecError(f"{where}: buffer `{name}`", valid="content for const, for no other")
        for pointer in buffer.pointers:
            if pointer.at + 8 > buffer.nbytes:
                raise SpecError(f"{where}: an address at byte {pointer.at} of `{name}`")
            _check_range(f"{where}, `{name}`", buffers, pointer.buffer, pointer.offset, 0)


def _check_block(where: str, kernel: PlanKernel) -> None:
    x, y, z = kernel.block
    if min(kernel.block) < 1 or x * y * z > MAX_THREADS or z > MAX_BLOCK_Z:
        raise SpecError(
            f"{where}: block {kernel.block} of `{kernel.entry}`",
            valid=f"1 to {MAX_THREADS} threads, at most {MAX_BLOCK_Z} in z",
        )
    cx, cy, cz = kernel.cluster or ONE
    if min(cx, cy, cz) < 1 or cx * cy * cz > MAX_CLUSTER:
        raise SpecError(
            f"{where}: cluster {kernel.cluster} of `{kernel.entry}`",
            valid=f"1 to {MAX_CLUSTER} blocks",
        )


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
    for output, bound in zip(outputs, contract.outputs, strict=True):
        if output.strides != bound.strides:
            raise SpecError(
                f"{where}, output {output.name}: strides {output.strides}",
                valid=f"{bound.strides}, as the contract has them: a caller looks nowhere else",
            )
        last = sum((n - 1) * s for n, s in zip(output.shape, output.strides, strict=True))
        nbytes = 0 if 0 in output.shape else (last + 1) * DTYPES[output.dtype].itemsize
        _check_range(f"output {output.name}", buffers, output.buffer, output.offset, nbytes)


def _check_fill(where: str, fill: Fill, buffers: Mapping[str, PlanBuffer], *, timed: bool) -> None:
    _check_range(where, buffers, fill.fill, fill.offset, fill.nbytes)
    if not timed and buffers[fill.fill].role == "argument":
        raise SpecError(
            f"{where}: `{fill.fill}` is an array of the contract",
            valid="a step: clearing what a caller hands over is part of the work",
        )
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
    if min(launch.grid) < 1 or x * y * z > MAX_GRID or max(y, z) > MAX_GRID_YZ:
        raise SpecError(
            f"{where}: grid {launch.grid}",
            valid=f"1 to 2**31 - 1 blocks in all, at most {MAX_GRID_YZ} in y and in z",
        )
    if len(launch.params) > MAX_PARAMS:
        raise SpecError(f"{where}: {len(launch.params)} parameters", valid=f"up to {MAX_PARAMS}")
    for param in launch.params:
        if isinstance(param, ScalarParam):
            _check_scalar(f"{where}, {param.arg}", param)
        elif isinstance(param, TensorMapParam):
            _check_tensor_map(f"{where}, {param.arg}", param, buffers)
        elif param.buffer is not None:
            _check_range(f"{where}, {param.arg}", buffers, param.buffer, param.offset, 0)


def _check_scalar(where: str, param: ScalarParam) -> None:
    if param.type not in SCALAR_TYPES:
        raise SpecError(f"{where}: scalar type `{param.type}`", valid=", ".join(SCALAR_TYPES))
    if param.type != "bytes" and len(param.raw) // 2 != DTYPES[param.type].itemsize:
        raise SpecError(
            f"{where}: {len(param.raw) // 2} bytes for {param.type}",
            valid=f"{DTYPES[param.type].itemsize}",
        )


def _check_tensor_map(where: str, param: TensorMapParam, buffers: Mapping[str, PlanBuffer]) -> None:
    rank = len(param.dims)
    steps = param.element_strides or (1,) * rank
    if (len(param.strides), len(param.box), len(steps)) != (rank - 1, rank, rank):
        raise SpecError(
            f"{where}: {rank} dims, {len(param.strides)} strides, {len(param.box)} box sizes",
            valid="as many box sizes as dims, one stride less",
        )
    if min((*param.dims, *param.strides, *param.box, *steps)) < 1:
        raise SpecError(f"{where}: a size or stride below 1 in {param.dims}, {param.strides}")
    limits = (
        ("dims", param.dims, MAX_MAP_DIM),
        ("strides", param.strides, MAX_MAP_STRIDE - 1),
        ("box", param.box, MAX_BOX),
        ("element_strides", steps, MAX_ELEMENT_STRIDE),
    )
    for name, sizes, most in limits:
        if max(sizes, default=0) > most:
            raise SpecError(f"{where}: {name} {sizes} of a tensor map", valid=f"up to {most}")
    itemsize = TENSOR_MAP_ITEMSIZES[param.dtype]
    sizes = zip(param.dims, (itemsize, *param.strides), strict=True)
    last = sum((size - 1) * stride for size, stride in sizes)
    _check_range(where, buffers, param.buffer, param.offset, last + itemsize)


def _check_symbol(
    where: str,
    step: SetSymbol,
    kernels: Collection[str],
    buffers: Mapping[str, PlanBuffer],
    *,
    timed: bool,
) -> None:
    if step.kernel not in kernels:
        raise SpecError(f"{where}: no kernel `{step.kernel}`", valid=", ".join(sorted(kernels)))
    if (step.raw is None) == (step.buffer is None):
        raise SpecError(f"{where}: symbol `{step.symbol}`", valid="raw bytes or a buffer")
    if step.raw is not None and len(step.raw) // 2 != step.nbytes:
        raise SpecError(
            f"{where}: {len(step.raw) // 2} bytes for symbol `{step.symbol}`",
            valid=f"{step.nbytes}",
        )
    if step.buffer is not None:
        if not timed:
            raise SpecError(
                f"{where}: symbol `{step.symbol}` is set from `{step.buffer}` in setup",
                valid="a step: copying data is part of the work",
            )
        _check_range(where, buffers, step.buffer, step.buffer_offset, step.nbytes)


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
