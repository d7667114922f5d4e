"""The check of a plan against the machine code that it launches.

Both come from an untrusted process. With too few parameters the driver would read past the
array it is given; with a wrong block or too much shared memory a launch fails on the GPU, where
the reason is hard to tell.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping

from ..errors import SpecError
from ..plans.plan import (
    Launch,
    LaunchPlan,
    Param,
    PlanKernel,
    ScalarParam,
    SetSymbol,
    TensorMapParam,
)
from ..specs.devices import DeviceFacts
from .cubin import CubinInfo, Entry

ANSWERED = frozenset({"malloc", "free", "vprintf", "__assertfail"})
"""functions that the driver brings along"""
WARP = 32
REGISTER_UNIT = 256
"""registers are given out to warps in units of this many (CUDA occupancy calculator, sm_70 on)"""
SHORT_OF_PARAMETERS = "the plan must pass what the machine code reads, no more and no less"


def check_cubin(plan: LaunchPlan, cubins: Mapping[str, CubinInfo], device: DeviceFacts) -> None:
    """Refuse a plan that its machine code or the device cannot run.

    `cubins` by hash. Raises SpecError with the kernel, or the step and the parameter, at fault.
    """
    where = f"plan {plan.label}"
    taken = sum(buffer.nbytes for buffer in plan.buffers)
    if taken > device.memory_bytes:
        raise SpecError(
            f"{where}: its arrays and buffers take {taken} bytes",
            valid=f"up to {device.memory_bytes}, the memory of {device.name}",
            next_step="smaller symbols in that workload, or smaller buffers in the plan",
        )
    entries: dict[str, Entry] = {}
    for kernel in plan.kernels:
        cubin = cubins.get(kernel.sha256)
        if cubin is None:
            raise SpecError(f"{where}: `{kernel.entry}` is in no module ({kernel.sha256[:12]})")
        _check_module(f"{where}, `{kernel.entry}`", cubin, device)
        entries[kernel.id] = _find(f"{where}, `{kernel.entry}`", kernel.entry, cubin)
        _check_kernel(f"{where}, `{kernel.entry}`", kernel, entries[kernel.id], device)
    kernels = {k.id: k for k in plan.kernels}
    for place, step in plan.located:
        at = f"{where}, {place}"
        if isinstance(step, Launch):
            _check_launch(at, step, kernels[step.launch], entries[step.launch])
        elif isinstance(step, SetSymbol):
            _check_symbol(at, step, cubins[kernels[step.kernel].sha256])


def _check_module(where: str, cubin: CubinInfo, device: DeviceFacts) -> None:
    if not cubin.linked:
        raise SpecError(
            f"{where}: the machine code was compiled to be linked later",
            next_step="build it without -rdc=true and -dc",
        )
    if cubin.capability != device.capability:
        raise SpecError(
            f"{where}: machine code for sm_{cubin.capability}", valid=f"{device.arch}, the device's"
        )
    missing = [name for name in cubin.unresolved if name not in ANSWERED]
    if missing:
        raise SpecError(
            f"{where}: nothing defines {', '.join(missing)}",
            valid=f"functions of the same file, and {', '.join(sorted(ANSWERED))}",
        )
    managed = [name for name, variable in cubin.globals.items() if variable.managed]
    if managed:
        raise SpecError(f"{where}: `{managed[0]}` is __managed__", valid="__device__, __constant__")


def _find(where: str, name: str, cubin: CubinInfo) -> Entry:
    if name not in cubin.entries:
        raise SpecError(
            f"{where}: the machine code has no kernel `{name}`", valid=_names(name, cubin.entries)
        )
    return cubin.entries[name]


def _names(wanted: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(wanted, known, n=1)
    return f"did you mean `{close[0]}`?" if close else ", ".join(sorted(known)) or "it has none"


def _check_kernel(where: str, kernel: PlanKernel, entry: Entry, device: DeviceFacts) -> None:
    threads = math.prod(kernel.block)
    if entry.exact_block is not None and kernel.block != entry.exact_block:
        raise SpecError(
            f"{where}: block {kernel.block}",
            valid=f"{entry.exact_block}, which it was compiled for",
        )
    if entry.max_threads is not None and threads > entry.max_threads:
        raise SpecError(
            f"{where}: {threads} threads a block",
            valid=f"up to {entry.max_threads}, its __launch_bounds__",
        )
    if kernel.cluster is not None and entry.cluster not in (None, kernel.cluster):
        raise SpecError(
            f"{where}: cluster {kernel.cluster}",
            valid=f"{entry.cluster}, which it was compiled for",
        )
    shared = entry.static_shared + kernel.shared
    if shared > device.shared_per_block:
        raise SpecError(
            f"{where}: {shared} bytes of shared memory a block "
            f"({entry.static_shared} static, {kernel.shared} dynamic)",
            valid=f"up to {device.shared_per_block} on {device.name}",
        )
    # where there is no room, the driver says no more than that
    local = device.local_memory(entry.stack)
    if local > device.memory_bytes:
        raise SpecError(
            f"{where}: {entry.stack} bytes of stack and local arrays a thread take {local} bytes "
            f"for the {device.sm_count * device.threads_per_sm} threads of {device.name}",
            valid=f"up to {device.memory_bytes}, its memory",
            next_step="put large arrays into a scratch buffer of the plan",
        )
    warps = -(-threads // WARP)
    registers = warps * -(-entry.registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
    if registers > device.registers_per_sm:
        raise SpecError(
            f"{where}: {threads} threads of {entry.registers} registers need {registers}",
            valid=f"up to {device.registers_per_sm} registers a block on {device.name}",
            next_step="a smaller block, or __launch_bounds__ (maxnreg in Triton)",
        )


def _check_launch(where: str, step: Launch, kernel: PlanKernel, entry: Entry) -> None:
    cluster = kernel.cluster or entry.cluster
    if cluster and any(g % c for g, c in zip(step.grid, cluster, strict=True)):
        raise SpecError(
            f"{where}: grid {step.grid} of `{kernel.entry}`",
            valid=f"multiples of its cluster {cluster}",
        )
    have = [_size(p) for p in step.params]
    want = [size for _, size in entry.params]
    if len(have) != len(want):
        raise SpecError(
            f"{where}: {len(have)} parameters for `{kernel.entry}`, which takes {len(want)}",
            next_step=SHORT_OF_PARAMETERS,
        )
    for param, size in zip(step.params, want, strict=True):
        if _size(param) != size:
            raise SpecError(
                f"{where}: parameter `{param.arg}` has {_size(param)} bytes",
                valid=f"{size}, as `{kernel.entry}` takes it",
                next_step=SHORT_OF_PARAMETERS,
            )


def _size(param: Param) -> int:
    if isinstance(param, TensorMapParam):
        return 128
    return len(param.raw) // 2 if isinstance(param, ScalarParam) else 8


def _check_symbol(where: str, step: SetSymbol, cubin: CubinInfo) -> None:
    variable = cubin.globals.get(step.symbol)
    if variable is None:
        raise SpecError(
            f"{where}: the machine code has no variable `{step.symbol}`",
            valid=_names(step.symbol, cubin.globals),
        )
    if step.offset + step.nbytes > variable.size:
        raise SpecError(
            f"{where}: bytes {step.offset}..{step.offset + step.nbytes} of `{step.symbol}`",
            valid=f"it holds {variable.size} bytes",
        )
