"""Kernels of a checkout: drawn by a seed, looked at one by one, told by reasons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelwright.runners.toolchains.compilers import nvrtc

SCALE = """\
#include "real.h"
__global__ void scale(const real* x, real* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
void run(const real* x, real* y, int n) { scale<<<(n + 255) / 256, 256>>>(x, y, n); }
"""


def _checkout(folder: Path) -> Path:
    for name in ("alpha-cuda", "beta-cuda", "zeta-cuda"):
        place = folder / "src" / name
        place.mkdir(parents=True)
        (place / "main.cu").write_text(SCALE)
        (place / "real.h").write_text("typedef float real;\n")
    return folder


def test_folders_of_a_part_alone_are_drawn_and_one_kernel_of_each(
    script: Callable[[str], Any], tmp_path: Path
) -> None:
    drawn = script("public_kernels_drawn")
    found = drawn.drawn_of(_checkout(tmp_path), drawn.CORPORA["hecbench_a_to_m"])
    assert [each.name for each in found] == ["alpha-cuda/main.cu scale", "beta-cuda/main.cu scale"]
    fewer = replace(drawn.CORPORA["hecbench_a_to_m"], kernels=1)
    assert drawn.drawn_of(tmp_path, fewer)[0] in found


def test_a_folder_that_is_no_such_checkout_is_told(
    script: Callable[[str], Any], tmp_path: Path
) -> None:
    drawn = script("public_kernels_drawn")
    with pytest.raises(FileNotFoundError, match="HeCBench"):
        drawn.drawn_of(tmp_path, drawn.CORPORA["hecbench_a_to_m"])


@pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")
def test_a_row_says_what_is_open_what_is_read_and_what_is_written(
    script: Callable[[str], Any], tmp_path: Path
) -> None:
    file = _checkout(tmp_path) / "src" / "alpha-cuda" / "main.cu"
    row = script("public_kernels").row_of(file, "scale")
    assert (row["spec"], row["lift"], row["open"]["after"]) == ("complete", "whole", 0)
    assert row["rewrites"] == ["elementwise_schedule"]
