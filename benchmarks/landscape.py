"""A made-up CUDA kernel with a landscape of speedups, so large that no search sees all of it.

It stands for builds and GPU where the search's own work is measured. A point is a rewrite of the
source and a value for each parameter; its speedup follows from a hash, the same everywhere.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from random import Random
from typing import Any

from kernelwright.runners.loading.files import LoadedKernel
from kernelwright.runners.model import (
    Candidate,
    Comparison,
    Ending,
    Evaluation,
    Variant,
    WorkloadTimes,
)
from kernelwright.runners.specs.normalise import source_key
from kernelwright.runners.specs.spec import KernelSpec

NAMES = ("BLOCK", "ITEMS", "UNROLL", "STAGES", "TILE_M", "TILE_N", "TILE_K", "VECTOR")
VALUES = (1, 2, 4, 8, 16, 32, 64, 128)
REWRITES = 12
LONG, SHORT = 3000, 1000
"""bytes of a source: every fourth rewrite is a long one"""
REWRITE_EVERY = 20
"""one candidate of so many is a whole source, as long as there are rewrites"""
FAILURES = 0.2
"""share of points that fail"""
BEST = 3.0
"""log2 of the speedup at the summit, without noise"""
BASELINE_MS = 1.0


@dataclass(frozen=True)
class Point:
    """One variant of the kernel: the number of a rewrite, and the place of each value."""

    rewrite: int
    places: tuple[int, ...]

    @property
    def parameters(self) -> dict[str, int]:
        """Values by name."""
        return {name: VALUES[place] for name, place in zip(NAMES, self.places, strict=True)}


_SINGLE = [((at, by),) for at in range(len(NAMES)) for by in range(1, len(VALUES))]
MOVES = _SINGLE + [(a, b) for (a,), (b,) in combinations(_SINGLE, 2) if a[0] != b[0]]
"""parameters that move, each by how many places, round and round"""
STRIDES = [n for n in range(1, len(MOVES)) if math.gcd(n, len(MOVES)) == 1]
START = Point(0, (0,) * len(NAMES))


@cache
def source(rewrite: int) -> str:
    """The text of a rewrite."""
    size = LONG if rewrite % 4 == 1 else SHORT
    head = 'extern "C" __global__ void rise(const float* x, float* y, int n) {\n'
    head += "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    lines, number = head, 0
    while len(lines) < size - 40:
        lines += f"    if (i < n - {number}) y[i] += {rewrite}.{number:03d}f * x[i];\n"
        number += 1
    return lines + "}\n"


@cache
def key_of_source(rewrite: int) -> str:
    """`source_key` of a rewrite, which takes a parse."""
    return source_key(source(rewrite), "cuda")


def kernel() -> LoadedKernel:
    """The kernel as it is opened."""
    spec: dict[str, Any] = {
        "name": "landscape",
        "kernel": {
            "kernel_type": "cuda",
            "source_code": source(0),
            "metadata": {"kernel_name": "rise"},
            "launch": {"grid": ["cdiv(n, 256)"], "block": [256]},
        },
        "io": {
            "arguments": [
                {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
                {"name": "y", "role": "inout", "dtype": "float32", "shape": ["n"]},
                {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
            ]
        },
        "symbols": {"n": {"min": 1, "max": 65536}},
        "workloads": [{"name": "main", "symbols": {"n": 4096}}],
        "parameters": {name: {"values": VALUES, "default": VALUES[0]} for name in NAMES},
        "reference": "baseline",
    }
    return LoadedKernel(
        spec=KernelSpec.model_validate(spec), source=source(0), source_name="rise.cu"
    )


def variant_at(point: Point, start: Variant) -> Variant:
    """The variant of a point, given the kernel's baseline."""
    changed = {
        "source": source(point.rewrite),
        "source_key": key_of_source(point.rewrite),
        "parameters": point.parameters,
    }
    return start.model_copy(update=changed)


def point_of(variant: Variant) -> Point:
    """The point of a variant."""
    rewrites = {key_of_source(number): number for number in range(REWRITES)}
    places = tuple(VALUES.index(variant.parameters[name]) for name in NAMES)
    return Point(rewrites[variant.source_key], places)


