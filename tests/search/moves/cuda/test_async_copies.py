"""Tiles that are copied ahead: the same results where each copy is made as late as it may be, and
what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cuda_moves import PretendedLab, after, candidates, compiles, reason
from layouts import c_on_one_line, c_with_comments
from tiers import cases
from tiled_products import PLAIN, STEPPED, TILED, T, product, right, runs

from kernelwright.search.moves.cuda.async_copies import MOVE

LOOP = "for (int t = 0; t < (K + T - 1) / T; ++t) {"
GUARDED_BEFORE = TILED.replace("        // tiles\n", "        __syncthreads();\n").replace(
    "* Bs[k][threadIdx.x];\n        __syncthreads();\n", "* Bs[k][threadIdx.x];\n"
)
VECTORS = TILED.replace(
    """        As[threadIdx.y][threadIdx.x] =
            (row < M && t * T + threadIdx.x < K) ? A[row * K + t * T + threadIdx.x] : 0.0f;
""",
    """        int first = t * T;
        if (threadIdx.x < T / 4) {
            *reinterpret_cast<float4*>(&As[threadIdx.y][threadIdx.x * 4]) =
                *reinterpret_cast<const float4*>(&A[row * K + first + threadIdx.x * 4]);
        }
""",
).replace("k < T; ++k) sum", "k < T && first + k < K; ++k) sum")
SPELLED = {
    "tiles": TILED,
    "on one line": c_on_one_line(TILED),
    "with comments": c_with_comments(STEPPED),
    "stepped pointers": STEPPED,
    "guarded before": GUARDED_BEFORE,
    "read through the cache": TILED.replace(
        "B[(t * T + threadIdx.y) * N + col] : 0.0f",
        "__ldg(B + (t * T + threadIdx.y) * N + col) : 0",
    ),
    "twice over": TILED.replace(
        LOOP, "for (int again = 0; again < 2; ++again)\n{ sum = 0;\n" + LOOP
    ).replace("    if (row < M && col < N) C", "    }\n    if (row < M && col < N) C"),
}
ODD = ((1, 1, 1), (11, 9, 5), (9, 20, 29), (2 * T, T, 3 * T))


@cases(
    "spelling",
    SPELLED,
    why="further kernels that the move writes anew, each run beside its original",
)
def test_tiles_that_are_copied_ahead_give_the_same(spelling: str, lab: PretendedLab) -> None:
    state = product(SPELLED[spelling])
    found = candidates(MOVE, state)
    made = after(state, found[len(spelling) % 2])
    given = list(runs(*ODD))
    for (_, inputs), outputs in zip(given, lab.outputs(made, *given), strict=True):
        np.testing.assert_allclose(outputs["C"], right(inputs), rtol=1e-4, atol=1e-4)
    assert "copies without waiting already" in reason(MOVE, made)


def test_vectors_are_copied_as_vectors_and_ahead_in_the_ptx(
    lab: PretendedLab, tmp_path: Path
) -> None:
    state = product(VECTORS)
    made = after(state, candidates(MOVE, state)[1])
    assert "sizeof(float4)" in made.source
    (run,) = runs((2 * T, T, 4 * T))
    (outputs,) = lab.outputs(made, run)
    np.testing.assert_allclose(outputs["C"], right(run[1]), rtol=1e-4, atol=1e-4)
    ptx = compiles(made, tmp_path)
    assert "cp.async.cg.shared.global" in ptx  # of 16 bytes
    assert "cp.async.ca.shared.global" in ptx  # of 4


def changed(old: str, new: str, source: str = TILED) -> str:
    assert old in source
    return source.replace(old, new)


REFUSED = {
    "no shared memory": (PLAIN, "no array of shared memory"),
    "one barrier": (changed("        __syncthreads();\n    }\n", "    }\n"), "no two barriers"),
    "left early": (
        changed("        for (int k", "        if (sum > 1e30f) break;\n        for (int k"),
        "left by return, break",
    ),
    "the counter jumps": (changed("sum += As", "t += 0, sum += As"), "no plain counter"),
    "computed on its way": (
        changed("? A[", "? 2 * A[", changed("? B[", "? 2 * B[")), "passes through"
    ),
    "what is copied hangs on what is computed": (
        changed("A[row * K + t", "A[(sum > 0 ? row : 0) * K + t"),
        "may change `sum`",
    ),
    "in place": (changed("C[row * N + col] = sum", "((float*)A)[row] = sum"), "writes to `A`"),
    "a ring": (
        changed("Bs[threadIdx.y][threadIdx.x] =", "Bs[(threadIdx.y + t) % T][threadIdx.x] ="),
        "another place in each iteration",
    ),
    "every other iteration": (
        changed("        As[threadIdx.y][threadIdx.x] =",
                "        if (t % 2 == 0) As[threadIdx.y][threadIdx.x] ="),
        "in some iterations alone",
    ),
    "used later": (changed("= sum;", "= sum + 0 * As[0][0];"), "used beside the loop"),
    "a helper": (
        "__device__ void note(int);\n"
        + changed("        // tiles\n", "        note(t);\n"), "call `note`, which may do anything",
    ),
    "too large": (
        changed("__shared__ float As", "__shared__ float big[12100];\n    __shared__ float As"),
        "more than 49152 bytes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_copied_ahead_is_told(case: str) -> None:
    source, words = REFUSED[case]
    said = reason(MOVE, product(source))
    assert words in said
    assert "fault of" not in said
