"""Kernels as packages have them: several in a file, helpers, tuners, sizes as constants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from triton_bench import TritonBench
from triton_moves import applied

from kernelwright.runners.errors import SpecError
from kernelwright.runners.interpreter.runner import interpreter_missing
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.search.moves.shared.base import NotApplicable, State
from kernelwright.search.moves.triton.parts.kernels import Kernel, kernel_of
from kernelwright.search.moves.triton.schedules import MOVES

pytestmark = pytest.mark.skipif(
    interpreter_missing() is not None, reason=f"no interpreter: {interpreter_missing()}"
)
SOURCE = """\
import torch
import triton
import triton.language as tl

from curves.knees import knee


@triton.jit
def bounded(v, most):
    return tl.minimum(v, most)


@triton.autotune(
    configs=[triton.Config({"PART": p}, num_warps=w) for p in (64, 128) for w in (1, 2)],
    key=["width"],
)
@triton.jit
def bend_kernel(source, target, most, width: tl.constexpr, PART: tl.constexpr):
    here = tl.program_id(0) * PART + tl.arange(0, PART)
    source += tl.program_id(1).to(tl.int64) * width
    target += tl.program_id(1).to(tl.int64) * width
    bent = knee(tl.load(source + here, mask=here < width, other=0.0))
    tl.store(target + here, bounded(bent, most), mask=here < width)


@triton.jit
def mean_kernel(source, target, width: tl.constexpr, eps, WHOLE: tl.constexpr):
    row, here = tl.program_id(0), tl.arange(0, WHOLE)
    values = tl.load(source + row * width + here, mask=here < width, other=0.0)
    tl.store(target + row, tl.sum(values, axis=0) / width + eps.to(tl.float32))


def bend(source, most):
    rows, width = source.shape
    target = torch.empty_like(source)
    bend_kernel[lambda meta: (triton.cdiv(width, meta["PART"]), rows)](source, target, most, width)
    return target


def mean(source, eps):
    rows, width = source.shape
    target = torch.empty(rows, device=source.device, dtype=source.dtype)
    mean_kernel[(rows,)](source, target, width, eps, triton.next_power_of_2(width))
    return target


def either(source, most, average=False):
    return mean(source, most) if average else bend(source, most)


def both(source, most, eps):
    return mean(bend(source, most), eps)
"""
HELPERS = """\
import triton
import triton.language as tl


@triton.jit
def knee(v):
    return tl.where(v > 0, v, 0.25 * v)
