"""What threads of a block hand each other is seen through: tiles, trees, shuffles, two levels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cuda_moves import PretendedLab, array, cuda_state, scalar
from exchanging_kernels import ARGUMENTS, HEAD, KERNELS, ROW_SUM, TREES

from kernelwright.analysis.lift import Lifted, lift, lifted_text
from kernelwright.analysis.lift.interpreting import run
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
