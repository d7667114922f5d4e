"""The optimized module's files work without Kernelwright, and say what was measured."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from kernelwright.analysis.modules.report import ModuleReport
from kernelwright.analysis.modules.rungs import rung_rows
from kernelwright.runners.modules.common.messages import (
    Agreement,
    RungMade,
    RungTimes,
    SubjectFacts,
)
from kernelwright.tools.parts.models.optimized import write_optimized

SUBJECT = SubjectFacts(
    form="KernelBench", class_name="Model", device="cpu", torch="2", threads=1, parameters=0,
    parameter_bytes=0, inputs=("float32[4]",), dtype="float32",
)  # fmt: skip
USE = """
import torch
from optimized import optimized
model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3)).eval()
x = torch.randn(1, 3, 8, 8)
with torch.no_grad():
    assert torch.allclose(optimized(model, [x])(x), model(x), atol=1e-5)
import sys
assert not [name for name in sys.modules if name.startswith("kernelwright")]
"""


def report(best: str | None) -> ModuleReport:
    same = Agreement(rms=1e-7, worst=1e-7, bit_equal=False, close_1e_4=True, close_1e_2=True)
    steps = ("channels_last",)
    made = [RungMade(steps=(), agreement=same), RungMade(steps=steps, agreement=same)]
    blocks = ((2.0,) * 8, (1.0,) * 8)
    times = RungTimes(rungs=((), steps), blocks_ms=blocks, truth="float64")
    ladder = rung_rows(made, times, None)
    return ModuleReport(subject=SUBJECT, ladder=ladder, truth="float64", best=best)


@pytest.mark.skipif(find_spec("torch") is None, reason="no torch here")
def test_the_files_work_without_kernelwright(tmp_path: Path) -> None:
    written = write_optimized(report("channels_last"), Path("model.py"), tmp_path)
    text = written.read_text(encoding="utf-8")
    assert "2x (2 to 2) on cpu" in text and "contiguous_format" in text
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_nothing_is_written_where_nothing_was_gained(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no rung"):
        write_optimized(report(None), Path("model.py"), tmp_path)
    assert not list(tmp_path.iterdir())
