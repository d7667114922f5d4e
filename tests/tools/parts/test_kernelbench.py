"""A problem in KernelBench's form becomes a ModelNew that is right, accepted and scored."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import pytest
from tiers import further

from kernelwright.analysis.modules.lowering import rows
from kernelwright.analysis.modules.scores import better_without, right, side_scores
from kernelwright.runners.modules.common.scores import Scored, Trial
from kernelwright.tools.parts.kernelbench.problem import Problem
from kernelwright.tools.parts.kernelbench.rules import checked
from kernelwright.tools.parts.kernelbench.solving import solve

needs_all = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or shutil.which("ninja") is None,
    reason="no torch or no ninja here",
)
PROBLEM = '''
import torch
import torch.nn as nn


class Model(nn.Module):
    """One pass over a product: try: to be read as words."""

    def __init__(self, width):
        super(Model, self).__init__()
        self.project = nn.Linear(width, 136)

    def forward(self, x):
        return torch.cumsum(torch.relu(self.project(x)), 1)


def get_inputs():
    return [torch.rand(48, 64)]


def get_init_inputs():
    return [64]
'''


LEFT = "aten.cumsum.default of 136 places: an element would look at each of them"


@further(
    "tests/tools/parts/test_kernelbench.py::"
    "test_a_large_elementwise_kernel_is_searched_on_some_rows_and_written_for_all",
    why="a whole problem with an operator that is left to ATen",
)
@needs_all
def test_a_problem_is_cut_searched_written_and_scored(tmp_path: Path, brief_timing: None) -> None:
    (tmp_path / "7_Small.py").write_text(PROBLEM)
    problem = Problem(
        path=tmp_path / "7_Small.py",
        outdir=tmp_path / "out",
        builds=1,
        device="cpu",
        compiled=False,
    )
    found = solve(problem, lambda event: None)
    (kernel,) = found.kernels
    assert (kernel.entry, kernel.speedup is not None) == ("problem_7_small_0", True)
    assert list(found.left.values()) == [LEFT]
    assert found.accepted and len(found.trials) == 5 and found.tolerance == 1e-4
    (eager,) = found.scores
    assert eager.beside == "eager" and eager.theirs > 0 and eager.ours.speedup > 0
    text = Path(found.model_new).read_text()
    assert "class ModelNew" in text and "super(ModelNew, self)" in text
    assert "get_inputs" not in text and "one pass" not in text.lower()
    assert {p.name for p in (tmp_path / "out").glob("*.py")} == {"model_new.py"}


@needs_all
@pytest.mark.alone  # whether a kernel is used hangs on real times
def test_a_large_elementwise_kernel_is_searched_on_some_rows_and_written_for_all(
    tmp_path: Path, brief_timing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "WHOLE", 1 << 10)
    monkeypatch.setattr(rows, "PART", 1 << 9)
    forward = "return torch.cumsum(torch.relu(self.project(x)), 1)"
    assert forward in PROBLEM
    gains = "return ((x * 2 + x) * x - x) * 0.5 + x"
    (tmp_path / "8_Rows.py").write_text(PROBLEM.replace(forward, gains))
    problem = Problem(
        path=tmp_path / "8_Rows.py", outdir=tmp_path / "out", builds=1, device="cpu", compiled=False
    )
    found = solve(problem, lambda event: None)
    spec = json.loads((tmp_path / "out/specs/problem_8_rows_0/spec.json").read_text())
    assert spec["io"]["arguments"][0]["shape"] == ["8", "64"]
    assert found.accepted and found.kernels[0].used
    assert "-DROWS=48" in Path(found.model_new).read_text()


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("    try:\n        x()", "try and except: a fallback to PyTorch"),
        ("    pass", "the word pass: an inherited forward"),
        ("torch.cuda.synchronize = None", "a clock assigned to"),
        ("import threading", "threads or processes"),
        ("class Lazy(torch.Tensor): ...", "tensors that compute later"),
    ],
)
def test_what_their_checker_forbids_is_found_and_comments_are_not(line: str, error: str) -> None:
    assert checked(line, cuda=False).errors == (error,)
    assert checked(f"# {line.splitlines()[-1]}", cuda=False).accepted


def test_a_module_for_cuda_has_to_hold_a_kernel() -> None:
    kernel = "__global__ void f() { int i = threadIdx.x; }\nload_inline()"
    assert checked(kernel, cuda=True).accepted
    assert len(checked("x = torch.mm(a, b)", cuda=True).errors) == 3
    assert checked("x = torch.mm(a, b)", cuda=True).warnings == ("an operator of torch",)


def scored(ms: float, *, close: bool = True) -> Scored:
    trial = Trial(close=close, worst=0.0 if close else 1.0)
    near = tuple(1.0 + 0.001 * (i % 3) for i in range(24))
    blocks = {"new": near, "without": tuple(ms * t for t in near), "eager": near}
    return Scored(
        tolerance=1e-4,
        trials={"new": (Trial(close=True, worst=0.0),), "without": (trial,)},
        theirs_ms={"new": 1.0, "without": ms, "eager": 1.0},
        blocks_ms=blocks,
    )


def test_a_kernel_is_left_to_aten_where_the_whole_is_faster_without_it_for_sure() -> None:
    assert better_without(scored(0.5), "new", ["without"]) == ("without",)
    assert better_without(scored(1.0), "new", ["without"]) == ()
    assert better_without(scored(0.5, close=False), "new", ["without"]) == ()


def test_a_score_is_a_ratio_of_means_and_an_interval() -> None:
    (eager,) = side_scores(scored(0.5), "without")
    assert eager.theirs == pytest.approx(2.0)
    assert eager.ours.low <= 2.0 <= eager.ours.high and eager.ours.judgement == "faster"
    assert not right(scored(1.0, close=False), "without")
