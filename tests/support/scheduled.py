"""What tests of schedules share: kernels of a few words, candidates run beside their kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from cuda_moves import Array, PretendedLab, after, array, candidates, cuda_state, scalar

from kernelwright.runners.specs.expressions import evaluate_int
from kernelwright.search.moves import Move, State

HEAD = 'extern "C" __global__ void f(const float* x, float* y, int rows, int cols) '
SIZES: dict[str, Any] = {"rows": {"max": 4096}, "cols": {"max": 4096}}
FLAT = {"grid": ["cdiv(rows * cols, 256)"], "block": [256]}
A_ROW = {"grid": ["cdiv(rows, 64)"], "block": [64]}
A_COLUMN = {"grid": ["cdiv(cols, 64)"], "block": [64]}


def matrix_state(
    body: str,
    launch: Mapping[str, Any],
    to: Sequence[int | str] = ("rows", "cols"),
    *,
    head: str = HEAD,
    role: str = "output",
    dtype: str = "float32",
    symbols: Mapping[str, Any] = SIZES,
) -> State:
    """A kernel `f(x[rows, cols], y[to], rows, cols)`."""
    arguments = [
        array("x", "input", "rows", "cols"),
        array("y", role, *to, dtype=dtype),
        scalar("rows"),
        scalar("cols"),
    ]
    return cuda_state(head + body, "f", arguments, dict(launch), symbols)


def written_beside(
    lab: PretendedLab,
    move: Move,
    state: State,
    shapes: Sequence[Mapping[str, int]],
    *,
    most: int = 2,
    near: float = 1e-5,
) -> list[State]:
    """Every candidate gives what the kernel gives, at every shape; the states that they lead to."""
    runs = list[tuple[Mapping[str, int], dict[str, Array]]]()
    inputs = {a.name: a for a in state.spec.io.arguments if a.role in ("input", "inout")}
    for shape in shapes:
        given = dict[str, Array]()
        for at, (name, argument) in enumerate(inputs.items()):
            sizes = tuple(_size(each, shape) for each in argument.shape)
            count = int(np.prod(sizes))
            random = np.random.default_rng(at + 3)
            if argument.dtype.startswith("float"):
                given[name] = random.standard_normal(count).astype(argument.dtype)
            else:
                init = argument.filled
                given[name] = random.integers(int(init.low), int(init.high), count).astype(
                    argument.dtype
                )
        runs.append((shape, given))
    wanted = lab.outputs(state, *runs)
    found = [after(state, each) for each in candidates(move, state)[:most]]
    for each in found:
        for got, right in zip(lab.outputs(each, *runs), wanted, strict=True):
            for name, value in right.items():
                np.testing.assert_allclose(got[name], value, rtol=near, atol=near, err_msg=name)
    return found


def _size(size: int | str, shape: Mapping[str, int]) -> int:
    return evaluate_int(size, shape)
