"""The kernels that `schedules.py` searches, of whatever corpus, in one form.

A kernel of `plain` and `triton` gets two workloads of its domain: the largest that keeps its arrays
within MOST_BYTES, halved until it does, and a held-out one whose sizes vectors and tiles do not
divide. Those of `schedules` say theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import columns_kernels
import cuda_rewrites_kernels
import schedules_kernels
import triton_more_kernels
import triton_plain_kernels
from schedules_at_limit import AT_LIMIT
from schedules_torch_calls import CUDA, TRITON

from kernelwright.runners.loading.files import parse_spec
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.specs.spec import KernelSpec

MOST_BYTES = 256 << 20
"""of all arrays: some 0.1 ms of an H100's memory, and several times its cache"""
SUMS = {"floor": 1e-4}
"""a plain sum of thousands of floats, in order, is the less exact one"""
KINDS = ("held out", "at the limit", "developed")


@dataclass(frozen=True)
class Searched:
    """A kernel with what torch is asked for the same work."""

    name: str
    corpus: str
    kind: str
    """one of KINDS"""
    spec: Mapping[str, Any]
    """as JSON; its first workload is the one that torch is timed on"""
    torch: str
    """an expression over the arguments that are not outputs; `in` is called `in_`"""


def kernels_of(corpora: Sequence[str]) -> list[Searched]:
    """The kernels of these corpora, what claims rest on first. Raises ValueError for an unknown."""
    if unknown := [each for each in corpora if each not in CORPORA]:
        raise ValueError(f"no corpus `{unknown[0]}`; valid: {', '.join(CORPORA)}")
    found = [each for corpus in corpora for each in CORPORA[corpus]()]
    return sorted(found, key=lambda each: KINDS.index(each.kind))


def shard_of(kernels: Sequence[Searched], told: str) -> list[Searched]:
    """The part `K/N`, counted from one: every Nth, so that all parts hold of every kind."""
    place, _, parts = told.partition("/")
    if not (place.isdigit() and parts.isdigit() and 1 <= int(place) <= int(parts)):
        raise ValueError(f"a shard is K/N with 1 <= K <= N, such as 1/2, not `{told}`")
    return list(kernels[int(place) - 1 :: int(parts)])


def _schedules() -> Iterator[Searched]:
    for kind, kernels in (
        ("held out", schedules_kernels.HELD_OUT),
        ("developed", schedules_kernels.DEVELOPED),
    ):
        for name, plain in kernels.items():
            yield Searched(name, "schedules", kind, plain.spec("f"), plain.torch)


def _plain() -> Iterator[Searched]:
    for kind, kernels in (
        ("developed", cuda_rewrites_kernels.FIRST),
        ("held out", cuda_rewrites_kernels.SECOND),
        ("at the limit", AT_LIMIT),
    ):
        for name, kernel in kernels.items():
            yield Searched(name, "plain", kind, _sized(_lenient(kernel.spec())), CUDA[name])


def _triton() -> Iterator[Searched]:
    for kind, kernels in (
        ("developed", triton_plain_kernels.DEVELOPED),
        ("held out", triton_plain_kernels.HELD_OUT),
        ("developed", triton_more_kernels.OPEN),
        ("held out", triton_more_kernels.THIRD),
    ):
        for name, kernel in kernels.items():
            yield Searched(name, "triton", kind, _sized(_lenient(kernel.spec("f"))), TRITON[name])


def _columns() -> Iterator[Searched]:
    for cuda, (plain, torch) in columns_kernels.CUDA.items():
        kind = "developed" if cuda in columns_kernels.SEEN else "held out"
        yield Searched(cuda, "columns", kind, _sized(_lenient(plain.spec())), torch)
    for name, (kernel, torch) in columns_kernels.TRITON.items():
        yield Searched(name, "columns", "held out", _sized(_lenient(kernel.spec("f"))), torch)


CORPORA = {"schedules": _schedules, "plain": _plain, "triton": _triton, "columns": _columns}


def _lenient(spec: Mapping[str, Any]) -> dict[str, Any]:
    """With a floor for sums in outputs of float32."""
    arguments = [
        {**each, "tolerance": SUMS}
        if each["role"] in ("output", "inout") and each["dtype"] == "float32"
        else each
        for each in spec["io"]["arguments"]
    ]
    return {**spec, "io": {**spec["io"], "arguments": arguments}}


def _sized(spec: Mapping[str, Any]) -> dict[str, Any]:
    """With workloads that keep a GPU busy."""
    parsed = parse_spec(dict(spec))
    main = {name: domain.max for name, domain in parsed.symbols.items() if domain is not None}
    while bind(parsed.io, main, "main").nbytes > MOST_BYTES:
        half = {name: _legal(parsed, name, size // 2) for name, size in main.items()}
        if half == main:
            raise ValueError(f"{spec['name']}: no legal size keeps its arrays within MOST_BYTES")
        main = half
    odd = {name: _legal(parsed, name, size * 3 // 4 + 1) for name, size in main.items()}
    workloads = [
        {"name": "main", "symbols": main},
        {"name": "ragged", "symbols": odd, "held_out": True},
    ]
    return {**spec, "workloads": workloads}


def _legal(spec: KernelSpec, name: str, size: int) -> int:
    domain = spec.symbols[name]
    assert domain is not None
    step = domain.multiple_of
    return max(domain.min, size - size % step)