def candidates(point: Point, seen: int, wanted: int) -> tuple[Candidate, ...]:
    """The next candidates at a point of which `seen` were proposed, all different: one or two
    parameters moved, now and then the whole source."""
    rng = Random(repr(point))
    first, stride = rng.randrange(len(MOVES)), rng.choice(STRIDES)
    last = min(seen + wanted, len(MOVES))
    return tuple(_candidate(point, n, (first + n * stride) % len(MOVES)) for n in range(seen, last))


def _candidate(point: Point, number: int, move: int) -> Candidate:
    prior = Random(f"{point}:{number}").uniform(0.2, 2.0)
    turn, rest = divmod(number, REWRITE_EVERY)
    if rest == 0 and turn < REWRITES - 1:
        rewrite = (point.rewrite + turn + 1) % REWRITES
        text = source(rewrite)
        return Candidate(method=f"rewrite {rewrite}", detail="all", source=text, prior=prior)
    changes = {NAMES[at]: VALUES[(point.places[at] + by) % len(VALUES)] for at, by in MOVES[move]}
    return Candidate(
        method=f"set {' '.join(changes)}", detail="other values", parameters=changes, prior=prior
    )


def moved(point: Point, candidate: Candidate) -> Point:
    """The point that a candidate leads to."""
    if candidate.source is not None:
        return Point(int(candidate.method.split()[1]), point.places)
    changes = candidate.parameters or {}
    places = zip(NAMES, point.places, strict=True)
    return Point(
        point.rewrite, tuple(VALUES.index(changes[n]) if n in changes else p for n, p in places)
    )


@dataclass(frozen=True)
class Measured:
    """What a point is worth. `speedup`: over the start, None where it fails."""

    ending: Ending
    speedup: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Half a percent to either side."""
        return None if self.speedup is None else (self.speedup * 0.995, self.speedup * 1.005)


def measured(point: Point) -> Measured:
    """One summit over all parameters, each rewrite at a height of its own, noise, and failures."""
    if point == START:
        return Measured(Ending.tie, 1.0)
    chance, noise = _hashed(point)
    if chance < FAILURES:
        return Measured((Ending.build_failed, Ending.wrong)[chance < FAILURES / 2], None)
    summit = _summit()
    far = sum((p - s) ** 2 for p, s in zip(point.places, summit, strict=True))
    near = math.exp(-far / 60) - math.exp(-sum(s**2 for s in summit) / 60)
    speedup = 2.0 ** (BEST * near * (1 + point.rewrite / REWRITES) / 2 + noise - 0.5)
    return Measured(Ending.faster if speedup > 1 else Ending.slower, speedup)


@cache
def _summit() -> tuple[int, ...]:
    return tuple(Random("summit").randrange(3, len(VALUES)) for _ in NAMES)


def _hashed(point: Point) -> tuple[float, float]:
    """Two numbers of 0..1, which a point always has."""
    digest = hashlib.sha256(repr(point).encode()).digest()
    return int.from_bytes(digest[:4]) / 2**32, int.from_bytes(digest[4:8]) / 2**32


def evaluation(variant: Variant, variant_id: str, found: Measured, better: bool) -> Evaluation:
    """What the evaluator would have written down, briefly."""
    comparison = None if found.speedup is None else _comparison(variant_id, found.speedup)
    return Evaluation(
        evaluation_id=f"{variant_id}/0001",
        variant_id=variant_id,
        kernel_id=variant.kernel_id,
        ending=found.ending,
        tier="device",
        message=f"{found.ending} by design",
        comparison=comparison,
        speedup=found.speedup,
        interval=found.interval,
        became_incumbent=better,
        seconds={"build": 0.9, "check": 0.1, "compare": 0.3},
    )


def _comparison(variant_id: str, speedup: float) -> Comparison:
    ms: Mapping[str, float] = {variant_id: BASELINE_MS / speedup, "baseline": BASELINE_MS}
    blocks = {side: (time,) * 8 for side, time in ms.items()}
    times = WorkloadTimes(workload="main", weight=1.0, median_ms=dict(ms), blocks_ms=blocks)
    return Comparison(
        candidate=variant_id, ratios=(), workloads=(times,), resolution=0.01, samples=8, seconds=0.3
    )