"""
TRUTHS = {
    "bend": "np.minimum(np.where(source > 0, source, 0.25 * source), most)",
    "mean": "source.mean(axis=1) + eps",
}


def _kernel(bench: TritonBench, entry: str = "bend", **kernel: Any) -> LoadedKernel:
    folder = bench.folder / "package"
    (folder / "curves").mkdir(parents=True, exist_ok=True)
    (folder / "curves" / "knees.py").write_text(HELPERS, encoding="utf-8")
    (folder / "bends.py").write_text(SOURCE, encoding="utf-8")
    scalar = ("most", 0.5) if "bend" in entry else ("eps", 1e-3)
    shape = ["rows", "width"] if "bend" in entry else ["rows"]
    truth = TRUTHS.get(entry.removesuffix("_kernel"), "source")
    arguments: list[dict[str, Any]] = [
        {"name": "source", "role": "input", "dtype": "float32", "shape": ["rows", "width"]},
        {"name": scalar[0], "role": "scalar", "dtype": "float32", "value": scalar[1]},
        {"name": "target", "role": "output", "dtype": "float32", "shape": shape},
    ]
    data = {
        "name": entry,
        "kernel": {
            "kernel_type": "triton",
            "source_path": "bends.py",
            "files": ["curves/knees.py"],
            "metadata": {"kernel_name": entry},
            **kernel,
        },
        "io": {"arguments": arguments},
        "symbols": {"rows": {"min": 1, "max": 40}, "width": {"min": 1, "max": 200}},
        "workloads": [{"name": "main", "symbols": {"rows": 32, "width": 150}}],
        "reference": {
            "source_code": f"import numpy as np\n\n\ndef reference(source, {scalar[0]}, **_):\n"
            f"    return {truth}\n"
        },
    }
    return load_data(data, folder, Roots([folder]))


def _start(kernel: LoadedKernel) -> State:
    spec, base = kernel.spec, kernel.baseline()
    return State("triton", base.source, {}, BuildOptions(), spec, files=kernel.files)


def _written(start: State) -> dict[str, Candidate]:
    answers = {move.id: move.propose(start) for move in MOVES}
    return {n: each[0] for n, each in answers.items() if not isinstance(each, NotApplicable)}


@pytest.mark.parametrize(("entry", "schedule"), [("bend", "elementwise_blocks"),
                                                 ("mean", "row_blocks")])  # fmt: skip
def test_of_a_file_with_several_kernels_the_one_is_written_that_the_entry_launches(
    bench: TritonBench, entry: str, schedule: str
) -> None:
    kernel = _kernel(bench, entry)
    start = _start(kernel)
    found = _written(start)
    assert [*found] == [schedule]
    after = applied(start, found[schedule])
    other = {"bend": "def mean_kernel(", "mean": "@triton.autotune("}[entry]
    assert other in after.source and f"def {entry}_kernel(" in after.source
    bench.oracle.open(kernel)
    bench.must_pass(kernel, after)


def test_an_entry_that_chooses_a_kernel_has_the_one_written_that_it_launches(
    bench: TritonBench,
) -> None:
    kernel = _kernel(bench)
    metadata = kernel.spec.kernel.metadata.model_copy(update={"kernel_name": "either"})
    changed = kernel.spec.kernel.model_copy(update={"metadata": metadata})
    spec = kernel.spec.model_copy(update={"kernel": changed})
    start = replace(_start(kernel), spec=spec)
    found = _written(start)
    assert [*found] == ["elementwise_blocks"]
    text = found["elementwise_blocks"].source or ""
    assert "PART: tl" not in text and "WHOLE: tl" in text


def test_what_is_written_in_place_of_a_tuned_kernel_has_constants_of_its_own(
    bench: TritonBench,
) -> None:
    source = _written(_start(_kernel(bench)))["elementwise_blocks"].source or ""
    assert "triton.autotune" not in source and "PART: tl" not in source


def test_a_size_that_the_kernel_is_compiled_for_is_a_value_of_what_is_written(
    bench: TritonBench,
) -> None:
    source = _written(_start(_kernel(bench, "mean")))["row_blocks"].source or ""
    head = source[source.index("def mean_kernel(") :].partition("):")[0]
    assert "width," in head and "width: tl.constexpr" not in head


def test_an_entry_that_launches_several_kernels_is_told_which(bench: TritonBench) -> None:
    start = _start(_kernel(bench))
    metadata = start.spec.kernel.metadata.model_copy(update={"kernel_name": "both"})
    kernel = start.spec.kernel.model_copy(update={"metadata": metadata})
    found = kernel_of(replace(start, spec=start.spec.model_copy(update={"kernel": kernel})))
    assert found == NotApplicable("`both` launches several kernels: bend_kernel, mean_kernel")


def test_functions_that_kernels_call_are_no_kernels_of_the_entry(bench: TritonBench) -> None:
    found = kernel_of(_start(_kernel(bench)))
    assert isinstance(found, Kernel) and found.name == "bend_kernel"


def test_a_grid_may_name_what_a_tuner_decides_when_it_launches(bench: TritonBench) -> None:
    launch: dict[str, Any] = {"grid": ["cdiv(width, PART)", "rows"],
                              "constexprs": {"width": "width"}}  # fmt: skip
    kernel = _kernel(bench, "bend_kernel", launch=launch)
    start = _start(kernel)
    bench.oracle.open(kernel)
    bench.must_pass(kernel, start)
    bench.must_pass(kernel, applied(start, _written(start)["elementwise_blocks"]))
    launch["grid"] = ["cdiv(width, PARTS)"]
    with pytest.raises(SpecError, match="`PARTS` is not a known name"):
        _kernel(bench, "bend_kernel", launch=launch)


def test_without_its_files_a_source_is_told_not_to_be_read(bench: TritonBench) -> None:
    found = MOVES[-1].propose(replace(_start(_kernel(bench)), files={}))
    assert isinstance(found, NotApplicable) and "No module named 'curves'" in found.reason
