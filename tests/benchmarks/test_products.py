"""Products with several settings: each goes through the gates and is timed beside the baseline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pretend_gpu import pretended_gpu
from tiers import further

from kernelwright.runners.toolchains.compilers import nvrtc

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")
MEASURED = ("faster", "slower", "tie", "unstable")


@further(
    "tests/benchmarks/test_products.py::test_every_product_of_the_benchmark_is_written_anew",
    why="what is written is timed, as every candidate is",
)
def test_every_setting_is_right_and_timed(script: Callable[[str], Any], tmp_path: Path) -> None:
    products, kernels = script("products"), script("products_kernels")
    product = replace(kernels.SEEN["square, 1024"], sizes=(64, 96, 40))
    spec = product.spec("f")
    spec["symbols"] = {name: {"min": 16, "max": 128} for name in "mnk"}
    searched = kernels.Searched("a product", "products", "seen", spec, product.torch)
    timed = kernels.Timed(searched, product.flops)
    with pretended_gpu(tmp_path) as gpu, gpu.workbench(tmp_path / "out", [tmp_path]) as bench:
        row = products.measured(bench, timed, tmp_path / "k.json", 2, {"a product": 0.1})
    assert [each["ending"] in MEASURED for each in row["tried"]] == [True, True], row
    assert all(each["ms"] > 0 for each in row["tried"])


def test_every_product_of_the_benchmark_is_written_anew(script: Callable[[str], Any]) -> None:
    from kernelwright.runners.loading.files import parse_spec
    from kernelwright.runners.model import BuildOptions
    from kernelwright.search.moves import State
    from kernelwright.search.moves.cuda.schedules.contraction_schedule import MOVE

    kernels = script("products_kernels")
    for each in (*kernels.SEEN.values(), *kernels.HELD_OUT.values()):
        spec = parse_spec(each.spec("f"))
        state = State("cuda", spec.kernel.source_code or "", {}, BuildOptions(), spec)
        assert isinstance(MOVE.propose(state), tuple), each
