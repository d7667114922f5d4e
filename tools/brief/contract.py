"""A kernel's contract in words: what goes in and out, how exact, and what may change."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from ...runners.limits.processor import processor
from ...runners.specs.io_contract import Argument
from ...runners.specs.spec import KernelSpec, Symbol, Workload


def contract_lines(spec: KernelSpec) -> Iterator[str]:
    """A line a fact, the most binding first; held-out workloads are not among them."""
    kernel, io = spec.kernel, spec.io
    yield f"- `{kernel.metadata.kernel_name}`, {kernel.kernel_type}, for {_device(spec)}"
    for argument in io.arguments:
        yield f"- {_argument(argument)}"
    for name, symbol in spec.symbols.items():
        yield f"- {name}: {_domain(symbol)}"
    for workload in spec.workloads:
        if not workload.held_out:
            yield f"- workload {_workload(workload)}"
    yield f"- math {io.math}; {_same_bits(io.deterministic)}; {_truth(spec)}"
    if io.bytes or io.flops:
        moved, done = io.bytes or "unknown", io.flops or "unknown"
        yield f"- least work of a call: {moved} bytes, {done} flops"
    for name, parameter in spec.parameters.items():
        values = ", ".join(map(str, parameter.values))
        yield f"- parameter {name}: {values} (baseline {parameter.start})"
    for constraint in spec.constraints:
        yield f"- parameters must meet {constraint}"


def processor_line() -> str:
    """What host kernels run on here."""
    here, cores = processor(), len(os.sched_getaffinity(0))
    caches = ", ".join(f"{level} {size >> 10} KiB" for level, size in here.caches.items())
    parts = (here.model, here.vectors, caches, f"{cores} core{'s' * (cores != 1)}")
    return f"- processor: {', '.join(part for part in parts if part)}"


def _device(spec: KernelSpec) -> str:
    profile = spec.device_profile
    if not spec.kernel.language.on_gpu:
        return "this machine's processor"
    named = (profile.gpu_name, "" if profile.arch == "native" else profile.arch)
    return " ".join(filter(None, named)) or "this machine's GPU"


def _argument(argument: Argument) -> str:
    if argument.role == "scalar":
        return f"{argument.name}: {argument.dtype} scalar = {argument.value}"
    shape = " x ".join(map(str, argument.shape))
    told = [f"{argument.name}: {argument.dtype} {argument.role} [{shape}]"]
    if argument.strides is not None:
        told.append(f"strides {', '.join(map(str, argument.strides))} elements")
    told.append(f"aligned to {argument.align} bytes")
    if argument.role != "output" and argument.init is not None:
        told.append(f"filled by {argument.init.kind}")
    if argument.nonfinite:
        told.append("Inf and NaN occur")
    if argument.role != "input":
        told.append(_tolerance(argument))
    return ", ".join(told)


def _tolerance(argument: Argument) -> str:
    floor = argument.tolerance.floor
    beside = "" if floor is None else f" + {floor:g} of the row's RMS"
    return f"error at most {argument.tolerance.factor:g}x the reference's own in this dtype{beside}"


def _domain(symbol: Symbol | None) -> str:
    if symbol is None:
        return "the sizes of the workloads alone"
    multiple = f", a multiple of {symbol.multiple_of}" if symbol.multiple_of > 1 else ""
    return f"{symbol.min} to {symbol.max}{multiple}"


def _workload(workload: Workload) -> str:
    weight = f", weight {workload.weight:g}" if workload.weight != 1 else ""
    return f"{workload.name}: {_sizes(workload.symbols)}{weight}"


def _sizes(symbols: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in symbols.items())


def _same_bits(deterministic: bool) -> str:
    return "one input has one output, bit for bit" if deterministic else "bits may differ"


def _truth(spec: KernelSpec) -> str:
    return (
        "the baseline is the truth" if spec.reference == "baseline" else "a reference is the truth"
    )
