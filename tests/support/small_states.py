"""States of a small kernel as moves see them, and what a move proposes for one."""

from __future__ import annotations

from typing import Any

from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.moves.shared.base import NotApplicable, State

SOURCE = """\
#ifndef KERNEL_H
#define KERNEL_H 1
#endif
#ifndef TILE
#define TILE 32  // rows and columns
#endif
constexpr int kUnroll = 4;
const float SCALE = 2;
const int BATCH = 8;
static const unsigned PAD = 0x10u;
constexpr int STAGES = 3, unused_depth = 2;
void scale(const float (*a)[BATCH], float* out) {
    for (int i = 0; i < TILE; i += kUnroll) out[i] = SCALE * a[i][0] + PAD + STAGES;
}
"""


def state(
    parameters: dict[str, tuple[int, ...]] | None = None,
    constraints: tuple[str, ...] = (),
    source: str = SOURCE,
    kernel_type: str = "cpp",
    options: BuildOptions | None = None,
    now: dict[str, int] | None = None,
    **spec: Any,
) -> State:
    data: dict[str, Any] = {
        "name": "scale",
        "kernel": {"kernel_type": kernel_type, "source_code": source}
        | {"metadata": {"kernel_name": "scale"}}
        | spec.get("kernel", {}),
        "io": {"arguments": [{"name": "out", "role": "output", "dtype": "float32", "shape": [8]}]}
        | spec.get("io", {}),
        "workloads": [{"name": "w", "symbols": {}}],
        "parameters": {n: {"values": v} for n, v in (parameters or {}).items()},
        "constraints": constraints,
        "reference": "baseline",
    }
    loaded = KernelSpec.model_validate(data)
    kind = loaded.kernel.kernel_type
    return State(kind, source, now or {}, options or BuildOptions(), loaded)


def proposed(result: tuple[Candidate, ...] | NotApplicable) -> tuple[Candidate, ...]:
    assert not isinstance(result, NotApplicable), result.reason
    return result
