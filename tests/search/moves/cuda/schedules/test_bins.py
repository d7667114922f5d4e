"""Updates of few elements, written anew: each block counts in shared memory."""

from __future__ import annotations

from typing import Any

import pytest
from cuda_moves import PretendedLab, array, cuda_state, reason, scalar
from scheduled import written_beside
from tiers import cases

from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.search.moves import State
from kernelwright.search.moves.cuda.schedules.bins_schedule import MOVE

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

_I = "int i = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;"
SPELLED: dict[str, tuple[str, str, str, Any]] = {
    "bytes in steps of the grid": (
        f"{{ {_I} for (; i < n; i += step) atomicAdd(&y[x[i] & 63], 1); }}", "uint8", "int32", 64),
    "floats in ranges, those within alone": (
        f"{{ {_I} for (; i < n; i += step) {{ int b = (int)floorf((w[i] + 2.0f) * 4.0f);"
        " if (b >= 0 && b < bins) atomicAdd(y + b, 1u); } }", "int32", "uint32", "bins"),
    "weights by class": (
        f"{{ {_I} for (; i < n; i += step) atomicAdd(&y[x[i]], w[i] * w[i]); }}",
        "int32", "float32", 100),
}  # fmt: skip


def state_of(body: str, of: str, dtype: str, elements: Any) -> State:
    kinds = {"uint8": "unsigned char", "int32": "int", "uint32": "unsigned", "float32": "float"}
    head = (
        f'extern "C" __global__ void f(const {kinds[of]}* x, const float* w, {kinds[dtype]}* y,'
        " int n, int bins) "
    )
    arguments = [
        array("x", "input", "n", dtype=of, init={"kind": "randint", "low": 0, "high": 64}),
        array("w", "input", "n"),
        array("y", "inout", elements, dtype=dtype)
        | ({} if dtype == "float32" else {"init": {"kind": "randint", "low": 0, "high": 9}}),
        scalar("n"),
        scalar("bins"),
    ]
    symbols = {"n": {"max": 1 << 20}, "bins": {"max": 256}}
    return cuda_state(head + body, "f", arguments, {"grid": [3], "block": [64]}, symbols)


@cases(
    "spelling",
    SPELLED,
    why="further kernels, each run beside its original",
)
def test_what_is_written_gives_what_the_kernel_gives(spelling: str, lab: PretendedLab) -> None:
    state = state_of(*SPELLED[spelling])
    shapes = [{"n": 3001, "bins": 17}, {"n": 5, "bins": 256}]
    (found,) = written_beside(lab, MOVE, state, shapes, near=1e-4)
    assert "__shared__" in found.source


def test_more_elements_than_shared_memory_holds_are_refused() -> None:
    body = SPELLED["weights by class"][0]
    why = reason(MOVE, state_of(body, "int32", "float32", 100_000))
    assert "do not fit in shared memory" in why


def test_counters_of_several_arrays_lie_beside_each_other(lab: PretendedLab) -> None:
    source = (
        'extern "C" __global__ void f(const int* x, const float* w, float* sum, unsigned* many,'
        " int* seen, int n, int bins) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i >= n) return; int b = x[i] % bins; atomicAdd(&many[b], 1u);"
        " if (w[i] > 0) atomicAdd(sum + b, w[i]); atomicOr(seen, 1 << (b & 7)); }"
    )
    drawn = {"init": {"kind": "randint", "low": 0, "high": 64}}
    arguments = [
        array("x", "input", "n", dtype="int32", **drawn),
        array("w", "input", "n"),
        array("sum", "inout", "bins"),
        array("many", "inout", "bins", dtype="uint32") | drawn,
        array("seen", "inout", 1, dtype="int32") | drawn,
        scalar("n"),
        scalar("bins"),
    ]
    symbols = {"n": {"max": 1 << 20}, "bins": {"max": 256}}
    launch = {"grid": ["cdiv(n, 64)"], "block": [64]}
    state = cuda_state(source, "f", arguments, launch, symbols)
    shapes = [{"n": 3001, "bins": 17}, {"n": 5, "bins": 256}]
    (found,) = written_beside(lab, MOVE, state, shapes, near=1e-4)
    assert all(f"counters_{name}[" in found.source for name in ("sum", "many", "seen"))


def test_an_array_that_is_read_as_well_is_not_counted_apart() -> None:
    body = f"{{ {_I} for (; i < n; i += step) if (y[x[i]] < 5) atomicAdd(&y[x[i]], 1); }}"
    assert "reads what it updates" in reason(MOVE, state_of(body, "int32", "int32", 64))
