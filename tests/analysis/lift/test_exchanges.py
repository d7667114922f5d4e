"""What threads of a block hand each other is seen through: tiles, trees, shuffles, two levels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_moves import PretendedLab, array, cuda_state, scalar
from exchanging_kernels import (
    ARGUMENTS,
    HEAD,
    KERNELS,
    ROW_SUM,
    SHARED_BY_LANES,
    TREES,
    WARPS,
    WARPS_TEXT,
)

from kernelwright.analysis.lift import Lifted, lift
from kernelwright.analysis.lift.interpreting import run
from kernelwright.analysis.lift.text import lifted_text
from kernelwright.analysis.ptx import read_ptx
from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.runners.toolchains.compilers.plain_ptx import plain_ptx

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")


def lifted(source: str, block: tuple[int, ...] | None, folder: Path) -> Lifted:
    made = plain_ptx(source, "f", folder, defines={})
    assert isinstance(made, tuple), made.message
    return lift(read_ptx(made[0]), made[1], ARGUMENTS, block)


@pytest.mark.parametrize("spelling", TREES)
def test_a_sum_by_a_block_is_one_sum_in_every_spelling(spelling: str, tmp_path: Path) -> None:
    assert lifted_text(lifted(TREES[spelling], (128,), tmp_path)) == ROW_SUM


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_whose_threads_work_together_reads_like_a_plain_one(
    name: str, tmp_path: Path
) -> None:
    kernel = KERNELS[name]
    assert lifted_text(lifted(kernel.source, kernel.block, tmp_path)) == kernel.text


@pytest.mark.parametrize("name", ["a product of matrices in tiles", "three points with a halo"])
def test_the_interpreter_gives_what_threads_together_give(
    name: str, lab: PretendedLab, tmp_path: Path
) -> None:
    kernel, n = KERNELS[name], 21
    sizes = {"n": n, "rows": 19, "cols": 18}
    arguments = [array("a", "input", "rows", "n"), array("b", "input", "n", "cols")]
    arguments.append(array("y", "inout", "rows", "cols"))
    grid = ["cdiv(n, 32)"] if len(kernel.block) == 1 else ["cdiv(cols, 16)", "cdiv(rows, 16)"]
    launch = {"grid": grid, "block": list(kernel.block)}
    limits = {size: {"max": 64} for size in sizes}
    state = cuda_state(kernel.source, "f", [*arguments, *map(scalar, sizes)], launch, limits)
    random = np.random.default_rng(3)
    a, b = (random.normal(size=k * n).astype(np.float32) for k in (19, 18))
    start = np.full(19 * 18, 0.25, dtype=np.float32)
    (given,) = lab.outputs(state, (sizes, {"a": a, "b": b, "y": start}))
    mine = start.copy()
    run(lifted(kernel.source, kernel.block, tmp_path), sizes, {"a": a, "b": b, "y": mine})
    np.testing.assert_allclose(mine, given["y"], rtol=1e-4, atol=1e-5)
    assert not np.array_equal(mine, start)


@pytest.mark.parametrize("spelling", WARPS)
def test_a_warp_a_row_is_a_row_a_place_in_every_spelling(spelling: str, tmp_path: Path) -> None:
    assert lifted_text(lifted(WARPS[spelling], (128,), tmp_path)) == WARPS_TEXT


def test_lanes_that_share_a_row_are_a_loop_over_it(lab: PretendedLab, tmp_path: Path) -> None:
    found, sizes = lifted(SHARED_BY_LANES, (128,), tmp_path), {"n": 1, "rows": 7, "cols": 75}
    assert lifted_text(found) == (
        "for all j < rows:\n  each k1 < cols:\n    y[cols*j + k1] = a[cols*j + k1] / "
        "sum(k2 < cols: a[cols*j + k2]; from 0)\n"
    )
    arguments = [array("a", "input", "rows", "cols"), array("b", "input", "cols")]
    arguments.append(array("y", "inout", "rows", "cols"))
    launch = {"grid": ["cdiv(rows, 4)"], "block": [128]}
    limits = {size: {"max": 80} for size in sizes}
    state = cuda_state(SHARED_BY_LANES, "f", [*arguments, *map(scalar, sizes)], launch, limits)
    a = np.random.default_rng(5).uniform(1, 2, size=7 * 75).astype(np.float32)
    given: dict[str, Any] = {"a": a, "b": a[:75], "y": np.zeros_like(a)}
    (made,) = lab.outputs(state, (sizes, given))
    mine = np.zeros_like(a)
    run(found, sizes, {**given, "y": mine})
    np.testing.assert_allclose(mine, made["y"], rtol=1e-5)


def test_a_block_whose_lanes_are_none_is_read_as_before(tmp_path: Path) -> None:
    source = HEAD + "{ int i = threadIdx.x; y[i / 32] = a[i]; y[64 + i % 32] = a[i % 7]; }"
    text = lifted_text(lifted(source, (128,), tmp_path))
    assert "y[k1 / 32] = a[k1]" in text and "a[k1 % 7]" in text


def test_a_block_of_unknown_size_is_told_as_what_is_not_understood(tmp_path: Path) -> None:
    found = lifted(TREES["one thread at the end"], None, tmp_path)
    assert any("whose number is not known" in each for each in found.opaque)


def test_a_place_that_the_data_says_is_not_followed(tmp_path: Path) -> None:
    source = HEAD + (
        "{ __shared__ float t[32]; t[(int)b[threadIdx.x] % 32] = a[threadIdx.x]; "
        "__syncthreads(); y[threadIdx.x] = t[threadIdx.x]; }"
    )
    (why,) = lifted(source, (32,), tmp_path).opaque
    assert why == "what threads exchange: shared memory is written at places that the data says"
